"""The steps of the guides in docs/how-to, done to a copy of the sources: they compile, and their tests pass."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARGO = shutil.which("cargo") or shutil.which(Path.home() / ".cargo/bin/cargo")
BLOCK = re.compile(r"^<!-- (file|in): ([^,\n]+?)(?:, (before|after): ([^\n]+))? -->\n```\w+\n(.*?)^```$", re.M | re.S)


GUIDES = {
    "queue": ("queue", "random_drop", 4),
    # With the laws of all controls, which find the new one in the register.
    "congestion control": ("transport", "congestion_control::", 2),
    "stage": ("stage", "open_limit", 4),
    "application": ("traffic", "sensor", 3),
    "adaptation rule": ("traffic", "buffer_steps", 3),
}
"""What is added: the crate it belongs to, the filter of its tests, the number of steps."""
SLOW = pytest.mark.slow("compiles the engine's crates with the guide's examples")
NEEDS_CARGO = pytest.mark.skipif(CARGO is None, reason="cargo was not found; install Rust (rustup.rs)")


def section(title: str) -> str:
    """The text of a guide, by its heading."""
    name = title.removeprefix("How to ").replace(" ", "-")
    text = (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {title}\n"), f"{name}.md is called {title!r}"
    return text


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


@pytest.mark.parametrize("what", GUIDES)
def test_the_steps_fit_the_sources(what: str, tmp_path: Path) -> None:
    crate, _, steps = GUIDES[what]
    for folder in {"base", crate}:
        shutil.copytree(ROOT / "crates" / folder / "src", tmp_path / "crates" / folder / "src")
    assert follow(f"How to add a{'n' * (what[0] == 'a')} {what}", tmp_path) == steps


@pytest.fixture(scope="module")
def followed() -> Path:
    """The workspace after all guides. Its place and the target folder stay, so that a second run compiles little."""
    copy = ROOT / "target/contributing"
    shutil.rmtree(copy, ignore_errors=True)
    for folder in ["crates", "examples/scenarios", "fuzz"]:
        shutil.copytree(ROOT / folder, copy / folder)
    for file in ["Cargo.toml", "Cargo.lock", "clippy.toml"]:
        shutil.copy(ROOT / file, copy / file)
    # With another version, cargo does not take the crates of the copy for those of this tree.
    manifest = (copy / "Cargo.toml").read_text(encoding="utf-8")
    other = re.sub(r'^version = ".*"', 'version = "0.0.0"', manifest, count=1, flags=re.M)
    (copy / "Cargo.toml").write_text(other, encoding="utf-8")
    for what in GUIDES:
        follow(f"How to add a{'n' * (what[0] == 'a')} {what}", copy)
    return copy


def cargo_test(copy: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [str(CARGO), "test", "--offline", "--target-dir", str(ROOT / "target"), *arguments]
    done = subprocess.run(command, cwd=copy, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-2000:]
    return done


@SLOW
@NEEDS_CARGO
def test_the_steps_compile_and_their_tests_pass(followed: Path) -> None:
    crates = [argument for crate, *_ in GUIDES.values() for argument in ("-p", f"evenflow-{crate}")]
    done = cargo_test(followed, "--lib", *crates, "--", *(filter for _, filter, _ in GUIDES.values()))
    assert "warning" not in done.stderr, done.stderr[-3000:]
    for _, filter, _ in GUIDES.values():
        assert re.search(rf"^test .*{filter}.* \.\.\. ok$", done.stdout, re.M), f"{filter}\n{done.stdout}"


@SLOW
@NEEDS_CARGO
def test_new_mechanisms_have_rows_in_the_golden_table_and_change_no_other(followed: Path) -> None:
    assert "\nINSTA_UPDATE=always cargo test -p evenflow-sim --test golden\n" in section("How to add a queue")
    cargo_test(followed, "-p", "evenflow-sim", "--test", "golden", "every_", INSTA_UPDATE="always")
    for table, kind in [
        ("every_queue", "random-drop"),
        ("every_congestion_control", "scalable"),
        ("every_stage", "open-limit"),
        ("every_traffic", "sensor"),
    ]:
        snapshot = Path("crates/sim/tests/snapshots") / f"golden__{table}.snap"
        before = (ROOT / snapshot).read_text(encoding="utf-8").splitlines()
        after = iter((followed / snapshot).read_text(encoding="utf-8").splitlines())
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
