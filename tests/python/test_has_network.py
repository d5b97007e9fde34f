"""The paper of shaping at home: what its scenarios are made of, its hand-worked client, its printed numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from evenflow import qoe, run
from evenflow.record import Record
from evenflow.study import Run
from evenflow_papers.has_shaping import PAPER
from evenflow_papers.has_shaping import measures as reading
from evenflow_papers.has_shaping import network as net
from evenflow_papers.has_shaping import published as printed
from evenflow_papers.has_shaping.measures import FIGURES, life_of

USUAL = net.Options()
CALM = {"deviation_ms": 0.0}


# --- Scenarios ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", PAPER.options, ids=lambda option: option.name)
def test_every_value_of_an_option_gives_scenarios_that_are_valid(option: Any) -> None:
    for value in option.values:
        o = USUAL.varied({option.name: value})
        for name, method in ((net.S1, net.HTBM), (net.S3, net.RWTM), (net.S4, net.NONE)):
            net.home(o, name, net.CUBIC, method).check()


@pytest.mark.parametrize("experiment", PAPER.experiments, ids=lambda experiment: experiment.id)
def test_points_are_valid_and_told_apart(experiment: Any) -> None:
    points = experiment.points("paper")
    assert len({tuple(sorted(point.labels.items())) for point in points}) == len(points)
    for point in points[:: max(1, len(points) // 6)]:
        point.scenario.check()


def test_so_many_runs() -> None:
    """720 + 480 + 480 + 240 + 1,680 of the paper and its second reading; equal points are one."""
    wanted = ("table02", "table05", "table07", "fig10")
    hashes = {
        point.scenario.hash
        for name in wanted
        for point in PAPER.experiment(name).points("paper")
        if point.labels.get("deviation_ms") != net.FAR_MS
        and not (name == "table05" and point.labels["scenario"] == net.S1)
    }
    assert 60 * len(hashes) == 60 * (12 + 8 + 12 + 28)


def test_a_client_is_given_a_tenth_more_than_its_level() -> None:
    assert [net.share_mbps(level) for level in (net.TOP, net.SECOND)] == [
        pytest.approx(4.6816),
        pytest.approx(1.7952),
    ]


def test_the_round_trip_is_on_one_side_or_half_on_each() -> None:
    ways = {}
    for netem in ("ack-reorder", "data-keep", "split-reorder"):
        wan = net.wan(replace(USUAL, netem_htbm=netem), net.HTBM, 7.0, None)
        ways[netem] = (wan["delay"], wan["reverse"]["delay"], wan["jitter"]["direction"], wan["jitter"]["order"])
    assert ways == {
        "ack-reorder": ("0 ms", "100 ms", "reverse", "reorder"),
        "data-keep": ("100 ms", "0 ms", "forward", "keep"),
        "split-reorder": ("50 ms", "50 ms", "both", "reorder"),
    }
    half = net.wan(replace(USUAL, netem_rwtm="split-keep"), net.RWTM, 7.0, None)["jitter"]["normal"]
    assert float(half.split()[0]) == pytest.approx(7 / 2**0.5)


def test_the_reconstructed_setup_has_data_overtake_where_the_falls_ask_for_it() -> None:
    """Also from the second of losses on, with RWTM. Its metrics are those that an earlier connection left."""
    o = USUAL.varied({"setup": "reconstructed"})
    for method in (net.NONE, net.HTBM):
        links = net.home(o, net.S1, net.CUBIC, method).tree["links"]
        assert links["wan"]["jitter"] == {"normal": "7 ms", "order": "reorder", "direction": "forward"}
    tuned = net.home(o, net.S1, net.CUBIC, net.RWTM).tree
    assert tuned["links"]["wan"]["jitter"]["direction"] == "reverse"
    assert tuned["groups"][net.CLIENT_1]["tcp"]["cached_reordering"] == 100
    assert tuned["groups"][net.CLIENT_1]["tcp"]["cached_ssthresh"] == 120
    lossy = net.home(o, net.S4, net.CUBIC, net.RWTM).tree
    assert lossy["groups"][net.CLIENT_1]["path"][:2] == ["wan", "wan2"]
    jitters = [lossy["links"][name]["jitter"] for name in ("wan", "wan2")]
    assert [(it["direction"], it.get("from"), it.get("until")) for it in jitters] == [
        ("reverse", None, "30 s"),
        ("forward", "30 s", None),
    ]


# --- A lone client, by hand -----------------------------------------------------------------------------------------


def _lone(playing: str, method: str, control: str = net.CUBIC, **more: Any) -> Run:
    # values computed directly have no memory of reordering
    o = replace(USUAL, playing=playing, cache="cold")
    made = net.home(o, net.WL, control, method, **(CALM | more))
    return Run(0, {"scenario": net.WL, "control": control, "method": method}, 1, run(made, seed=1))


def _levels(found: Run) -> list[tuple[float, int]]:
    return [(float(at), int(level)) for at, level in found.json["groups"][net.CLIENT_1]["video"]["users_levels"][0]]


def test_a_lone_client_behind_htb_step_by_step() -> None:
    """Dossier 2.16: 0.32 s to the first chunk behind the handshake's 0.1, then level 2, then 3, level 4 at 5.1 s."""
    asked = _levels(_lone("P2", net.HTBM))
    assert [level for _, level in asked] == [0, 2, 3, 4]
    assert [at for at, _ in asked] == [pytest.approx(x, abs=0.05) for x in (0.0, 0.43, 0.97, 5.13)]


def test_a_lone_client_with_a_tuned_window_step_by_step() -> None:
    """Levels 0, 2, 3 as behind HTB. Of level 3's 282 segments 41 come in a round trip, for the gateway measures 103 ms:
    0.1 s, six round trips and 36 segments on the line. That is 4.21 Mbit/s, one chunk in the buffer makes it level 4.
    """
    for playing in ("P1", "P2"):
        asked = _levels(_lone(playing, net.RWTM))
        assert [level for _, level in asked] == [0, 2, 3, 4]
        times = [at for at, _ in asked]
        assert times[:3] == [pytest.approx(x, abs=0.03) for x in (0.0, 0.43, 0.95)]
        took = times[3] - times[2]
        assert took == pytest.approx(0.1 + 6 * 0.1035 + 36 * 1514 * 8 / 8e6, abs=0.01)
        bitrate = 2 * 1_632_000 / took
        assert bitrate < 4_256_000 < bitrate * (1 + 0.2 * 1 / 15)


def test_a_buffer_that_is_watched_meanwhile_fills_later() -> None:
    """P1: level 4 needs seven chunks in the buffer, of which one is shown every 2 s: 7.6 s."""
    at, level = _levels(_lone("P1", net.HTBM))[-1]
    assert level == 4
    assert at == pytest.approx(7.62, abs=0.05)


@pytest.mark.slow("long runs")
def test_what_is_followed_of_a_chunk_is_of_the_same_run() -> None:
    """Requests a round trip before they come, a chunk of 1,064,300 B acknowledged as a whole, 42 segments told."""
    made = net.chunk(USUAL, net.ILLINOIS, net.RWTM).set("duration", "46 s")
    whole, again = run(made, seed=1), run(net.followed(made, 40.0), seed=1)
    for name in whole.series_names:
        (times, values), (others, same) = whole.arrays(name), again.arrays(name)
        assert np.array_equal(values[times < 39.99], same[others < 39.99], equal_nan=True), name
    seen = life_of(again, 36.0)
    assert seen.heard[-1] - seen.asked[-1] == pytest.approx(0.1, abs=0.001)
    for _, values in (seen.received, seen.acknowledged):
        assert values.max() == 2 * 4_256_000 / 8 + net.HEADER_BYTES
        assert values.min() > 0
    assert np.unique(np.round(seen.told[1])).tolist() == [42.0]
    assert life_of(run(net.followed(net.chunk(USUAL, net.ILLINOIS, net.HTBM), 9.0), seed=1), 8.0).told[0].size == 0


def test_a_chunk_of_level_4_takes_at_least_its_bytes_at_the_shaped_rate() -> None:
    """4681.6 kbit/s charge 1520 bytes for 1448: 1,064,300 bytes take 1.909 s and more."""
    found = _lone("P2", net.HTBM)
    asked = found.json["groups"][net.CLIENT_1]["video"]
    at_the_top = 180.0 - _levels(found)[-1][0]
    chunks = asked["users_chunks_received"][0] - 4
    assert at_the_top / chunks >= 1.909


def test_the_window_told_is_share_times_round_trip() -> None:
    stage = _lone("P2", net.RWTM).json["stages"][net.TUNER]
    assert stage["target_window"] == pytest.approx(4_681_600 * stage["rtt"] / 8, abs=1)
    # the round trip and what a request costs: think time, two transmissions, the ACK's way
    assert 0.1 < stage["rtt"] < 0.106


def test_series_change_nothing_else() -> None:
    """Figures 2 to 9 are drawn from runs made again with series; their records agree in everything else."""
    plain, drawn = (
        run(net.home(USUAL, net.S1, net.VEGAS, net.RWTM, record=record), seed=3).json for record in (None, net.RECORD)
    )
    assert plain["groups"] == drawn["groups"]
    assert plain["links"] == drawn["links"]


def test_a_client_that_leaves_closes_at_30_s() -> None:
    found = run(net.home(USUAL, net.S3, net.ILLINOIS, net.HTBM), seed=1).json
    second = found["groups"][net.CLIENT_2]["video"]
    assert second["users_chunks_received"][0] < 25
    assert found["stages"][net.MANAGER]["sessions"] == 1


# --- Printed numbers ------------------------------------------------------------------------------------------------


def test_scenario_1_stands_in_three_tables() -> None:
    for once, again in ((printed.TABLE_2, printed.TABLE_5), (printed.TABLE_4, printed.TABLE_6)):
        twice = {key: value for key, value in again.items() if key[1] == net.S1}
        assert len(twice) == 2 * len(once) // len(net.METHODS) // 2
        assert twice == {key: once[key] for key in twice}


def test_shaping_improves_43_of_48_as_printed() -> None:
    better = sum(
        table[name, net.S1, control, net.NONE] > table[name, net.S1, control, method]
        for table in (printed.TABLE_2, printed.TABLE_3)
        for name in ("IS", "IF", "V")
        for method in net.SHAPED
        for control in net.CONTROLS
    )
    assert better == 43


def test_captions_are_falls_in_180_s() -> None:
    for falls, told in ((1, 0.55), (3, 1.66), (83, 46.11), (92, 51.11), (335, 186.11)):
        assert int(qoe.congestion_rate(falls, 180) * 100 + 1e-6) / 100 == told


# --- Measures -------------------------------------------------------------------------------------------------------


def test_without_shaping_client_1_has_the_higher_bitrate() -> None:
    labels = {"scenario": net.S1, "control": net.CUBIC, "method": net.NONE}
    for seed in (1, 2, 3, 4):
        found = Run(0, labels, seed, run(net.home(USUAL, net.S1, net.CUBIC, net.NONE), seed=seed))
        one, two = (reading.value(USUAL, client, "bitrate_kbps", found) for client in (1, 2))
        assert one is not None
        assert two is not None
        assert one >= two
        fixed = replace(USUAL, clients="fixed")
        assert reading.group_of(fixed, 1, found) == net.CLIENT_1


def test_falls_of_a_threshold_that_begins_unbounded() -> None:
    series = np.array([np.nan, np.nan, 60.0, 60.0, 80.0, 40.0, 40.0, 30.0])
    assert list(reading.falls(series)) == [2, 5, 7]


def test_what_is_read_from_a_recorded_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is first finite at 10 s, falls at 40 s, at the moment of convergence (60 s), and twice after it."""
    times = np.array([0.0, 10.0, 29.9, 30.0, 40.0, 60.0, 90.0, 120.0])
    threshold = np.array([np.nan, 50.0, 55.0, 70.0, 60.0, 40.0, 30.0, 20.0])
    monkeypatch.setattr(reading, "windows", lambda run: (times, threshold, threshold))
    monkeypatch.setattr(reading, "value", lambda o, client, name, run: 60.0)
    found = Run(0, {}, 1, Record("{}", ""))
    assert reading.raised.of(found) == 70 - 50
    assert reading.falls_before.of(found, USUAL) == pytest.approx(100 * 3 / 60)
    assert reading.falls_after.of(found, USUAL) == pytest.approx(100 * 2 / (net.DURATION_S - 60))


def test_congestion_rate_by_losses_counts_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = MagicMock(congestion_rate=1.0, bitrate_bps=1e6)
    monkeypatch.setattr(reading, "adaptive", lambda o, client, run: seen)
    groups = {net.CLIENT_1: {"senders": {"reductions": {"loss": 30, "timeout": 6}}}}
    found = Run(0, {}, 1, Record(json.dumps({"groups": groups}), ""))
    rate = reading.value(replace(USUAL, rate="loss"), reading.ONE, "CNG", found)
    assert rate == qoe.congestion_rate(36, net.DURATION_S)


def test_representative_run_is_nearest_to_the_means() -> None:
    rows = [[1.0, 1.0], [2.0, 2.0], [2.1, 2.0], [9.0, 9.0]]
    assert qoe.most_representative(rows) == 2
    assert FIGURES["fig02"] == (net.NEWRENO, net.HTBM)


# --- Calibration ----------------------------------------------------------------------------------------------------


def test_calibration_reads_nothing_that_is_held_out() -> None:
    for point in PAPER.experiment("cal").points("paper"):
        assert point.labels["scenario"] in (net.S1, net.WL)
    calibration, tables = (set(PAPER.experiment(name).seeds("paper")) for name in ("cal", "table02"))
    assert len(calibration) == 5
    assert len(tables) == net.RUNS
    assert not calibration & tables


def test_calibrated_claims_are_marked() -> None:
    apart = {claim.id.removeprefix("has_shaping-"): claim.apart for claim in PAPER.claims if claim.apart}
    calibrated = {name for name, why in apart.items() if why == "calibrated"}
    assert calibrated == {
        *("c13", "c14", "c15", "c16", "c17", "c18", "c26", "c27", "c30w", "c31w", "c43", "c44", "c45", "c48", "c69"),
    }
    arithmetic = {name for name, why in apart.items() if why == "arithmetic"}
    assert arithmetic == {"c22", "c25", "c36e", "c39e", "c41e", "c48e", "c64e", "c79", "c80"}


def test_a_connection_that_is_opened_on_the_way_has_a_window_while_it_is_open() -> None:
    """Client 2 leaves at 30 s: its connection has number 0, and no window before it opens and behind its end."""
    look = {"series": [{"of": f"groups.{net.CLIENT_2}.users[0].flows[0].window", "every": "0.5 s"}]}
    found = run(net.home(USUAL, net.S3, net.ILLINOIS, net.RWTM, record=look), seed=1)
    times, window = (np.asarray(column) for column in found.series(f"groups.{net.CLIENT_2}.users[0].flows[0].window"))
    open_ = ~np.isnan(window)
    assert times[open_].min() <= 0.5
    assert 30 <= times[open_].max() < 32
    assert window[open_].min() >= 2


@pytest.mark.parametrize("tuner", ["request", "handshake", "timestamps"])
def test_the_gateway_measures_the_whole_round_trip_in_each_way(tuner: str) -> None:
    """100 ms are on the server's side; a tick of the server's clock is 4 ms."""
    o = replace(USUAL, tuner=tuner)
    stage = run(net.home(o, net.WL, net.CUBIC, net.RWTM, **CALM), seed=1).json["stages"][net.TUNER]
    assert 0.1 <= stage["rtt"] < 0.109
