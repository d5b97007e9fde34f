"""The congestion exposure paper's network: tables I to III, figures 2 and 6, and what its scenarios are made of."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evenflow as ef
import numpy as np
import pytest
from conex_worlds import a_run
from conftest import environment
from evenflow.stats import mean_interval
from evenflow_papers.conex import PAPER, claims, exact
from evenflow_papers.conex import measures as reading
from evenflow_papers.conex import network as net
from evenflow_papers.conex.experiments import ranks
from evenflow_papers.conex.measures import ranks_agree, relative_half_width
from evenflow_papers.conex.network import ON, Options, Setting
from test_store import count

USUAL = Options()


# --- Figures 2 and 6, table I: by hand, and as the simulator has them -----------------------------------------------


def test_red_rises_from_a_tenth_of_the_buffer_to_all_of_it() -> None:
    assert [net.red_probability(share) for share in (0.0, 0.1, 0.55, 1.0)] == [0.0, 0.0, pytest.approx(0.5), 1.0]
    half = Setting(max_threshold=60.0, max_probability=0.5)
    assert net.red_probability(0.35, half) == pytest.approx(0.25)
    assert net.red_probability(0.61, half) == 1.0


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8, 1.0])
def test_the_simulators_red_has_that_function(share: float) -> None:
    expected = net.red_probability(share)
    # 4,000 draws: 3.5 standard deviations
    assert exact.red_by_hand(share) == pytest.approx(
        expected, abs=3.5 * math.sqrt(expected * (1 - expected) / 4000) + 1e-3
    )


def test_drop_functions_at_their_corners() -> None:
    assert [net.drop_probability(net.STRICT, level) for level in (0.5, 0.0, -1.0)] == [0.0, 1.0, 1.0]
    assert [net.drop_probability(net.MILD, level) for level in (1.0, 0.0, -2.25, -4.5, -9.0)] == [0, 0, 0.5, 1, 1]
    assert [net.drop_probability(net.SOFT, level) for level in (0.0, -22.5, -45.0, -50.0)] == [0, 0.5, 1, 1]
    # a bucket of five packets: the mild policer has half a packet between nothing and everything
    assert net.drop_probability(net.MILD, -0.25, 5.0) == 0.5
    assert net.drop_probability(net.MILD, -0.5, 5.0) == 1.0


@pytest.mark.parametrize(
    ("harshness", "level"), [(net.STRICT, 1), (net.STRICT, 0), (net.MILD, -1), (net.MILD, -5), (net.SOFT, -27)]
)
def test_the_simulators_policer_has_those_functions(harshness: str, level: float) -> None:
    expected = net.drop_probability(harshness, level)
    found = exact.policer_by_hand(harshness, level)
    assert found == pytest.approx(expected, abs=3.5 * math.sqrt(expected * (1 - expected) / 4000) + 1e-3)


def tokens_taken(row: exact.Codepoint) -> float:
    """Tokens that a policer takes for a packet with this codepoint."""
    table = Setting(ON, 1e-6).policer(Options())
    table.pop("per")
    stage = ef.mechanism(table.pop("kind"), **table)
    stage.forward(now_s=0.0, bytes=net.PACKET_BYTES, ecn=row.ecn_word, re=row.re)
    return float(stage.observe(now_s=0.0)["charged"])


def after_red(row: exact.Codepoint) -> str | None:
    """The ECN field of a packet that a marking RED has picked; None where it drops it."""
    table = {**net.queue(Options(), Setting()), "weight": 1.0, "spread": "bernoulli"}
    rule = ef.mechanism(table.pop("kind"), **table, link_rate=f"{net.CAPACITY_MBPS:g} Mbit/s")
    # above the highest threshold every packet is picked; the buffer is not full yet
    waiting = net.limit_packets(Setting().queue_ms) - 1
    for k in range(1000):
        found = rule.admit(
            now_s=1e-3 * k,
            bytes=net.PACKET_BYTES,
            packets=waiting,
            rate_bps=net.CAPACITY_MBPS * 1e6,
            ecn=row.ecn_word,
        )
        if found["verdict"] == "drop":
            return None
        if found["verdict"] == "mark" or row.ecn_word == "marked":
            return str(found["ecn"])
    return str(found["ecn"])


@pytest.mark.parametrize("row", exact.TABLE_1, ids=lambda row: f"{row.ecn}/{int(row.re)}")
def test_what_policer_and_queue_do_with_a_codepoint(row: exact.Codepoint) -> None:
    assert tokens_taken(row) == row.charged
    assert after_red(row) == row.marked


def test_table_1_has_all_eight_codepoints() -> None:
    assert len({(row.ecn, row.re) for row in exact.TABLE_1}) == 8


# --- Tables II and III ----------------------------------------------------------------------------------------------


def test_defaults_are_the_values_in_bold() -> None:
    bold = {row["parameter"]: row["default"] for row in exact.table_2(USUAL)}
    assert bold == {
        "policer filling rate r (packets/s)": "",
        "policer depth d (packets)": "45",
        "policer harshness": "mild",
        "fixed RTT (ms)": "100",
        "TCP congestion control": "CUBIC",
        "queue size q (ms)": "100",
        "queue MinThresh (% q)": "10",
        "queue MaxThresh (% q)": "100",
        "queue maximum mark/drop probability": "1",
        "ConEx complexity": "FullConEx",
    }


def test_the_filling_rates_are_those_of_table_2() -> None:
    assert net.RATES == (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 90, 120, 180)
    assert set(net.RATES_QUICK) <= set(net.RATES)


def test_variants_as_in_table_3() -> None:
    found = {row["case"]: (row["queue_kind"], row["action"], row["ecn"], row["report"]) for row in exact.table_3(USUAL)}
    assert found == {
        net.DT: ("droptail", "drop", "off", "loss"),
        net.RED: ("red", "drop", "off", "loss"),
        net.ECN: ("red", "mark", "classic", "loss-and-ecn"),
        net.FULL: ("red", "mark", "accurate", "loss-and-ecn"),
    }


def test_redconex_cannot_be_marked() -> None:
    # its packets carry ECT(1), the codepoint of a ConEx-capable packet: only the queue's action keeps them unmarked
    table = net.queue(USUAL, Setting(variant=net.RED))
    assert exact.verdicts(table, "ect1") == {"accept", "drop"}
    assert "mark" in exact.verdicts(net.queue(USUAL, Setting()), "ect1")


def test_nothing_that_can_be_marked_is_dropped_early() -> None:
    assert "drop" not in exact.verdicts(net.queue(USUAL, Setting()), "ect1")
    assert "drop" in exact.verdicts(net.queue(USUAL, Setting()), "not-capable")


# --- Scenarios ------------------------------------------------------------------------------------------------------


def test_queues_in_packets() -> None:
    assert [net.limit_packets(ms) for ms in net.QUEUES_MS] == [83, 167, 417, 833, 1667]
    table = net.queue(USUAL, Setting())
    assert (table["limit"], table["min_threshold"]) == ("833 packets", "83.3333333333 packets")
    assert table["weight"] == 1.2e-4
    assert net.queue(Options(buffer="rtt"), Setting(rtt_ms=50))["limit"] == "417 packets"
    assert net.queue(USUAL, Setting(rtt_ms=50))["limit"] == "833 packets"


def _round_trip_ms(tree: Mapping[str, Any], group: str) -> float:
    links = tree["links"]
    path = [links[name] for name in tree["groups"][group]["path"] if name in links]
    ahead = sum(float(link["delay"].split()[0]) for link in path)
    back = sum(float(link.get("reverse", link)["delay"].split()[0]) for link in path)
    return ahead + back


@pytest.mark.parametrize("rtt", net.RTTS_MS)
def test_round_trips(rtt: float) -> None:
    tree = net.bulk(USUAL, rtt_ms=rtt).tree
    assert _round_trip_ms(tree, net.HEAVY) == _round_trip_ms(tree, net.LIGHT) == pytest.approx(rtt)
    assert _round_trip_ms(net.video(USUAL).tree, net.LIGHT) == pytest.approx(100)


def test_policers_stand_before_the_bottleneck_one_for_each_user() -> None:
    tree = net.bulk(USUAL, policing=ON, r=15.0).tree
    assert tree["groups"][net.HEAVY]["path"] == ["access", "police-heavy", "bottleneck"]
    assert tree["stages"]["police-light"]["per"] == "user"
    assert tree["stages"]["police-light"]["rate"] == "15 packets/s"
    assert "stages" not in net.bulk(USUAL).tree
    assert net.short_flows(USUAL, ON, 5.0).tree["groups"][net.CROSS]["path"] == ["bottleneck"]


def test_byte_policers_hold_the_same_in_bytes() -> None:
    table = Setting(ON, 10, unit="bytes").policer(USUAL)
    assert (table["rate"], table["depth"]) == ("120000 bit/s", "67500 B")


@pytest.mark.slow("builds all points of a paper for each value", only="(?!.*(charge|buffer))^")
@pytest.mark.parametrize("option", PAPER.options, ids=lambda option: option.name)
def test_every_value_of_an_option_gives_scenarios_that_are_valid(option: Any) -> None:
    for value in option.values:
        other = PAPER.with_options({option.name: value})
        changed = 0
        for usual, mine in zip(PAPER.experiments, other.experiments, strict=True):
            pairs = zip(usual.points("quick"), mine.points("quick"), strict=True)
            first = [(a, b) for a, b in pairs if a.scenario.tree != b.scenario.tree][:1]
            for _, b in first:
                b.scenario.check()
            changed += len(first)
        # whose completion time is averaged is a matter of reading runs
        assert (changed > 0) == (value != option.default and option.name != "flows")


@pytest.mark.parametrize("experiment", PAPER.experiments, ids=lambda experiment: experiment.id)
def test_points_are_valid_and_told_apart(experiment: Any) -> None:
    for scale in ("quick", "paper"):
        points = experiment.points(scale)
        labels = [tuple(sorted((name, str(value)) for name, value in point.labels.items())) for point in points]
        assert len(set(labels)) == len(labels)
    for point in points[:1] + points[-1:]:
        point.scenario.check()


def test_the_default_series_is_run_once() -> None:
    figures = ("fig08", "fig10", "fig12", "fig13", "fig14", "fig15", "fig16", "fig17", "fig18")
    usual = str(net.bulk(USUAL, policing=ON, r=15.0).tree)
    for name in figures:
        assert sum(str(p.scenario.tree) == usual for p in PAPER.experiment(name).points("paper")) == 1


# --- Measures -------------------------------------------------------------------------------------------------------


def test_equation_2() -> None:
    # a user without a stall, and one with a stall of a second
    seen = {
        **{f"users_{name}": [1, 1] for name in ("asked", "started", "finished")},
        **{f"users_{name}": [1.0, 1.0] for name in ("startup_s", "played_s", "waited_s", "bitrate_bps")},
        "users_stalls": [0, 1],
        "users_stall_s": [0.0, 1.0],
    }
    run = a_run({"groups": {net.LIGHT: {"video": seen}}})
    assert reading.quality(run) == pytest.approx((5 + 3.5 * math.exp(-0.34) + 1.5) / 2)
    assert reading.stalls(run) == 0.5


def test_half_width_that_thirty_runs_have() -> None:
    values = np.array([9.0, 10.0, 11.0, 10.0, 10.0, 10.0])
    found = relative_half_width(values)
    # sd 0.632, t(29) = 2.045
    assert found.mean == pytest.approx(100 * 2.04523 / math.sqrt(30) * 0.632456 / 10, rel=1e-4)
    assert found.lo < found.mean < found.hi
    assert found.at(0.99).lo < found.lo
    thirty = np.arange(30.0) + 100
    assert relative_half_width(thirty).mean == pytest.approx(
        100 * mean_interval(thirty, 0.95).half_width / thirty.mean()
    )


def test_ranks_with_ties() -> None:
    assert ranks_agree(np.arange(4.0), np.array([5.0, 5.0, 5.0, 1.5])) == pytest.approx(-0.7746, abs=1e-4)
    assert math.isnan(ranks_agree(np.arange(3.0), np.ones(3)))


def test_ranks_of_table_4_are_shared_by_what_is_close() -> None:
    assert ranks({"a": 1.0, "b": 2.0, "c": 2.2, "d": 9.0}) == {"a": 1, "b": 2, "c": 2, "d": 4}


def test_right_of_the_minimum_by_the_other_runs() -> None:
    curve = np.array([[3.0, 3.0, 3.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 1.5]])
    assert claims.rank_right_of_lowest(curve).tolist() == [1.0, 1.0, 0.5]
    assert claims.lowest(curve).tolist() == [1.0, 1.0, 1.0]
    assert claims.lowest_place(curve).tolist() == [1.0, 1.0, 1.0]


def test_spreads() -> None:
    values = np.array([[1.0, 2.0], [3.0, 2.0]])
    assert reading.spread(values).tolist() == [2.0, 0.0]
    assert reading.relative_spread(values).tolist() == [1.0, 0.0]


# --- Killed in the middle --------------------------------------------------------------------------------------------


FIGURE_18 = """
import sys
import evenflow as ef
from evenflow_papers.conex import PAPER


def study() -> ef.Study:
    points = PAPER.experiment("fig18").points("quick")[::4]
    return ef.Study([ef.Point(point.labels, point.scenario.set("duration", "20 s")) for point in points], seeds=[1])


if __name__ == "__main__":
    ef.run_study(study(), store=ef.Store(sys.argv[1]), jobs=2)
"""


@pytest.mark.slow("starts processes")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX signals: run it under WSL")
def test_figure_18_goes_on_after_a_kill(work: Path) -> None:
    """A quarter of its quick points, 20 s each: what was kept is not made again, and all is as if nothing had been."""
    (work / "figure_18.py").write_text(FIGURE_18)
    process = subprocess.Popen([sys.executable, "figure_18.py", "store"], cwd=work, env=environment())
    deadline = time.monotonic() + 120
    while count(work / "store") < 6:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.wait()
    kept = count(work / "store")

    study = runpy.run_path(str(work / "figure_18.py"))["study"]()
    resumed = ef.run_study(study, store=ef.Store(work / "store"), jobs=2)
    alone = ef.run_study(study, jobs=2)
    assert 6 <= kept < len(alone) == len(resumed)
    assert resumed.cached == kept
    assert [run.record.record_hash for run in resumed] == [run.record.record_hash for run in alone]
