"""Ctrl-C: one line, exit code 130, what was finished is kept, and the same command goes on from there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import FAKE, ROOT, SMALL, Cli, environment, spawn
from test_store import count

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX signals: run it under WSL")


def interrupt_when(process: object, ready: object) -> tuple[str, str, float]:
    deadline = time.monotonic() + 30
    while not ready() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.02)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)  # type: ignore[attr-defined]
    out, err = process.communicate(timeout=30)  # type: ignore[attr-defined]
    return out, err, time.monotonic() - sent


@pytest.mark.slow("two studies in processes")
def test_a_study_keeps_what_was_finished(work: Path) -> None:
    (work / "f.toml").write_text("sleep = 0.1\n" + FAKE + "[sweep]\nreplications = 200\n")
    folder = work / "out" / "store"
    process = spawn("study", "f.toml", "--jobs", 2, fake=True, cwd=work)
    out, err, took = interrupt_when(process, lambda: count(folder) >= 5)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert "kept in" in err
    assert "same command again" in err
    assert took < 3
    kept = count(folder)
    assert kept >= 5
    again = spawn("study", "f.toml", "--replications", kept, "--jobs", 2, fake=True, cwd=work)
    out, _ = again.communicate(timeout=60)
    assert f"{kept} from the cache" in out


def test_work_that_is_about_to_end_is_completed(work: Path) -> None:
    (work / "f.toml").write_text("sleep = 0.7\n" + FAKE + "[sweep]\nreplications = 9\n")
    process = spawn("study", "f.toml", "--jobs", 1, fake=True, cwd=work, FAKE_LOG=str(work / "log"))
    _, err, took = interrupt_when(process, (work / "log").exists)
    assert process.returncode == 130
    assert err == (
        "evenflow: Interrupted after 2 of 9 runs; they are kept in out/store. "
        "Run the same command again to go on from there.\n"
    )
    assert count(work / "out" / "store") == 2
    assert took < 2


@pytest.mark.slow("two studies in processes")
def test_the_second_ctrl_c_stops_running_work(work: Path) -> None:
    (work / "f.toml").write_text(FAKE + "[sweep]\nreplications = 1\nsleep = [0.0, 60.0]\n")
    times = []
    for presses in (1, 2):
        log = work / f"log{presses}"
        process = spawn("study", "f.toml", "--jobs", 1, fake=True, cwd=work, FAKE_LOG=log, EVENFLOW_STORE=f"s{presses}")
        while not log.exists():
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.2)
        if presses == 2:
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        _, err, took = interrupt_when(process, lambda: True)
        assert process.returncode == 130
        assert err.startswith(f"evenflow: Interrupted after 1 of 2 runs; it is kept in s{presses}.")
        times.append(took)
    assert times[0] > 0.9  # the grace
    assert times[1] < times[0] - 0.4


def test_a_run_ends_at_once(work: Path) -> None:
    (work / "f.toml").write_text("sleep = 60\n" + FAKE)
    process = spawn("run", "f.toml", fake=True, cwd=work, FAKE_BEGUN=str(work / "begun"))
    _, err, took = interrupt_when(process, (work / "begun").exists)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert took < 3


def test_the_real_engine_hears_it_too(work: Path) -> None:
    (work / "long.toml").write_text(SMALL.replace('"4 s"', '"4000000 s"'))
    process = spawn("run", "long.toml", cwd=work)
    started = time.monotonic()
    _, err, took = interrupt_when(process, lambda: time.monotonic() - started > 1.5)
    assert process.returncode == 130, err
    assert "Interrupted" in err
    assert took < 3


# --- where no command hears it


def waiting(*command: str, path: Path) -> subprocess.Popen[str]:
    """A process that has come to where it waits."""
    search = f"{path}:{environment()['PYTHONPATH']}"
    process = subprocess.Popen(
        [sys.executable, *command],
        env=environment(PYTHONPATH=search),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    while process.stdout.readline() != "here\n":
        assert process.poll() is None
    return process


WAIT = "import time; print('here', flush=True); time.sleep(20)\n"


def test_while_the_command_line_is_imported(work: Path) -> None:
    (work / "typer.py").write_text(WAIT)
    process = waiting("-m", "evenflow", "--version", path=work)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err == "evenflow: Interrupted before the command began.\n"


def test_programs_of_others_get_a_keyboard_interrupt(work: Path) -> None:
    (work / "own.py").write_text(f"import evenflow.cli\ntry:\n  {WAIT}except KeyboardInterrupt:\n  print('own')\n")
    process = waiting("own.py", path=work)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "own\n", "")


def test_an_interrupt_in_a_finalizer_is_not_lost(work: Path) -> None:
    (work / "evenflow.py").write_text(
        "import sys\n"
        f"sys.path[:] = [p for p in sys.path if p not in ('', {str(work)!r})]\n"
        "del sys.modules['__main__'].__spec__\n"
        "from evenflow import interrupts\n"
        "import time\n"
        "class Thing:\n"
        "  def __del__(self):\n"
        "    print('here', flush=True); time.sleep(20)\n"
        "interrupts.begin()\n"
        "try:\n"
        "  thing = Thing()\n"
        "  del thing\n"
        "  time.sleep(20)\n"
        "except KeyboardInterrupt:\n"
        "  print('heard')\n"
    )
    process = waiting("evenflow.py", path=work)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "heard\n", "")


def test_when_the_command_is_over(work: Path) -> None:
    (work / "sitecustomize.py").write_text(f"import atexit\natexit.register(lambda: exec({WAIT!r}))\n")
    process = waiting("-m", "evenflow", "--version", path=work)
    process.send_signal(signal.SIGINT)
    process.terminate()  # it is ignored at the very end: what waits there is not ours
    _, err = process.communicate(timeout=10)
    assert process.returncode == -signal.SIGTERM
    assert err == ""


def test_a_command_says_that_it_was_interrupted(
    cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from evenflow.scenario.scenario import Scenario

    def interrupted(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Scenario, "load", interrupted)
    done = cli("check", small)
    assert done.code == 130
    assert done.err == "evenflow: Interrupted. Finished runs are cached; the same command continues.\n"


@pytest.mark.parametrize("made", ["ImportError('initialization failed')", "ef.UsageError('not installed')", None])
def test_whatever_a_library_makes_of_an_interrupt(work: Path, small: Path, made: str | None) -> None:
    (work / "evenflow.py").write_text(
        "import sys\n"
        f"sys.path[:] = [p for p in sys.path if p not in ('', {str(work)!r})]\n"
        "del sys.modules['__main__'].__spec__\n"
        "import evenflow as ef, time\n"
        "from evenflow.cli import main\n"
        "def load(path):\n"
        "  try:\n"
        "    print('here', flush=True); time.sleep(20)\n"
        "  except KeyboardInterrupt:\n"
        f"    {f'raise {made}' if made else 'pass'}\n"
        "  return ef.Scenario({})\n"
        "ef.Scenario.load = load\n"
        "ef.Scenario.check = lambda self: None\n"
        "main()\n"
    )
    process = waiting("evenflow.py", "check", str(small), path=work)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err == "evenflow: Interrupted. Finished runs are cached; the same command continues.\n"


@pytest.mark.slow("interrupts processes at many instants")
@pytest.mark.skipif(sys.platform != "linux", reason="sends signals to groups of processes: run it on Linux")
@pytest.mark.parametrize("part", ["version", "check", "run", "study", "figures", "dask"])
def test_at_random_instants(part: str) -> None:
    if part == "dask":
        pytest.importorskip("distributed", reason="needs distributed: pip install distributed")
    command = [sys.executable, str(ROOT / "tests" / "torture" / "interrupts.py"), part, "--tries", "2"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
