"""Two links and different round trips: the networks, the claims c26 to c48 on made-up runs, and the figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from evenflow.claims import Claim, judge_claim
from evenflow.paper import Experiment
from evenflow.plots import style, svg
from evenflow.record import Record
from evenflow.scenario import Scenario
from evenflow.show.drawing import draw
from evenflow.study import Point, Run, Study, Table, run_study
from evenflow.values import Shown
from evenflow_papers.wtp import PAPER
from evenflow_papers.wtp import experiments as ex
from evenflow_papers.wtp import measures as m
from evenflow_papers.wtp import network as net
from evenflow_papers.wtp.measures import rate_ratio
from evenflow_papers.wtp.network import Options

USUAL = Options()
BLOCK = ("fig05", "fig06", "fig07", "tab01", "x-topology", "x-table", "x-theory")
EXPERIMENTS: dict[str, Experiment] = {
    name: e for e in ex.experiment.build(USUAL) if (name := e.id.removeprefix("wtp-")) in BLOCK
}
CLAIMS: dict[int, Claim] = {n: c for c in PAPER.claims if 26 <= (n := int(c.id.removeprefix("wtp-c"))) <= 48}
SEEDS = range(1, 11)


# --- Networks -------------------------------------------------------------------------------------------------------


def round_trips_ms(scenario: Scenario) -> dict[str, list[float]]:
    """Propagation there and back of every user of a group, links without a rate included."""
    tree = scenario.tree
    found = {}
    for name, group in tree["groups"].items():
        delays = [tree["links"][link]["delay"] for link in group["path"]]
        spread = [d["values"] for d in delays if isinstance(d, Mapping)]
        fixed = sum(2 * float(d.split()[0]) for d in delays if isinstance(d, str))
        found[name] = [fixed + 2 * float(d.split()[0]) for d in spread[0]] if spread else [fixed]
    return found


def test_round_trips_of_two_links() -> None:
    both = net.per_round_trip(USUAL, net.RED, 3, 100, third=True)
    assert round_trips_ms(both) == {"one": [100.0], "both": [200.0], "two": [100.0]}
    assert round_trips_ms(net.per_second(USUAL, net.RED, 3)) == {"one": [200.0], "both": [300.0]}


def test_round_trips_of_three_links() -> None:
    found = round_trips_ms(net.topology(USUAL, net.SHARED, net.VQ, 2))
    assert found == {"one": [200.0], "two": [100.0], "three": [100.0], "all": [400.0]}
    assert set(round_trips_ms(net.topology(USUAL, net.CHAIN, net.VQ, 2))) == {"one", "all"}


def test_a_spread_is_symmetric_and_leaves_every_delay_possible() -> None:
    wide = Options(rtt_spread=0.25)
    for scenario in (net.topology(wide, net.SHARED, net.LB, 2), net.per_round_trip(wide, net.LB, 2, 200, third=True)):
        scenario.check()
        for rtts in round_trips_ms(scenario).values():
            middle = sum(rtts) / len(rtts)
            assert min(rtts) == pytest.approx(0.75 * middle)
            assert max(rtts) == pytest.approx(1.25 * middle)


def test_weights_in_proportion_to_the_round_trip() -> None:
    weights = {n: g.get("weight", 1) for n, g in net.per_second(USUAL, net.RED, 4).tree["groups"].items()}
    assert weights == {"one": 1, "both": 6.0}  # 300 ms over 200 ms, times r
    longer = net.topology(USUAL, net.SHARED, net.RED, 4).tree["groups"]
    assert {n: g.get("weight", 1) for n, g in longer.items()} == {"one": 1, "two": 0.5, "three": 0.5, "all": 8.0}
    assert net.per_round_trip(USUAL, net.RED, 4, 200, third=False).tree["groups"]["both"]["weight"] == 4


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_points_are_valid_and_quick_is_part_of_the_paper(name: str) -> None:
    experiment = EXPERIMENTS[name]
    paper = {p.scenario.hash for p in experiment.points("paper")}
    labels = [tuple(sorted((k, str(v)) for k, v in p.labels.items())) for p in experiment.points("paper")]
    assert len(set(labels)) == len(labels)
    assert {p.scenario.hash for p in experiment.points("quick")} <= paper
    assert set(experiment.seeds("quick")) <= set(experiment.seeds("paper"))
    assert not experiment.shortened


def test_equal_settings_share_their_runs() -> None:
    def hashes(name: str, **labels: Any) -> set[str]:
        points = EXPERIMENTS[name].points("paper")
        return {p.scenario.hash for p in points if all(p.labels.get(k) == v for k, v in labels.items())}

    assert hashes("tab01") == hashes("fig07", marker=net.RED, r=1)
    for figure in ("fig05", "fig06", "fig07"):
        assert hashes("x-theory", figure=figure) == hashes(figure)
    (fig03,) = (e for e in ex.experiment.build(USUAL) if e.id == "wtp-fig03")
    third = {p.scenario.hash for p in fig03.points("paper")}
    assert len(hashes("x-theory", figure="fig03") & third) == 30
    assert len(EXPERIMENTS["tab01"].seeds("paper")) == 100


# --- Claims ---------------------------------------------------------------------------------------------------------


def fake(labels: Mapping[str, Any], point: int, seed: int, numbers: Mapping[str, Any]) -> Run:
    """A run with shares of 1000 packets; `x` are throughputs and `p` prices of groups and links."""
    wobble = 1 + 0.002 * (seed - 5.5)
    groups = {
        name: {
            "throughput_bps": x * 1e6 * wobble,
            "marks": round(1e6 * numbers.get(f"p_{name}", 0.0)),
            "delivered_packets": 1e6,
            "users": 5,
        }
        for name, x in numbers["x"].items()
    }
    links = {
        link: {"marks": {"load": round(1e6 * numbers.get(f"p{word}", 0.0))}, "arrived_packets": 1e6}
        for link, word in ((net.R12, "12"), (net.R23, "23"))
    }
    return Run(point, labels, seed, Record(json.dumps({"groups": groups, "links": links}), ""))


def table(points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Table:
    return Table(fake(labels, k, seed, numbers) for k, (labels, numbers) in enumerate(points) for seed in SEEDS)


def verdict(number: int, **tables: Table) -> tuple[str, str | None]:
    data = {f"wtp-{name.replace('_', '-')}": found for name, found in tables.items()}
    entry = judge_claim(CLAIMS[number], data, scale="paper", paper_runs=10)
    assert not entry.broken
    return str(entry.literal.verdict), str(entry.relaxed.verdict) if entry.relaxed else None


def figure_five(ratio: Mapping[str, Any]) -> Table:
    """Fig. 5 with R a function of r and the share of round trips, by marker."""
    return table(
        [
            (
                {"rtt12_ms": rtt, "marker": marker, "r": r},
                {"x": {"one": 1.0, "both": ratio[marker](r, rtt / (rtt + 100))}, "p23": 0.05 * (marker == net.LB)},
            )
            for rtt in ex.RTTS_MS
            for marker in net.MARKERS
            for r in ex.RS.paper
        ]
    )


def by_round_trips(r: float, share: float) -> float:
    return r * share


def test_all_claims_of_the_section() -> None:
    assert sorted(CLAIMS) == list(range(26, 49))
    assert all(claim.level == 0.90 for claim in CLAIMS.values())


def test_figure_five_as_the_paper_tells_it() -> None:
    told = dict.fromkeys(net.MARKERS, by_round_trips) | {
        net.LB: lambda r, s: r * s if r <= 6 else (6 + (r - 6) / 4) * s
    }
    found = figure_five(told)
    for number in (26, 27, 28, 29, 30, 31, 32, 33):
        assert verdict(number, fig05=found)[0] == "holds", number


def test_figure_five_otherwise() -> None:
    same = figure_five(dict.fromkeys(net.MARKERS, by_round_trips))
    assert verdict(32, fig05=same)[0] == "holds"  # no difference at all is on the edge of what is accepted
    apart = figure_five(dict.fromkeys(net.MARKERS, by_round_trips) | {net.VQ: lambda r, s: 1.3 * r * s})
    assert [verdict(n, fig05=apart)[0] for n in (26, 27, 28, 29, 30)] == ["holds", "fails", "fails", "holds", "fails"]
    steep = figure_five(dict.fromkeys(net.MARKERS, lambda r, s: 1.1 * r))
    assert verdict(29, fig05=steep)[0] == "fails"


def test_no_reading_lets_red_dip_at_four() -> None:
    dip = dict.fromkeys(net.MARKERS, by_round_trips) | {net.RED: lambda r, s: r * (0.57 if r == 4 and s > 0.6 else s)}
    assert verdict(30, fig05=figure_five(dip)) == ("fails", None)


def test_roughly_the_same_is_within_15_percent_of_each_other() -> None:
    for factor, expected in ((1.13, "holds"), (1.19, "fails")):
        apart = dict.fromkeys(net.MARKERS, by_round_trips) | {net.LB: lambda r, s, f=factor: r * s / f}
        assert verdict(27, fig05=figure_five(apart))[0] == expected


def test_the_papers_arithmetic() -> None:
    # Section 5.1: (1 / (300 · 0.065)) / (1 / (200 · 0.023)) = 0.2359, (1 / (200 · 0.084)) / (1 / (100 · 0.042)) = 0.25
    assert rate_ratio((1, 1), (300, 200), (0.065, 0.023)) == pytest.approx(0.2359, abs=5e-5)
    assert rate_ratio((1, 1), (200, 100), (0.084, 0.042)) == pytest.approx(0.25)
    assert verdict(44)[0] == "holds"


def table_one(r_200: float = 0.231, p12: float = 0.042, p_both: float = 0.065) -> Table:
    return table(
        [
            (
                {"rtt12_ms": 200, "marker": net.RED, "r": 1},
                {"x": {"one": 1.0, "both": r_200}, "p12": 0.023, "p23": 0.042, "p_one": 0.023, "p_both": p_both},
            ),
            (
                {"rtt12_ms": 100, "marker": net.RED, "r": 1},
                {"x": {"one": 1.0, "both": 0.251}, "p12": p12, "p23": 0.042, "p_one": 0.042, "p_both": 0.084},
            ),
        ]
    )


def test_table_one_with_the_papers_own_numbers() -> None:
    own = table_one()
    assert {n: verdict(n, tab01=own)[0] for n in (*range(38, 44), 45, 46, 47)} == dict.fromkeys(
        (*range(38, 44), 45, 46, 47), "holds"
    )


def test_table_one_otherwise() -> None:
    assert verdict(38, tab01=table_one(r_200=0.26))[0] == "fails"
    assert [verdict(n, tab01=table_one(p12=0.0456))[0] for n in (42, 43, 46, 47)] == [
        "fails",
        "holds",
        "holds",
        "fails",
    ]
    # its own marks say 0.05 and theory therefore 0.307, a third more than the 0.231 it gets
    assert verdict(45, tab01=table_one(p_both=0.05))[0] == "fails"
    assert verdict(46, tab01=table_one(p_both=0.05)) == ("holds", "holds")  # the better of two quantities


def test_other_networks_by_hand() -> None:
    def one_point(r: float, x: float, p_one: float, p_both: float) -> Table:
        labels = {"topology": net.NARROW, "marker": net.RED, "r": r}
        return table([(labels, {"x": {"one": 1.0, "both": x}, "p_one": p_one, "p_both": p_both})])

    # 4 · 0.05 / 0.1 = 2
    assert verdict(48, x_topology=one_point(4, 2.0, 0.05, 0.1)) == ("holds", "holds")
    assert verdict(48, x_topology=one_point(4, 2.5, 0.05, 0.1)) == ("fails", "fails")
    # 10 · 0.22 / 0.22 = 10, but with half a packet (15 / 0.22 - 0.5) / (1 / 0.22 - 0.5) / 1.5 = 11.15
    assert verdict(48, x_topology=one_point(10, 11.15, 0.22, 0.22)) == ("fails", "holds")


# --- Figures --------------------------------------------------------------------------------------------------------


def few(name: str) -> Table:
    """Short runs of a few points, enough to draw."""
    chosen = [p for p in EXPERIMENTS[name].points("quick") if p.labels["r"] == (1 if "tab" in name else 6)]
    short = {"duration": "12 s", "warmup": "4 s"}
    points = [Point(p.labels, p.scenario.with_settings(short)) for p in chosen]
    return run_study(Study(points, [1, 2]), store=None)


@pytest.mark.slow("draws figures", only="fig0[567]|x-")
@pytest.mark.parametrize("name", ["fig05", "fig06", "fig07", "tab01", "x-table", "x-topology"])
def test_figures_and_tables(name: str) -> None:
    experiment = EXPERIMENTS[name]
    found = few(name)
    assert experiment.figure is not None
    assert experiment.data is not None
    with style():
        assert svg(draw(experiment.figure(found))).startswith("<?xml")
    data = experiment.data(found)
    assert data.height == (6 if name == "tab01" else len(found.points()))
    if name == "tab01":
        assert data["paper"].to_list() == [0.231, 0.023, 0.042, 0.251, 0.042, 0.042]
        # Lines must be full at these shares, so that theory's prices cannot be far from the paper's.
        assert data["theory_corrected"].to_list() == pytest.approx(data["paper"].to_list(), rel=0.12)
    else:
        assert {"R", "R_lo", "R_hi", "p12"} <= set(data.columns)
        assert ("p34" in data.columns) == (name == "x-topology")


def test_theory_beside_runs() -> None:
    experiment = EXPERIMENTS["x-theory"]
    assert experiment.figure is not None
    points = [
        p
        for p in experiment.points("quick")
        if (p.labels["marker"], p.labels["r"], p.labels.get("rtt12_ms", 100)) == (net.LB, 6, 100)
    ]
    found = run_study(Study(points, [1, 2]), store=None)
    with style():
        assert svg(draw(experiment.figure(found))).startswith("<?xml")
    shown = Shown("wtp", {"wtp-x-theory": found}, "x-theory", USUAL)
    off = [(at, abs(value)) for at, value in ex.differences(shown)]
    assert {at["group"] for at, _ in off} == {"light", "heavy", "one", "two", "both"}
    # Load-based marking has its price in closed form. Windows of 5 to 10 packets cost a tenth to a twentieth when they
    # are sent in whole packets.
    worst = {name: max(v for at, v in off if at["column"] == name) for name in (m.PURE, m.CORRECTED)}
    assert 0 < worst[m.CORRECTED] < 0.06
    assert 0.05 < worst[m.PURE] < 0.15


def test_a_curve_that_nobody_measured_is_left_out() -> None:
    odd = net.per_second(Options(packet=1500), net.RED, 2)
    assert not m.expected(odd)
