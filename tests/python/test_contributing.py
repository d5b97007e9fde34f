"""The steps in CONTRIBUTING.md, done to a copy of the sources: they compile, and their tests pass."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARGO = shutil.which("cargo") or shutil.which(Path.home() / ".cargo/bin/cargo")
BLOCK = re.compile(r"^<!-- (file|in): ([^,\n]+?)(?:, (before|after): ([^\n]+))? -->\n```\w+\n(.*?)^```$", re.M | re.S)


BELOW = {"traffic": ["transport"]}
"""The crates besides `base` that a crate needs."""


def section(title: str) -> str:
    """The text under a heading of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = text.split(f"\n## {title}\n")
    assert len(parts) == 2, f"one section is called {title!r}"
    return parts[1].split("\n## ")[0]


def follow(title: str, copy: Path) -> int:
    """Does what the section says to the sources in `copy`; gives the number of steps."""
    steps = BLOCK.findall(section(title))
    for what, file, side, line, code in steps:
        path = copy / file
        if what == "file":
            assert not path.exists(), f"{file} is there already"
            path.write_text(code, encoding="utf-8")
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [n for n, text in enumerate(lines) if text.strip() == line]
        assert len(found) == 1, f"one line of {file} is {line!r}"
        at = found[0] + (side == "after")
        path.write_text("\n".join([*lines[:at], *code.splitlines(), *lines[at:], ""]), encoding="utf-8")
    return len(steps)


@pytest.mark.skipif(CARGO is None, reason="cargo was not found; install Rust (rustup.rs)")
@pytest.mark.parametrize(
    ("title", "crate", "filter", "steps"),
    [
        ("How to add a queue", "queue", "random_drop", 4),
        # With the laws of all controls, which find the new one in the register.
        ("How to add a congestion control", "transport", "congestion_control::", 2),
        ("How to add a stage", "stage", "open_limit", 4),
        ("How to add an application", "traffic", "sensor", 3),
        ("How to add an adaptation rule", "traffic", "buffer_steps", 3),
    ],
)
def test_the_steps_compile_and_their_tests_pass(title: str, crate: str, filter: str, steps: int) -> None:
    # Beside the usual target folder, so that a second run compiles little.
    copy = ROOT / "target/contributing" / crate
    shutil.rmtree(copy, ignore_errors=True)
    for folder in ["base", *BELOW.get(crate, []), crate]:
        # Without integration tests, which read files elsewhere in the repository.
        without = shutil.ignore_patterns("tests" if folder != crate else "none")
        shutil.copytree(ROOT / "crates" / folder, copy / "crates" / folder, ignore=without)
    shutil.rmtree(copy / "crates" / crate / "tests", ignore_errors=True)
    for file in ["Cargo.toml", "Cargo.lock", "clippy.toml"]:
        shutil.copy(ROOT / file, copy / file)
    assert follow(title, copy) == steps
    command = [str(CARGO), "test", "--offline", "--lib", "-p", f"evenflow-{crate}", "--target-dir"]
    done = subprocess.run(
        [*command, str(ROOT / "target/contributing/target"), filter],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-2000:]
    assert "warning" not in done.stderr, done.stderr[-3000:]
    assert re.search(r"test result: ok\. [1-9]", done.stdout), done.stdout


@pytest.mark.skipif(CARGO is None, reason="cargo was not found; install Rust (rustup.rs)")
def test_new_mechanisms_have_rows_in_the_golden_table_and_change_no_other() -> None:
    copy = ROOT / "target/contributing/golden"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "crates", copy / "crates")
    for file in ["Cargo.toml", "Cargo.lock", "clippy.toml"]:
        shutil.copy(ROOT / file, copy / file)
    for what in ["queue", "congestion control", "stage"]:
        follow(f"How to add a {what}", copy)
    assert "\nINSTA_UPDATE=always cargo test -p evenflow-sim --test golden\n" in section("How to add a queue")
    command = [str(CARGO), "test", "--offline", "-p", "evenflow-sim", "--test", "golden", "--target-dir"]
    done = subprocess.run(
        [*command, str(ROOT / "target/contributing/target"), "every_"],
        cwd=copy,
        env={**os.environ, "INSTA_UPDATE": "always"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-2000:]
    for table, kind in [
        ("every_queue", "random-drop"),
        ("every_congestion_control", "scalable"),
        ("every_stage", "open-limit"),
    ]:
        snapshot = Path("crates/sim/tests/snapshots") / f"golden__{table}.snap"
        before = (ROOT / snapshot).read_text(encoding="utf-8").splitlines()
        after = iter((copy / snapshot).read_text(encoding="utf-8").splitlines())
        new = []
        for line in before:
            for other in after:
                if other == line:
                    break
                new.append(other)
            else:
                pytest.fail(f"{table}: {line}")
        new += after
        assert new, table
        assert all(line.startswith((kind, "  ")) for line in new), new
        assert any(line.startswith(kind) for line in new), new
