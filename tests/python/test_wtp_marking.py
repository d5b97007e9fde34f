"""Marking probability against utilisation in the paper on willingness to pay: sweeps, curves, measures, claims."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from evenflow.claims import Claim, Verdict, judge, judge_claim
from evenflow.paper import Experiment
from evenflow.record import Record
from evenflow.study import Point, Run, Study, Table, run_study
from evenflow_papers.wtp import PAPER
from evenflow_papers.wtp import experiments as ex
from evenflow_papers.wtp import measures as mm
from evenflow_papers.wtp import network as net
from evenflow_papers.wtp.measures import Line, LoadCurve
from evenflow_papers.wtp.network import Options

USUAL = Options()
LOADS: Sequence[Any] = ex.LOADS.paper
BLOCK = (
    *("fig08", "fig09", "fig10", "x-rtt", "x-lb", "x-red"),
    *("x-bursts", "x-periods", "x-factors", "x-buffer", "x-low-load"),
)


def experiments(o: Options) -> list[Experiment]:
    """Those of the block."""
    return [it for it in ex.experiment.build(o) if it.id.removeprefix("wtp-") in BLOCK]


CLAIMS = {n: c for c in PAPER.claims if 49 <= (n := int(c.id.rpartition("c")[2])) < 64 or 82 <= n < 92}
Law = Callable[[float], tuple[float, float]]


def fake(labels: Mapping[str, Any], point: int, seed: int, rho: float, p: float) -> Run:
    link = {
        "utilisation": rho,
        "marks": {"any": round(p * 1e9)},
        "arrived_packets": 10**9,
        "queue_delay_s_mean": 0.004,
        "queue_delay_s_max": 0.02,
    }
    tree = {"links": {net.LINK: link}, "groups": {}, "window_s": [60, 180]}
    return Run(point, labels, seed, Record(json.dumps(tree), ""))


def table(curves: Sequence[tuple[Mapping[str, Any], Law]], seeds: Sequence[int] = range(1, 11)) -> Table:
    """Points of weights 1 and 6 for every load; seeds differ by a little in both."""
    runs = []
    for k, (labels, law) in enumerate(curves):
        for i, n in enumerate(LOADS):
            rho, p = law(n)
            at = {**labels, "weights": "1 and 6", "n": n}
            runs += [fake(at, 100 * k + i, s, rho + 1e-5 * (s - 5.5), p + 1e-5 * (s - 5.5)) for s in seeds]
    return Table(runs)


def verdict(number: int, **tables: Table) -> str:
    entry = judge_claim(
        CLAIMS[number], {f"wtp-{k.replace('_', '-')}": t for k, t in tables.items()}, scale="paper", paper_runs=10
    )
    assert not entry.broken, entry.broken
    return str(entry.literal.verdict)


def recorded(**series: tuple[Sequence[float], Sequence[float]]) -> Run:
    raw = {
        name.replace("__", "."): (np.array(t, dtype="<f8").tobytes(), np.array(v, dtype="<f8").tobytes())
        for name, (t, v) in series.items()
    }
    return Run(0, {}, 1, Record(json.dumps({"window_s": [60.0, 180.0], "links": {net.LINK: {}}}), "", raw))


def test_the_swing_of_a_class_is_that_of_its_own_windows() -> None:
    times = [70.0, 80.0]
    windows = {"light": [1.0, 3.0], "heavy": [10.0, 10.0]}
    run = recorded(**{f"groups.{name}.users[0].flows[0].window": (times, it) for name, it in windows.items()})
    assert mm.swing(run, "light") == 0.5
    assert mm.swing(run, "heavy") == 0


# --- sweeps ---


def test_a_mix_of_other_weights_has_the_same_sum_of_weights() -> None:
    # 8 connections of weights 1 and 6: 28; 28 of weight 1; 4.67 of weight 6
    assert net.count("1 and 6", 8) == 8
    assert net.count("1", 8) == 28
    assert net.count("6", 8) == 5
    assert net.mixes(Options(mixture="separate")) == ("1", "6")


def test_a_place_is_half_of_each_weight_with_factor_and_gain() -> None:
    (place,) = ex.sweep(net.other_trip, (8,), marker=net.VQ, rtt_ms=400.0)(USUAL, "quick")
    groups = place.scenario.tree["groups"]
    assert {name: (g["users"], g["weight"]) for name, g in groups.items()} == {"light": (4, 2.0), "heavy": (4, 12.0)}
    assert groups["light"]["tcp"]["congestion_control"]["gain"] == 1.0
    assert place.labels == {"marker": net.VQ, "rtt_ms": 400.0, "weights": "1 and 6", "n": 8}


@pytest.mark.parametrize("mixture", ["half", "separate"])
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_points_are_told_apart_by_their_labels(scale: Any, mixture: str) -> None:
    for experiment in experiments(Options(mixture=mixture)):
        labels = [tuple(sorted(point.labels.items())) for point in experiment.points(scale)]
        assert len(set(labels)) == len(labels), experiment.id
        assert experiment.caption.endswith(".")


def test_round_trips_keep_gain_and_weights_per_second() -> None:
    for point in points("x-rtt"):
        factor = float(point.labels["rtt_ms"]) / 200
        heavy = point.scenario.tree["groups"]["heavy"]
        assert heavy["weight"] == 6 * factor
        assert heavy["tcp"]["congestion_control"]["gain"] == 0.5 * factor


def points(name: str) -> Sequence[Point]:
    """Of an experiment at scale quick."""
    return next(it for it in experiments(USUAL) if it.id == f"wtp-{name}").points("quick")


# --- curves ---


def curve(rho: Sequence[float], p: Sequence[float]) -> LoadCurve:
    return LoadCurve(np.arange(1, len(rho) + 1) * 4.0, np.array(rho)[:, None], np.array(p)[:, None])


def test_values_between_loads_are_linear_and_none_beyond() -> None:
    found = curve([0.7, 0.8, 0.9], [0.1, 0.2, 0.4])
    assert found.p_at(0.85) == pytest.approx([0.3])
    assert found.rho_at(0.15) == pytest.approx([0.75])
    assert math.isnan(found.p_at(0.95)[0])
    assert math.isnan(found.rho_at(0.05)[0])


def test_a_folded_curve_is_read_on_its_rising_branch() -> None:
    # falls from 0.95 to 0.83 and rises to 0.93: at 0.90 the rising part is meant
    folded = curve([0.95, 0.83, 0.93], [0.03, 0.13, 0.53])
    assert folded.p_at(0.88) == pytest.approx([0.33])
    assert list(folded.branch.weights) == [8.0, 12.0]


def test_saturated_points_belong_to_no_curve() -> None:
    assert len(curve([0.8, 0.9, 0.999], [0.1, 0.2, 0.284]).unsaturated.rho) == 2


def test_lines_and_parabolas() -> None:
    rho = np.array([[0.6], [0.7], [0.9]])
    line = Line.through(rho, 2 * (rho - 0.5))
    assert (line.slope[0], line.foot[0], line.r2[0]) == pytest.approx((2, 0.5, 1))
    assert curve([0.6, 0.7, 0.9], [0.36, 0.49, 0.81]).curvature() == pytest.approx([1])
    assert math.isnan(Line.through(rho[:1], rho[:1]).slope[0])


# --- claims on made-up numbers ---


def lb(alpha: float, rho0: float) -> Law:
    return lambda n: (rho0 + 0.006 * n, alpha * 0.006 * n)


@pytest.mark.parametrize(
    ("alpha", "rho0", "expected"),
    [(0.71, 0.6, "holds"), (0.76, 0.6, "fails"), (0.71, 0.615, "fails")],
)
def test_the_law_of_load_based_marking(alpha: float, rho0: float, expected: str) -> None:
    assert verdict(50, fig08=table([({"marker": net.LB, "form": net.PI}, lb(alpha, rho0))])) == expected


def test_red_that_never_runs_low_cannot_be_like_the_others_there() -> None:
    def three(red: Law) -> Table:
        laws = {net.RED: red, net.VQ: lb(0.71, 0.6), net.LB: lb(0.71, 0.6)}
        return table([({"marker": m, "form": net.PI}, law) for m, law in laws.items()])

    assert verdict(52, fig08=three(lambda n: (0.83 + abs(n - 8) * 0.003, 0.015 * n))) == "fails"
    # within 0.05 and beyond it
    assert verdict(52, fig08=three(lambda n: (0.6 + 0.006 * n, 0.71 * 0.006 * n + 0.04))) == "holds"
    assert verdict(52, fig08=three(lambda n: (0.6 + 0.006 * n, 0.71 * 0.006 * n + 0.06))) == "fails"


@pytest.mark.parametrize(("gap", "expected"), [(0.02, "holds"), (0.0, "fails")])
def test_ipd_to_the_right_of_pi(gap: float, expected: str) -> None:
    curves: list[tuple[Mapping[str, Any], Law]] = [
        ({"marker": net.VQ, "form": net.PI}, lambda n: (0.7 + 0.004 * n, 0.01 * n)),
        ({"marker": net.VQ, "form": net.IPD}, lambda n: (0.7 + gap + 0.004 * n, 0.01 * n)),
    ]
    assert verdict(55, fig08=table(curves)) == expected


@pytest.mark.parametrize(("sign", "expected"), [(1, "holds"), (-1, "fails")])
def test_the_effect_of_the_virtual_buffer(sign: int, expected: str) -> None:
    # steeper for larger B, all through (0.87, 0.3): below it the smaller B is higher, above it the larger
    def law(buffer: float) -> Law:
        return lambda n: (0.7 + 0.0055 * n, 0.3 + (2 + sign * buffer / 100) * (0.7 + 0.0055 * n - 0.87))

    curves = [({"theta": 0.95, "buffer": float(b)}, law(b)) for b in ex.BUFFERS]
    for number in (85, 86, 87):
        assert verdict(number, fig10=table(curves)) == expected


def test_footnote_5_bit_for_bit_and_not_otherwise() -> None:
    one, two = points("x-factors")[:2]
    assert verdict(89, x_factors=run_study(Study([one, two], [1]), jobs=1)) == "holds"
    other = next(p for p in points("x-factors") if p.labels["buffer"] != one.labels["buffer"])
    unlike = type(two)(two.labels, other.scenario)
    assert verdict(89, x_factors=run_study(Study([one, unlike], [1]), jobs=1)) == "fails"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda c: c.id)
def test_a_claim_says_what_it_is(claim: Claim) -> None:
    assert set(claim.experiments) <= {e.id for e in experiments(USUAL)}
    assert claim.statement.endswith(".")
    assert claim.level == 0.90


def test_all_claims_of_the_block_are_there() -> None:
    assert sorted(CLAIMS) == [*range(49, 64), *range(82, 92)]


# --- measures of series ---


def test_marking_periods_and_their_length() -> None:
    # two periods in the window: 61 to 63 and 70 to 71; one before it does not count
    run = recorded(
        **{net.MARKING_SERIES.replace(".", "__"): ([59, 60.5, 61, 62, 63, 70, 71, 80], [1, 0, 1, 1, 0, 1, 0, 0])}
    )
    assert mm.marking_periods(run) == (2, 3.0)
    assert mm.periods_per_s(run) == pytest.approx(2 / 120)
    assert mm.period_s(run) == 1.5


def test_arrivals_in_slots() -> None:
    # packets of 1000 B: 0 and 2 in turn, variance 1 · 4/3, mean 1
    run = recorded(**{net.ARRIVED_SERIES.replace(".", "__"): ([50, 61, 62, 63, 64], [9000, 0, 2000, 0, 2000])})
    assert mm.arrival_variance(run, USUAL) == pytest.approx(4 / 3)
    assert mm.dispersion(run, USUAL) == pytest.approx(4 / 3)


def test_response_is_measured_from_the_same_run_without_the_step() -> None:
    times = np.arange(1, 1801) / 10
    swing = 0.1 + 0.05 * np.sin(times)
    name = net.PROBABILITY_SERIES.replace(".", "__")
    # 0.1 more from 102 s on: the mean over the last second has come half of the way half a second later
    stepped = recorded(**{name: (times, swing + 0.1 * (times > 102.01))})
    assert mm.response_s(stepped, recorded(**{name: (times, swing)})) == pytest.approx(2.5, abs=0.11)


def test_the_backlog_is_that_after_the_step() -> None:
    run = recorded(**{net.QUEUE_SERIES.replace(".", "__"): ([99, 101, 109, 111], [50, 7, 9, 40])})
    assert mm.backlog(run) == 9


# --- figures ---


def test_figure_8_tells_the_folded_branch_and_saturated_points_apart() -> None:
    def folded(n: float) -> tuple[float, float]:
        return 0.83 + abs(n - 8) * 0.003, 0.012 * n

    curves: list[tuple[Mapping[str, Any], Law]] = [
        (
            {"marker": m, "form": f},
            (lambda n: (0.83 + abs(n - 8) * 0.003, 0.012 * n)) if m == net.RED else lb(0.71, 0.6),
        )
        for m in net.MARKERS
        for f in (net.PI, net.IPD)
    ]
    runs = table(curves, seeds=(1, 2))
    experiment = experiments(USUAL)[0]
    assert experiment.figure is not None
    assert experiment.data is not None
    a = experiment.figure(runs).panels[0]
    assert [line.words for line in a.lines] == [
        "RED",
        "RED, fewer than eight connections",
        "virtual queue",
        "load-based",
    ]
    assert len({line.dash for line in a.lines[:2]}) == 2
    frame = experiment.data(runs)
    assert frame.height == len(LOADS) * 6
    assert {"rho", "rho_lo", "p_hi", "runs"} <= set(frame.columns)


def test_deviations_name_claims_that_there_are() -> None:
    known = {int(claim.id.rpartition("c")[2]) for claim in PAPER.claims}
    for deviation in PAPER.deviations:
        assert isinstance(deviation.sensitivity, str)
        assert {int(n) for n in re.findall(r"\bc(\d{2,3})\b", deviation.sensitivity)} <= known, deviation.id


def trips(reds: Mapping[float, Law], others: Mapping[float, Law]) -> Table:
    """Curves by round trip under RED, and under the other two markers."""
    laws = {net.RED: reds, net.VQ: others, net.LB: dict.fromkeys(others, others[100.0])}
    return table([({"marker": m, "rtt_ms": rtt}, law) for m, its in laws.items() for rtt, law in its.items()])


def law(start: float, factor: float = 1.0) -> Law:
    """From a utilisation on, with a probability that rises along it."""
    return lambda n: (start + (0.95 - start) * n / 50, factor * (0.2 + n / 100))


def test_what_no_curve_reaches_is_open_and_not_left_out() -> None:
    # RED from 0.9 on with 100 ms, so that neither 0.80 nor 0.85 has a partner
    reds = {100.0: law(0.9), 200.0: law(0.7), 400.0: law(0.7)}
    found = trips(reds, dict.fromkeys(reds, law(0.7)))
    checks = CLAIMS[59].literal({"wtp-x-rtt": found})
    assert len(checks) == 12
    red = [c for c in checks if c.label.startswith("RED, 100 → 200")]
    assert [np.isnan(np.asarray(c.values)).all() for c in red] == [True, True]
    assert judge(checks, scale="paper", paper_runs=1).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("rise", "expected"), [(1.05, ("holds", "holds")), (1.3, ("fails", "holds")), (0.95, ("fails", "fails"))]
)
def test_slightly_higher_is_higher_and_by_no_more_than_15_percent(rise: float, expected: tuple[str, str]) -> None:
    laws = {rtt: law(0.7, rise**step) for step, rtt in enumerate(ex.RTTS)}
    data = {"wtp-x-rtt": trips(laws, laws)}
    found = [
        judge(read(data), scale="paper", paper_runs=10).verdict
        for read in (CLAIMS[59].literal, CLAIMS[59].relaxed)
        if read
    ]
    assert tuple(map(str, found)) == expected
