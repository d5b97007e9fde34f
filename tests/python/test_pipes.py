"""Output that goes nowhere: closed streams, readers that leave, full disks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no `>&-`: run it on Linux or macOS")

COMMANDS = [
    ("run", "small.toml"),
    ("study", "small.toml", "--replications", "1"),
    ("check", "small.toml"),
    ("list", "tcp"),
    ("claims", "abc"),
    ("papers",),
    ("--help",),
    ("--version",),
]


def shell(work: Path, how: str, *arguments: str) -> tuple[int, str, str]:
    """The command with a shell's redirections."""
    (work / "small.toml").write_text(SMALL)
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m evenflow "$@" {how}', sys.executable, *arguments],
        cwd=work,
        env=environment(),
        text=True,
        capture_output=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow("starts processes for each stream", only="^(?!.*(version))")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_output_that_is_closed(work: Path, arguments: tuple[str, ...]) -> None:
    assert shell(work, ">&-", *arguments) == (0, "", "")
    code, out, err = shell(work, "<&- 2>&-", *arguments)
    assert (code, err) == (0, "")
    assert out
    assert shell(work, "<&- >&- 2>&-", *arguments) == (0, "", "")


@pytest.mark.slow("starts processes")
def test_messages_do_not_go_to_the_output_instead(work: Path) -> None:
    assert shell(work, "2>&-", "run", "gone.toml") == (2, "", "")
    code, out, err = shell(work, ">&-", "run", "gone.toml")
    assert (code, out) == (2, "")
    assert "gone.toml" in err


@pytest.mark.slow("a study with its figures in a process")
def test_a_closed_stream_is_not_taken_by_a_file(work: Path) -> None:
    """The store's database would be the first file that is opened, and get what is printed."""
    assert shell(work, ">&- 2>&-", "study", "small.toml", "--replications", "2")[0] == 0
    code, out, err = shell(work, "", "study", "small.toml", "--replications", "2")
    assert (code, err) == (0, "")
    assert "2 from the cache" in out


@pytest.mark.slow("starts processes", only="study|papers|check|list|claims")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_left(work: Path, arguments: tuple[str, ...]) -> None:
    (work / "small.toml").write_text(SMALL)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "evenflow", *arguments]
    try:
        done = subprocess.run(command, cwd=work, env=environment(), stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_reader_of_messages_that_left(work: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "evenflow", "run", "gone.toml"]
    try:
        done = subprocess.run(command, cwd=work, env=environment(), stdout=subprocess.PIPE, stderr=writer, text=True)
    finally:
        os.close(writer)
    assert (done.returncode, done.stdout) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full: run it on Linux")
@pytest.mark.slow("starts processes", only="claims|papers")
@pytest.mark.parametrize("arguments", COMMANDS[-4:], ids=" ".join)
def test_a_full_disk(work: Path, arguments: tuple[str, ...]) -> None:
    code, _, err = shell(work, "> /dev/full", *arguments)
    assert code == 1
    assert err.count("\n") == 1
    assert "No space left on device" in err


def test_a_connection_of_ours_that_breaks_is_no_reader(cli: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from evenflow.cli import invoke, looking

    def broken(_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(looking, "_listed", broken)
    assert invoke(["list"]) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full: run it on Linux")
@pytest.mark.slow("starts processes", only="-> /dev")
@pytest.mark.parametrize("streams", ["2> /dev/full", "> /dev/full 2> /dev/full"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run",), 2),
        (("run", "--nonsense"), 2),
        (("nonsense",), 2),
        (("run", "gone.toml"), 2),
        (("run", "small.toml", "--out", "small.toml/x"), 1),
    ],
)
def test_a_full_disk_for_messages(work: Path, arguments: tuple[str, ...], code: int, streams: str) -> None:
    """The code tells what the message cannot."""
    assert shell(work, streams, *arguments) == (code, "", "")
