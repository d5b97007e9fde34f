"""The comparison of adaptation rules with other programs finds what differs, here with a program made up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation"))

import players

SCRIPT = """
import fixed_env as env
import load_trace

VIDEO_BIT_RATE = [300, 750, 1200]
RESEVOIR = 5
CUSHION = 10

def main():
    times, rates, names = load_trace.load_trace()
    net = env.Environment(all_cooked_time=times, all_cooked_bw=rates)
    level = 1
    while True:
        answer = net.get_video_chunk(level)
        buffer_size, over = answer[2], answer[-2]
        level = int(min(2, max(0, 2 * (buffer_size - RESEVOIR) / CUSHION)))
        if CHANGE:
            level = 2 - level
        if over:
            level = 1
            print "a video is over"
"""


def size(level: int, chunk: int) -> float:
    return (300, 750, 1200)[level] * 1e3 * players.PENSIEVE_CHUNK_S / 8 * (1 + chunk % 3 / 10)


@pytest.mark.parametrize("change", [False, True])
def test_a_script_of_before_python_3_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: bool) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "bb.py").write_text(f"CHANGE = {change}\n{SCRIPT}")
    monkeypatch.setattr(players, "VIDEOS", 2)
    counts = players.buffer_based(tmp_path, size)
    assert counts.decisions == 2 * 47
    assert counts.alike + sum(counts.because.values()) == counts.decisions
    assert bool(counts.unexplained) is change, "a script that decides otherwise is found out"


def test_a_program_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    assert "git clone" in str(players.sabre(None).missing())
    assert "src/sabre.py" in str(players.sabre(tmp_path).missing())
    assert "PENSIEVE=DIR" in str(players.pensieve(None).missing())


def test_a_copy_without_its_traces_is_missing(tmp_path: Path) -> None:
    for name in ("src/sabre.py", "example/mmsys18/bbb.json", "example/mmsys18/bbb4k.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    why = players.sabre(tmp_path).missing()
    assert why is not None
    assert players.FOLDERS[0] in why
    for name in players.FOLDERS:
        (tmp_path / "example/mmsys18" / name).mkdir()
    assert players.sabre(tmp_path).missing() is None
