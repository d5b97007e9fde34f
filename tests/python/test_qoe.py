"""Models of the quality of experience, and measures of adaptive video: their papers' numbers, and runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import evenflow as ef
import numpy as np
import pytest
from conftest import ROOT
from evenflow.errors import UsageError

LEVELS = np.array([248, 456, 928, 1632, 4256]) * 1e3
"""The ladder of Ben Ameur et al. 2016, bit/s."""


def test_equation_2_of_the_conex_paper() -> None:
    qoe = ef.qoe.hossfeld_2013
    assert float(qoe(0, 0)) == 5
    assert float(qoe(1e6, 10)) == 1.5
    # More than 4 exactly if (0.15 L + 0.19) N is less than ln 1.4 = 0.3365: at most one stall of less than a second.
    edge = (np.log(1.4) - 0.19) / 0.15
    assert edge == pytest.approx(0.9765, abs=1e-4)
    assert float(qoe(1, edge - 1e-6)) > 4 > float(qoe(1, edge + 1e-6))
    assert float(qoe(2, 0)) < 4
    assert qoe([0, 1], [[0], [4]]).shape == (2, 2)
    longer = qoe(np.arange(8)[:, None], np.linspace(0, 8, 9)[None, :])
    assert (np.diff(longer, axis=0) < 0).all()
    assert (np.diff(longer[1:], axis=1) < 0).all()


def test_three_levels_of_three_things() -> None:
    qoe = ef.qoe.mok_2011
    assert float(qoe(0.5, 0, 0, 100)) == pytest.approx(4.23 - 0.0672 - 0.742 - 0.106)
    assert float(qoe(3, 5, 7, 100)) == pytest.approx(4.23 - 2 * (0.0672 + 0.742 + 0.106))
    assert float(qoe(9, 20, 12, 100)) == pytest.approx(4.23 - 3 * (0.0672 + 0.742 + 0.106))
    # On the edges the better level holds.
    assert float(qoe(1, 2, 5, 100)) == float(qoe(0, 1, 1, 100))
    assert np.isnan(qoe(np.nan, 0, 0, 1))


def test_the_linear_quality_of_adaptive_video() -> None:
    # Three chunks of 1, 3 and 2 Mbit/s, a stall of half a second, a start after a second.
    worth = ef.qoe.yin_2015(2e6, 3, 3e6, 0.5, 1.0)
    assert float(worth) == pytest.approx(6000 - 3000 - 1500 - 3000)
    assert float(ef.qoe.yin_2015(2e6, 3, 3e6, 0.5, 1.0, switching=3, stalling=0, starting=0)) == pytest.approx(-3000)


def test_instability_of_one_jump_at_four_seconds() -> None:
    """has-shaping.md, F1: 1.067 and 0.957 % with early weights, 0.023 and 0.021 % as printed."""
    for top, early, late in [(4, 1.067, 0.023), (3, 0.957, 0.021)]:
        q = np.where(np.arange(181) < 4, LEVELS[0], LEVELS[top])
        assert ef.qoe.instability(q) == pytest.approx(early, abs=0.0006)
        assert ef.qoe.instability(q, weights="late") == pytest.approx(late, abs=0.0006)
    # Level 0, 3 from 2 s and 4 from 87 s: 1.316 %, the caption of the paper's figure 4 says 1.31.
    q = LEVELS[np.select([np.arange(181) < 2, np.arange(181) < 87], [0, 3], 4)]
    assert ef.qoe.instability(q) == pytest.approx(1.316, abs=0.001)
    assert ef.qoe.instability(np.full(9, 1e6)) == 0
    with pytest.raises(UsageError, match="early"):
        ef.qoe.instability(q, weights="none")


def test_infidelity_and_convergence() -> None:
    """has-shaping.md, F4: the optimum from 4 s on is V = 4 and IF = 3/180."""
    levels = ef.qoe.levels_at([(0.1, 0), (0.5, 2), (1.2, 3), (3.3, 4)], np.arange(1, 181))
    assert list(levels[:5]) == [2, 3, 3, 4, 4]
    assert ef.qoe.infidelity(levels, 4) == pytest.approx(100 * 3 / 180)
    assert ef.qoe.convergence(levels, 4) == 4
    broken = levels.copy()
    broken[60] = 3  # at 61 s: 4 s to 60 s are too few
    assert ef.qoe.convergence(broken, 4) == 62
    broken[119:] = 3  # from 120 s on: 62 s + 60 s does not hold
    assert ef.qoe.convergence(broken, 4) == 180


def test_infidelity_in_continuous_time() -> None:
    changes = [(10.0, 0), (10.5, 2), (14.0, 4), (20.0, 3)]
    # From 10 to 25 s another level than 4 for 4 s and 5 s.
    assert ef.qoe.infidelity_continuous(changes, 4, 10, 25) == pytest.approx(100 * 9 / 15)
    # The best is 3 from 18 s on: wrong from 10 to 14 s and from 18 to 20 s.
    assert ef.qoe.infidelity_continuous(changes, [(0, 4), (18, 3)], 10, 25) == pytest.approx(100 * 6 / 15)
    assert ef.qoe.infidelity_continuous([], 0, 0, 5) == 0
    with pytest.raises(UsageError, match="behind its beginning"):
        ef.qoe.infidelity_continuous(changes, 4, 10, 10)


def test_captions_of_the_paper_are_cut() -> None:
    """has-shaping.md, F2: k falls in 180 s are printed as k/1.8, cut after two decimals."""
    printed = {1: 0.55, 3: 1.66, 83: 46.11, 92: 51.11, 335: 186.11}
    for falls, caption in printed.items():
        told = ef.qoe.Adaptive(
            1.3169, 0.1, 46.747, 47.0, 87, ef.qoe.congestion_rate(falls, 180), 0.0, 0.4, 1.0, 0, 0.0, 1e6, 2, 90
        )
        assert told.captions() == {"IS": 1.31, "IF": 46.74, "V": 87, "fr": 0.4, "CNG": caption}
    assert np.isnan(ef.qoe.off_share(3, 0))
    assert ef.qoe.off_share(36, 90) == 0.4


def test_the_run_nearest_to_the_mean() -> None:
    rows = [[0, 10, 7], [2, 10, 7], [1, 40, 7], [1, 20, 7], [np.nan, 20, 7]]
    assert ef.qoe.most_representative(rows) == 3
    with pytest.raises(UsageError, match="no run"):
        ef.qoe.most_representative([[np.nan]])


HOME: dict[str, Any] = {
    "duration": "180 s",
    "links": {"path": {"rate": "1 Gbit/s", "delay": "50 ms", "queue": {"limit": "1000 packets"}}},
    "groups": {
        "v": {
            "users": 1,
            "path": ["path"],
            "tcp": {"stack": "linux3.2", "congestion_control": "cubic", "max_window": "58520 B"},
            "traffic": {
                "kind": "has",
                "ladder": [f"{bps:g} bit/s" for bps in LEVELS],
                "adaptation": "aggressive-rate",
                "buffer_in": "chunks",
                "request": "250 B",
                "play_at": "30 s",
            },
        }
    },
}


def test_the_measures_of_a_lone_client() -> None:
    """has-shaping.md, 2.16: L2 from 0.4 s on, L3 from 0.9 s, L4 from 2.5 s; so V = 3 and IF 2/180."""
    record = ef.Scenario(HOME).run(1)
    found = ef.qoe.adaptive(record, "v", optimal=4)
    levels = np.select([np.arange(181) < 1, np.arange(181) < 3], [0, 3], 4)
    assert found.instability == ef.qoe.instability(LEVELS[levels])
    assert found.instability_printed == ef.qoe.instability(LEVELS[levels], weights="late")
    assert found.infidelity == pytest.approx(100 * 2.5 / 180, abs=0.01)
    assert (found.infidelity_by_second, found.convergence_s, found.switches) == (100 * 2 / 180, 3, 3)
    spent = np.array([0.4, 0, 0.5, 1.6, 177.5])
    assert found.bitrate_bps == pytest.approx(spent @ LEVELS / 180, rel=1e-4)
    # Chunks of 1.9 s each two seconds: pauses are shorter than a timeout, but for the one in which the full buffer
    # begins to be shown.
    video = record.json["groups"]["v"]["video"]
    assert found.chunks == video["chunks_received"] == 92
    assert (found.off_share, found.congestion_rate, found.stalls, found.stall_s) == (1 / 92, 0, 0, 0)
    # What is shown begins when fifteen chunks are there, and has the levels of the first of them.
    start = found.startup_s
    assert start is not None
    shown = video["users_levels_shown"][0]
    assert [level for _, level in shown] == [0, 2, 3, 4]
    assert [at - start for at, _ in shown] == pytest.approx([0, 2, 4, 8], abs=1e-6)
    late = ef.qoe.adaptive(record, "v", optimal=4, of="shown")
    assert late.infidelity == pytest.approx(100 * (start + 8) / 180)
    assert late.convergence_s == int(np.ceil(start + 8))
    # The first minute alone: too short to hold the best level for another.
    assert ef.qoe.adaptive(record, "v", optimal=4, seconds=60).convergence_s == 60
    nobody = ef.qoe.adaptive(record, "v")
    assert (nobody.infidelity, nobody.infidelity_by_second, nobody.convergence_s) == (None, None, None)
    assert nobody.instability == found.instability


def test_instability_and_infidelity_as_models() -> None:
    """They are the measures of `adaptive` with what the manager gives as the best level."""
    ladder = [f"{bps:g} bit/s" for bps in LEVELS]
    manager = {"kind": "window-tuner", "policy": "levels", "rate": "8 Mbit/s", "ladder": ladder, "margin": 1.1}
    scenario = ef.Scenario(HOME).with_settings(
        {"stages": {"tuner": manager}, "groups.v.path": ["tuner", "path"], "groups.v.users": 2}
    )
    record = scenario.run(1)
    for user in range(2):
        found = ef.qoe.adaptive(record, "v", user, optimal="manager")
        assert ef.qoe.of(record, "v", "ben-ameur-2016-is")[user] == found.instability
        assert ef.qoe.of(record, "v", "ben-ameur-2016-if")[user] == found.infidelity
    alone = ef.Scenario(HOME).run(1)
    assert ef.qoe.of(alone, "v", "ben-ameur-2016-is")[0] == ef.qoe.adaptive(alone, "v").instability
    with pytest.raises(UsageError, match="no stages of policy “levels”"):
        ef.qoe.of(alone, "v", "ben-ameur-2016-if")


def test_who_asked_before_the_window_has_not_a_number_alone() -> None:
    """These models look from the first request on; the other viewers keep their values."""
    scenario = ef.load(ROOT / "examples" / "scenarios" / "home-shaped.toml")
    record = scenario.set("warmup", "5 s").run(1)
    found = ef.qoe.of(record, "clients", "ben-ameur-2016-is")
    assert np.isnan(found[0])
    assert found[1] == ef.qoe.adaptive(record, "clients", 1).instability
    with pytest.raises(UsageError, match="and no warmup"):  # of the second viewer
        ef.qoe.of(record, "clients", "ben-ameur-2016-if")
    first, _ = ef.qoe.viewings(record, "clients")
    assert np.isnan(ef.qoe.MODELS["ben-ameur-2016-if"](first))
    with pytest.raises(UsageError, match="first request of user 0 of “clients” came before the window: give since"):
        ef.qoe.adaptive(record, "clients")
    assert ef.qoe.adaptive(record, "clients", since=5.0).chunks == 29
    with pytest.raises(UsageError, match="needs the end of the window"):
        ef.qoe.MODELS["ben-ameur-2016-is"](dataclasses.replace(first, asked_s=5.0, until_s=None))


def test_all_that_is_wrong_with_a_call_is_said_at_once() -> None:
    record = ef.Scenario(HOME).set("duration", "9 s").run(1)
    with pytest.raises(UsageError) as caught:
        ef.qoe.adaptive(record, "v", optimal=9, hold=-1, seconds=0)
    for why in ("for 0 s", "hold must be a whole number of seconds of at least 0, it is -1", "optimal is 9, but"):
        assert why in str(caught.value)
    assert "the ladder has 5 levels, numbered from 0." in str(caught.value)
    with pytest.raises(UsageError, match="optimal is 5, -1, but"):
        ef.qoe.adaptive(record, "v", optimal=[(0, 4), (1, 5), (2, -1)])
    assert ef.qoe.adaptive(record, "v", optimal=4, hold=0).convergence_s == 3
    with pytest.raises(UsageError) as caught:
        ef.qoe.adaptive(record, "v", 1, of="seen")
    assert "there is no 1" in str(caught.value)
    assert "not “seen”" in str(caught.value)
    with pytest.raises(UsageError, match="hold must be"):
        ef.qoe.convergence([1, 1], 1, hold=-1)


def test_a_rate_needs_a_time() -> None:
    assert ef.qoe.congestion_rate(3, 60) == 5
    with pytest.raises(UsageError) as caught:
        ef.qoe.congestion_rate(-1, 0)
    assert str(caught.value) == (
        "no congestion rate: seconds must be finite and more than 0, it is 0; falls must be at least 0, it is -1."
    )
    with pytest.raises(UsageError, match="it is nan"):
        ef.qoe.congestion_rate(1, np.nan)


def test_what_has_no_measures(evening: ef.Record) -> None:
    with pytest.raises(UsageError, match="no levels"):
        ef.qoe.adaptive(evening, "light")
    scenario = ef.Scenario(HOME).with_settings({"duration": "3 s", "groups.v.traffic.start": "1 s"})
    record = scenario.run(1)
    with pytest.raises(UsageError, match="1 user, numbered from 0; there is no 1"):
        ef.qoe.adaptive(record, "v", 1)
    with pytest.raises(UsageError, match="not “seen”"):
        ef.qoe.adaptive(record, "v", of="seen")
    with pytest.raises(UsageError, match="the ladder has 2 levels"):
        ef.qoe.adaptive(record, "v", ladder=[1e6, 2e6])
    with pytest.raises(UsageError, match="for 0 s"):
        ef.qoe.adaptive(record, "v", seconds=0)
    assert ef.qoe.adaptive(record, "v").startup_s is None  # nothing is shown before the buffer is full
    late = scenario.set("groups.v.traffic.start", {"exponential": "900 s"}).run(1)
    with pytest.raises(UsageError, match="asked for no video"):
        ef.qoe.adaptive(late, "v")


@pytest.fixture(scope="module")
def evening() -> ef.Record:
    scenario = ef.load(ROOT / "examples" / "scenarios" / "video-evening.toml")
    small = {
        "links.bottleneck.rate": "10 Mbit/s",
        "groups.heavy.users": 1,
        "groups.light.users": 5,
        "groups.light.traffic.start": {"uniform": ["5 s", "20 s"]},
        "duration": "90 s",
    }
    return scenario.with_settings(small).run(1)


def test_a_record_has_what_models_need(evening: ef.Record) -> None:
    seen = ef.qoe.viewings(evening, "light")
    assert len(seen) == 5
    assert sum(one.stalls for one in seen) == evening.metric("groups.light.video.stalls") > 5
    total = evening.metric("groups.light.video.stall_s_mean") * sum(one.stalls for one in seen)
    assert sum(one.stall_s for one in seen) == pytest.approx(total)
    for n, (one, worth) in enumerate(zip(seen, ef.qoe.of(evening, "light"), strict=True)):
        assert worth == float(ef.qoe.hossfeld_2013(one.stalls, one.mean_stall_s)), n
        assert one.bitrate_bps == 1.128e6
    assert (ef.qoe.of(evening, "light", "mok-2011") < 3).all()
    assert list(ef.qoe.of(evening, "light", lambda one: one.stalls)) == [one.stalls for one in seen]


def test_what_has_no_opinion(evening: ef.Record) -> None:
    with pytest.raises(UsageError, match="watch no video"):
        ef.qoe.of(evening, "heavy")
    with pytest.raises(UsageError, match="did you mean “light”"):
        ef.qoe.of(evening, "ligth")
    with pytest.raises(UsageError, match="did you mean “mok-2011”"):
        ef.qoe.of(evening, "light", "mok-2012")
    with pytest.raises(UsageError, match="adaptive"):
        ef.qoe.of(evening, "light", "yin-2015")
    with pytest.raises(UsageError, match="adaptive"):
        ef.qoe.of(evening, "light", "ben-ameur-2016-is")
    late = ef.load(ROOT / "examples" / "scenarios" / "video-evening.toml").with_settings(
        {"duration": "2 s", "groups.light.traffic.start": "1.9 s", "groups.heavy.traffic.start": "0 s"}
    )
    assert np.isnan(ef.qoe.of(late.run(1), "light")).all()


def test_the_best_level_is_what_a_manager_assigns() -> None:
    ladder = [248e3, 456e3, 928e3, 1632e3, 4256e3]
    line: dict[str, Any] = {"rate_bps": 8e6, "ladder_bps": ladder}
    # alone 4681.6 kbit/s; two 4681.6 and 1795.2; three 1795.2 each; who stays goes up when the oldest leaves
    found = ef.qoe.assigned([(0, 30), (10, 60), (20, 60)], **line)
    assert found == [[(0, 4), (20, 3)], [(10, 3), (30, 4)], [(20, 3)]]
    assert ef.qoe.assigned([(0, 9)], rate_bps=1795.2e3, ladder_bps=ladder) == [[(0, 3)]]
    assert ef.qoe.assigned([(0, 9)], rate_bps=1795.1e3, ladder_bps=ladder) == [[(0, 2)]]
    assert ef.qoe.assigned([(0, 9)] * 30, **line) == [[(0, 0)]] * 30
    for name in ("home-shaped", "home-tuned"):
        record = ef.load(ROOT / "examples" / "scenarios" / f"{name}.toml").run(1)
        for user, level in ((0, 4), (1, 3)):
            by_manager = ef.qoe.adaptive(record, "clients", user, optimal="manager")
            assert by_manager == ef.qoe.adaptive(record, "clients", user, optimal=level)
            assert by_manager.infidelity is not None
            assert by_manager.infidelity < 50
    leaves = ef.load(ROOT / "examples" / "scenarios" / "home-tuned.toml").set("groups.clients.traffic.until", "50 s")
    equal = leaves.with_settings({"stages.tuner": {"kind": "window-tuner", "rate": "8 Mbit/s"}})
    for given, why in ((leaves, "ef.qoe.assigned"), (equal, "no stages of policy")):
        with pytest.raises(UsageError, match=why):
            ef.qoe.adaptive(given.run(1), "clients", optimal="manager")
