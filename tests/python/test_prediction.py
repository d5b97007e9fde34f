"""The fluid model: equilibria solved by hand and by another method, saturation, measured curves, the command."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import evenflow as ef
import numpy as np
import pytest
from conftest import Cli
from evenflow.errors import EvenflowError, ScenarioError, UsageError
from evenflow.theory import curves, markers
from evenflow.theory.equilibrium import Equilibrium, _Dual, equilibrium
from evenflow.theory.markers import ConstantProbability, LoadBased, Rem
from evenflow.theory.model import Control, Fluid, Link, Route, fluid, mean_of
from evenflow_papers.wtp import network as wtp
from evenflow_papers.wtp.network import Options
from scipy import optimize

RATE = 10e6
PPS = 1250.0  # of 1000 B at 10 Mbit/s


def link(name: str, marker: Any, rate: float = RATE) -> Link:
    return Link(name, name, rate, marker, 1, 1000)


def route(name: str, links: str, rtt: float, weight: float = 1, flows: int = 1, **more: Any) -> Route:
    control = more.pop("control", None) or Control.wtp(weight)
    return Route(name, name, flows, tuple(links), rtt, 1000, control, **more)


def rate(found: Equilibrium, name: str) -> float:
    value = found.routes[name].rate_pps
    assert value is not None
    return value


# By hand.


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 10.0), (0.5, 2.0, 7.0)])
def test_one_load_based_link(weights: tuple[float, ...]) -> None:
    # Sum of w/(T p) = rho C, p = alpha (rho - rho0): rho² - rho0 rho - sum w/(alpha C T) = 0 (Siris 2002, 2 and 4.3).
    target, gain, rtt, flows = 0.6, 0.71, 0.2, 2
    routes = tuple(route(f"r{i}", "a", rtt, w, flows) for i, w in enumerate(weights))
    found = equilibrium(Fluid(routes, (link("a", LoadBased(target, gain)),)))
    load = (target + math.sqrt(target**2 + 4 * flows * sum(weights) / (gain * PPS * rtt))) / 2
    assert found.links["a"].utilisation == pytest.approx(load, rel=1e-9)
    assert found.links["a"].price == pytest.approx(gain * (load - target), rel=1e-8)
    for i, w in enumerate(weights):
        assert rate(found, f"r{i}") == pytest.approx(w / (rtt * gain * (load - target)), rel=1e-8)


def test_two_links_and_three_classes_by_hand() -> None:
    # At prices of 0.04 and 0.08 five connections each have 1/0.04/0.2 = 125, 1/0.08/0.1 = 125 and 3/0.12/0.3 = 83.33
    # packets/s: both links carry 1041.67 of 1250, a load of 5/6; a gain of 1 needs targets of 5/6 - price.
    routes = (route("one", "a", 0.2, 1, 5), route("two", "b", 0.1, 1, 5), route("both", "ab", 0.3, 3, 5))
    links = (link("a", LoadBased(5 / 6 - 0.04, 1.0)), link("b", LoadBased(5 / 6 - 0.08, 1.0)))
    found = equilibrium(Fluid(routes, links))
    assert [found.links[n].price for n in "ab"] == pytest.approx([0.04, 0.08], rel=1e-8)
    assert [rate(found, n) for n in ("one", "two", "both")] == pytest.approx([125, 125, 250 / 3], rel=1e-8)


def test_a_root_that_is_worse_for_one_price_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    links, routes = [link(n, LoadBased(0.6, 1.0)) for n in "ab"], [route("one", "a", 0.2), route("two", "b", 0.1)]
    problem = _Dual(links, routes, {}, corrected=False)
    best = problem.minimise(0.5 * problem.top).prices
    near = 1.01 * best
    monkeypatch.setattr(optimize, "root", lambda *_, **__: SimpleNamespace(x=np.log(best * [1, 1.15])))
    assert problem._polish(near).tolist() == near.tolist()
    monkeypatch.setattr(optimize, "root", lambda *_, **__: SimpleNamespace(x=np.log(best)))
    assert problem._polish(near) == pytest.approx(best)


def test_the_primal_problem_has_the_same_solution() -> None:
    # Kelly's welfare, sum n w/T log x - sum of costs, with C(y) = gain/2 C (y/C - target)², climbed by BFGS.
    routes = (route("one", "a", 0.2, 1, 5), route("two", "b", 0.1, 2, 3), route("both", "ab", 0.3, 6, 4))
    shapes = {"a": (0.6, 0.71, 1250.0), "b": (0.5, 0.9, 625.0)}
    links = tuple(link(n, LoadBased(t, g), 8000 * c) for n, (t, g, c) in shapes.items())
    counts = np.array([r.flows for r in routes])
    wants = np.array([r.control.weight / r.rtt_s for r in routes if r.control is not None])
    cross = np.array([[float(n in r.links) for r in routes] for n in shapes])

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        x = np.exp(logs)
        y = cross @ (counts * x)
        over = [max(load / c - t, 0.0) for load, (t, _, c) in zip(y, shapes.values(), strict=True)]
        cost = sum(g / 2 * c * o**2 for o, (_, g, c) in zip(over, shapes.values(), strict=True))
        prices = np.array([g * o for o, (_, g, _) in zip(over, shapes.values(), strict=True)])
        return cost - float(counts @ (wants * logs)), counts * x * (prices @ cross) - counts * wants

    done = optimize.minimize(loss, np.log([50.0, 50.0, 50.0]), jac=True, method="BFGS", options={"gtol": 1e-10})
    found = equilibrium(Fluid(routes, links))
    assert [rate(found, r.name) for r in routes] == pytest.approx(np.exp(done.x), rel=1e-6)


def test_the_theory_beside_table_1() -> None:
    # Siris 2002, after table 1: 0.236 and 0.25 from its measured probabilities (the ratio of both classes' rates).
    for rtt12, p12, p23, ratio in ((0.2, 0.023, 0.042, 0.236), (0.1, 0.042, 0.042, 0.25)):
        routes = (route("12", "a", rtt12), route("13", "ab", rtt12 + 0.1))
        links = (link("a", ConstantProbability(p12)), link("b", ConstantProbability(p23)))
        found = equilibrium(Fluid(routes, links))
        assert rate(found, "13") / rate(found, "12") == pytest.approx(ratio, abs=5e-4)


def test_the_corrected_column() -> None:
    # W = 4/0.1 = 40; 39.5 packets in 0.2 s + 0.01 s on the wires.
    routes = (route("r", "a", 0.2, 4, sending_s=0.01),)
    found = equilibrium(Fluid(routes, (link("a", ConstantProbability(0.1)),)), corrected=True)
    assert rate(found, "r") == pytest.approx(39.5 / 0.21)
    # REM: a full link and 20 packets of 0.8 ms; 10 (w/p - 1/2) = 1250 (0.2 + 0.016) gives p = 1/27.5.
    marker = Rem(20 * 0.8e-3, 1.001)
    found = equilibrium(Fluid((route("r", "a", 0.2, 1, 10),), (link("a", marker),)), corrected=True)
    assert found.links["a"].utilisation == pytest.approx(1)
    assert found.links["a"].delay_s == pytest.approx(0.016)
    assert found.links["a"].price == pytest.approx(1 / 27.5, rel=1e-7)


def test_marks_of_two_links_on_one_packet_are_one_mark() -> None:
    # At prices of 0.1 and 0.2 the path has 0.28, not 0.3: (1/0.1 - 1/2)/0.2 = 47.5, (1/0.2 - 1/2)/0.1 = 45 and
    # (3/0.28 - 1/2)/0.3 = 34.048 packets/s; five each are loads of 0.32619 and 0.31619.
    routes = (route("one", "a", 0.2, 1, 5), route("two", "b", 0.1, 1, 5), route("both", "ab", 0.3, 3, 5))
    across = (3 / 0.28 - 0.5) / 0.3
    loads = [5 * (47.5 + across) / PPS, 5 * (45 + across) / PPS]
    links = (link("a", LoadBased(loads[0] - 0.1, 1.0)), link("b", LoadBased(loads[1] - 0.2, 1.0)))
    found = equilibrium(Fluid(routes, links), corrected=True, composed=True)
    assert [found.links[n].price for n in "ab"] == pytest.approx([0.1, 0.2], rel=1e-7)
    assert found.routes["both"].price == pytest.approx(0.28, rel=1e-7)
    assert rate(found, "both") == pytest.approx(across, rel=1e-7)
    summed = equilibrium(Fluid(routes, links), corrected=True)
    assert rate(summed, "both") < across
    assert summed.routes["both"].price == pytest.approx(sum(summed.links[n].price or 0 for n in "ab"))


def test_fixed_traffic_takes_its_share_first() -> None:
    # 500 of 1250 packets/s are taken: rho - 0.4 = w n/(C T p), here with gain 1 and target 0.7.
    fixed = Route("cbr", "cbr", 2, ("a",), 0.2, 1000, rate_pps=250)
    found = equilibrium(Fluid((fixed, route("r", "a", 0.2, 1, 10)), (link("a", LoadBased(0.7, 1.0)),)))
    load, price = found.links["a"].utilisation, found.links["a"].price
    assert load is not None
    assert price is not None
    assert load == pytest.approx(0.7 + price)
    assert (load - 0.4) * price == pytest.approx(10 / 250, rel=1e-8)
    assert found.routes["cbr"].rate_pps == 250


# Windows.


def test_windows_by_hand() -> None:
    assert Control.wtp(2, 3).window(0.1) == pytest.approx(60)  # w_i w_d / p
    assert Control.multcp(4, "every-mark").window(0.02) == pytest.approx(40)  # 4 √(2/0.02)
    # N = 1, p = 1 %: W² = 2 (W + 100), so W = 1 + √201.
    assert Control.multcp(1).window(0.01) == pytest.approx(1 + math.sqrt(201))
    assert Control.newreno().window(0.01) == pytest.approx(1 + math.sqrt(201))
    assert Control.newreno(0.5).window(0.01) == pytest.approx((1 + math.sqrt(401)) / 2)
    # Marks on every packet cannot bring N = 10 below 2 N²: weights then count by their square.
    assert Control.multcp(10).window(1.0) > 200
    assert Control.wtp(1).window(2.0) == 1
    assert Control.wtp(1, most=20.0).window(0.01) == 20
    only_unmarked = Control.wtp(2, 3, marked_increase=False)
    assert only_unmarked.window(0.1) == pytest.approx(54)  # (1 - p) w_i w_d / p
    assert only_unmarked.price(6) == pytest.approx(0.5)  # 6 (1 - p) = 6 p
    assert only_unmarked.window(1.0) == 1


CONTROLS = [
    Control.wtp(3, 2, least=1, most=80),
    Control.wtp(3, 2, least=1, most=80, marked_increase=False),
    Control.multcp(4, "every-mark"),
    Control.multcp(2, "once-per-rtt", most=40),
    Control.newreno(0.5),
]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: f"{c.kind} {c.reaction}")
def test_a_windows_integral_and_inverse(control: Control) -> None:
    for price in (0.003, 0.02, 0.11, 0.6, 0.95):
        step = 1e-6 * price
        derivative = (control.area(price + step) - control.area(price - step)) / (2 * step)
        assert derivative == pytest.approx(float(control.window(price)), rel=1e-6)
        if control.least < control.window(price) < control.most:
            assert control.price(float(control.window(price))) == pytest.approx(price)
            assert control.drift(control.window(price), price) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("marker", [LoadBased(0.6, 0.71), LoadBased(0.5, 2, 1.2), Rem(0.016, 1.001)])
def test_a_markers_integral_and_inverse(marker: Any) -> None:
    for price in (0.01, 0.1, 0.25):
        derivative = (marker.area(price + 1e-6) - marker.area(price - 1e-6)) / 2e-6
        assert derivative == pytest.approx(float(marker.load(price)), rel=1e-6)
        if isinstance(marker, LoadBased):
            assert marker.price(marker.load(price)) == pytest.approx(price)
            assert marker.slope(marker.load(price)) == pytest.approx(marker.gain / marker.capacity)


# What has no prediction.


def test_saturation_is_reported_and_not_extrapolated() -> None:
    # Load-based marking can ask for 0.71 (1 - 0.6) = 0.284 at most: 80/250 = 0.32 is needed, 60/250 = 0.24 is not.
    marker = LoadBased(0.6, 0.71)
    assert marker.top == pytest.approx(0.284)
    for weight, saturated in ((6, False), (8, True)):
        found = equilibrium(Fluid((route("r", "a", 0.2, weight, 10),), (link("a", marker),)))
        assert found.links["a"].saturated is saturated
        assert (found.routes["r"].rate_pps is None) is saturated
        assert (found.links["a"].price is None) is saturated
        assert any("0.284" in w for w in found.warnings) is saturated


def test_saturation_takes_along_who_shares_a_price_and_nobody_else() -> None:
    marker, wide = LoadBased(0.6, 0.71), LoadBased(0.6, 0.71)
    routes = (
        route("over", "a", 0.2, 8, 10),
        route("both", "ab", 0.3, 1, 1),
        route("beside", "b", 0.2, 1, 5),
        route("apart", "c", 0.2, 1, 5),
    )
    found = equilibrium(Fluid(routes, (link("a", marker), link("b", wide), link("c", wide))))
    assert [found.routes[r.name].rate_pps is None for r in routes] == [True, True, True, False]
    assert found.links["b"].utilisation is None
    assert not found.links["b"].saturated


def test_a_full_link_that_does_not_mark_has_no_prediction() -> None:
    routes = (route("r", "ab", 0.2, 1, 10), route("free", "a", 0.2, 1, 10))
    wide, narrow = link("a", LoadBased(0.6, 0.71)), link("b", None, 1e6)
    found = equilibrium(Fluid(routes, (wide, narrow)))
    assert found.routes["r"].rate_pps is None
    assert any("b: it does not mark and would be full" in w for w in found.warnings)
    found = equilibrium(Fluid(routes, (wide, replace(narrow, rate_bps=RATE))))
    assert rate(found, "r") == pytest.approx(rate(found, "free"))
    found = equilibrium(Fluid((route("r", "b", 0.2),), (narrow,)))
    assert any("nothing on the path of r marks" in w for w in found.warnings)


def curve(prices: list[float], loads: list[float], width: float = 0.001) -> curves.MarkingCurve:
    wanted = markers.Wanted({"kind": "red"}, RATE, 1000, 0.2, {"congestion_control": {"kind": "wtp"}})
    p, u = np.array(prices), np.array(loads)
    bands = {"price": np.array([p, p]), "load": np.array([u - width, u + width]), "delay_s": np.array([p, p])}
    return curves.MarkingCurve(wanted, np.arange(1, len(p) + 1), p, u, 0.01 * p, bands, "by hand", "0" * 64)


def test_outside_what_was_measured_there_is_no_price() -> None:
    known = curve([0.02, 0.05, 0.1], [0.7, 0.8, 0.9])
    # w n / (C T) = price times load: from 0.014 to 0.09 it was measured.
    inside = equilibrium(Fluid((route("r", "a", 0.2, 1, 10),), (link("a", known),)))
    price = inside.links["a"].price
    assert price is not None
    assert price * float(known.load(price)) == pytest.approx(0.04, rel=1e-8)
    above = equilibrium(Fluid((route("r", "a", 0.2, 3, 10),), (link("a", known),)))
    assert above.links["a"].saturated
    assert any("the highest that was measured" in w for w in above.warnings)
    below = equilibrium(Fluid((route("r", "a", 0.2, 1, 2),), (link("a", known),)))
    assert any("the lowest that was measured" in w for w in below.warnings)
    assert below.routes["r"].rate_pps is None


def test_a_falling_curve_may_have_several_equilibria() -> None:
    # price times load, which must be 3.5/250 = 0.014, is 0.009, 0.019, 0.012, 0.016, 0.096 at the points: met thrice.
    falling = curve([0.01, 0.02, 0.04, 0.08, 0.16], [0.9, 0.95, 0.3, 0.2, 0.6])
    assert not falling.increasing
    found = equilibrium(Fluid((route("r", "a", 0.2, 0.35, 10),), (link("a", falling),)))
    assert not found.unique
    assert any("More than one equilibrium" in w for w in found.warnings)
    # A gentle fall, slower than 1/price, leaves one.
    gentle = curve([0.01, 0.02, 0.04, 0.08, 0.16], [0.99, 0.95, 0.9, 0.8, 0.75])
    found = equilibrium(Fluid((route("r", "a", 0.2, 1, 10),), (link("a", gentle),)))
    assert found.unique
    assert [w for w in found.warnings if "the only one found from 5 starts" in w] == list(found.warnings)
    assert found.warnings


# From a scenario.

WTP: Mapping[str, Any] = {
    "stack": "ns2",
    "mss": "960 B",
    "header": "40 B",
    "congestion_control": {"kind": "wtp", "gain": 0.5},
    "ecn": "per-packet",
}


def tree(queue: Any = None, **control: Any) -> dict[str, Any]:
    """Ten connections on one link behind access links."""
    user = {
        "users": 5,
        "path": ["access", "bottleneck"],
        "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}},
        "tcp": {**WTP, "congestion_control": {**WTP["congestion_control"], **control}},
    }
    return {
        "duration": "180 s",
        "warmup": "60 s",
        "links": {
            "access": {"rate": "100 Mbit/s", "per": "user"},
            "bottleneck": {
                "rate": "10 Mbit/s",
                "delay": "100 ms",
                "queue": queue or {"kind": "load-based", "target": 0.6, "gain": 0.71},
            },
        },
        "groups": {"light": user, "heavy": {**user, "weight": 4}},
    }


def test_what_is_kept_of_a_scenario() -> None:
    t = tree()
    t["links"]["bottleneck"]["delay"] = {"uniform": ["50 ms", "150 ms"]}
    t["links"]["bottleneck"]["reverse"] = {"delay": "60 ms"}
    t["groups"]["light"]["processing"] = {"exponential": "5 ms"}
    t["groups"]["udp"] = {
        "users": 2,
        "path": ["bottleneck"],
        "traffic": {"kind": "poisson", "rate": "1 Mbit/s", "packet": "500 B"},
    }
    found = fluid(ef.Scenario(t))
    assert [r.name for r in found.routes] == ["light", "heavy", "udp"]
    light = found.route("light")
    assert light.rtt_s == pytest.approx(0.1 + 0.06 + 0.005)
    assert light.packet_bytes == 1000
    # 1000 B and 40 B on 100 and on 10 Mbit/s.
    assert light.sending_s == pytest.approx(8 * 1040 / 100e6 + 8 * 1040 / 10e6)
    assert found.route("heavy").control == Control.wtp(4)
    assert found.route("udp").rate_pps == pytest.approx(250)
    assert [k.name for k in found.links] == ["access[light]", "access[heavy]", "bottleneck"]
    assert found.link("access[light]").copies == 5
    assert found.link("bottleneck").capacity_pps == pytest.approx(PPS)
    assert found.incidence.tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 1]]
    with pytest.raises(KeyError, match="nosuch"):
        found.route("nosuch")


def test_forms_and_means() -> None:
    t = tree(form="inverse-decrease")
    assert fluid(ef.Scenario(t)).route("heavy").control == Control.wtp(1, 4)
    t = tree(marked_ack="none")
    assert fluid(ef.Scenario(t)).route("heavy").control == Control.wtp(4, marked_increase=False)
    t = tree(form="general", increase_weight=2, decrease_weight=3)
    del t["groups"]["heavy"]["weight"]
    assert fluid(ef.Scenario(t)).route("heavy").control == Control.wtp(2, 3)
    t = tree()
    t["groups"]["heavy"]["tcp"] = {**WTP, "congestion_control": "multcp"}
    control = fluid(ef.Scenario(t)).route("heavy").control
    assert control == Control.multcp(4)
    assert mean_of({"values": ["1 s", "2 s", "6 s"]}) == 3
    assert mean_of({"normal": ["20 ms", "5 ms"]}) == 20


def test_every_problem_is_said_at_once() -> None:
    t = tree({"kind": "load-based", "action": "drop"})
    t["links"]["bottleneck"]["loss"] = 0.01
    t["groups"]["heavy"]["tcp"] = {"congestion_control": "cubic", "ecn": "classic"}
    t["groups"]["file"] = {
        "users": 1,
        "path": ["bottleneck"],
        "traffic": {"kind": "upload", "size": "1 MB"},
        "tcp": {"stack": "ns3.26"},
    }
    with pytest.raises(ScenarioError) as raised:
        ef.theory(t)
    said = dict(raised.value.errors)
    assert set(said) == {
        "links.bottleneck.queue.action",
        "links.bottleneck.loss",
        "groups.heavy.tcp.congestion_control",
        "groups.file.traffic.kind",
    }
    assert "cubic" in said["groups.heavy.tcp.congestion_control"]
    assert "nearest: newreno" in said["groups.heavy.tcp.congestion_control"]
    assert raised.value.exit_code == 2


def test_queues_that_the_model_has_not() -> None:
    t = tree({"kind": "csfq"})
    with pytest.raises(ScenarioError, match="no marker that the model has"):
        ef.theory(t)
    t = tree({"kind": "load-based", "scheduler": {"kind": "drr", "per": "user", "quantum": "1000 B"}})
    with pytest.raises(ScenarioError, match="first in, first out"):
        ef.theory(t)
    t = tree()
    t["groups"]["light"]["tcp"] = {"ecn": "off"}
    with pytest.raises(ScenarioError, match="do not receive the marks"):
        ef.theory(t)


@pytest.mark.parametrize("target", [1.0, 0.999])
def test_a_marker_that_can_hardly_mark_is_told_and_does_not_hang(target: float) -> None:
    # top = gain (1 - target) is 0, or too low to hold anybody: the link fills
    found = equilibrium(Fluid((route("r", "a", 0.2),), (link("a", LoadBased(target, 0.71)),)))
    assert found.routes["r"].rate_pps is None
    assert found.links["a"].saturated
    assert found.links["a"].why


def test_a_target_of_one_charges_nothing_while_the_window_is_bounded() -> None:
    small = Control.wtp(1, most=25)
    found = equilibrium(Fluid((route("r", "a", 0.2, control=small),), (link("a", LoadBased(1.0, 0.71)),)))
    assert rate(found, "r") == pytest.approx(125)
    assert found.links["a"].price == 0
    assert found.links["a"].utilisation == pytest.approx(0.1)


def test_windows_without_a_round_trip_time_are_refused_with_the_rest() -> None:
    t = tree()
    t["links"]["bottleneck"]["delay"] = "0 s"
    t["groups"]["heavy"]["tcp"] = {"congestion_control": "cubic", "ecn": "classic"}
    with pytest.raises(ScenarioError) as raised:
        ef.theory(t)
    assert set(dict(raised.value.errors)) == {
        "groups.light.path",
        "groups.heavy.path",
        "groups.heavy.tcp.congestion_control",
    }
    t = tree()
    t["links"]["bottleneck"]["delay"] = "0 s"
    for group in t["groups"].values():
        group["processing"] = "10 ms"
    assert fluid(ef.Scenario(t)).route("light").rtt_s == pytest.approx(0.010)


def test_what_the_model_leaves_out_is_said() -> None:
    t = tree()
    assert fluid(ef.Scenario(t)).warnings == ()
    t["links"]["bottleneck"]["queue"]["limit"] = "20 packets"
    t["links"]["bottleneck"]["reverse"] = {"queue": {"kind": "load-based"}}
    t["groups"]["down"] = {**t["groups"]["light"], "path": ["-bottleneck"]}
    limit, forth, back = fluid(ef.Scenario(t)).warnings
    assert limit.startswith("links.bottleneck.queue.limit drops")
    assert forth.startswith("ACKs of down cross bottleneck too")
    assert back.startswith("ACKs of light, heavy cross -bottleneck too")


def test_prediction_and_simulation_agree_on_one_link() -> None:
    scenario = ef.Scenario(tree())
    predicted = ef.theory(scenario)
    found = predicted.compared(ef.run_study(ef.Study([ef.Point({}, scenario)], seeds=(1, 2))))
    for name in ("light", "heavy"):
        assert found.difference(name) == pytest.approx(0, abs=0.03)
        measured = found.simulated_route(name)
        assert measured is not None
        assert measured["window_packets"].mean == pytest.approx(
            float(predicted.corrected.routes[name].window_packets or 0), rel=0.03
        )
    # Whole packets: the ratio of rates is above that of weights, (4/p - 1/2)/(1/p - 1/2) (Siris 2002, section 5.1).
    price = found.price("bottleneck")
    assert price is not None
    assert found.ratio("heavy", "light", "pure") == pytest.approx(4)
    assert found.ratio("heavy", "light") == pytest.approx((4 / price - 0.5) / (1 / price - 0.5), rel=1e-9)
    at_link = found.simulated_link("bottleneck")
    assert at_link is not None
    assert at_link["price"].mean == pytest.approx(price, rel=0.03)
    with pytest.raises(UsageError, match="not of the scenario"):
        ef.theory(tree({"kind": "load-based", "target": 0.7, "gain": 2})).compared(found.table or ef.study(scenario))


def test_stability_of_one_link_is_exact() -> None:
    # a T = kb (p + rho p') = kb alpha (2 rho - rho0) (Siris 2002, section 2, with section 4.3's p).
    found = ef.theory(tree())
    assert found.stability is not None
    load = found.utilisation("bottleneck", "pure")
    assert load is not None
    value = 0.5 * 0.71 * (2 * load - 0.6)
    reading = found.stability.routes[0]
    assert reading.plain.value == pytest.approx(value, rel=1e-6)
    assert reading.averaged is not None
    # Half an interval of 0.5 s for averaging and half for holding, on top of 0.2 s.
    assert reading.averaged.delay_s == pytest.approx(0.7)


def test_a_trajectory_ends_at_the_equilibrium() -> None:
    found = ef.theory(tree())
    followed = found.trajectory(duration_s=60)
    routes, links = found.moving()
    assert (routes, links) == (("light", "heavy"), ("bottleneck",))
    ends = [followed.rates[-1, i] / 5 for i in range(2)]
    assert ends == pytest.approx([found.rate_pps(name, "pure") for name in routes], rel=1e-4)
    assert followed.rates[0] == pytest.approx([25, 25])  # five connections of a packet a round trip
    at = found.trajectory({"light": 100.0, "heavy": 10.0}, 1.0, delays=False)
    assert at.rates[0] == pytest.approx([500, 50])
    assert found.trajectory({"light": 1.0}, 1.0).rates[0] == pytest.approx([5, 25])
    with pytest.raises(UsageError, match="“heavy”"):
        found.trajectory({"hevy": 1.0})
    with pytest.raises(UsageError, match="above 0"):
        found.trajectory(0.0)
    for wrong in (float("nan"), -1.0):
        with pytest.raises(UsageError, match="above 0"):
            found.trajectory(duration_s=wrong)


def test_no_verdict_says_why() -> None:
    found = ef.theory(tree({"kind": "rem"}))
    assert found.stability is None
    assert "memory" in found.no_verdict
    with pytest.raises(UsageError, match="memory"):
        found.trajectory()
    t = tree({"kind": "constant-probability", "probability": 0.15})
    t["groups"]["heavy"]["tcp"] = {**WTP, "congestion_control": "multcp"}
    assert "multcp" in ef.theory(t).no_verdict


# Measured curves.


def test_the_papers_curves_ship() -> None:
    o = Options()
    for name in (wtp.RED, wtp.VQ):
        for rtt12, second in ((200, True), (100, True), (200, False), (100, False)):
            groups = {"one": wtp.Connections(5, wtp.wtp(o)), "both": wtp.Connections(5, wtp.wtp(o, wtp.IPD), 2)}
            if second:
                groups["two"] = wtp.Connections(5, wtp.wtp(o))
            scenario = wtp.two_links(o, wtp.standard(o)[name], groups, rtt12_ms=rtt12)
            found = fluid(scenario, lambda wanted: curves.find(wanted, may_measure=False))
            told = [k.marker.told for k in found.links if k.marker is not None]
            assert len(told) == 2
            assert all((curves.SHIPPED / t["measured"]).is_file() for t in told)
    kept = sorted(curves.SHIPPED.glob("*.json"))
    assert len(kept) == 8
    for path in kept:
        known = curves.load(path)
        assert known.wanted.name == path.stem
        assert (np.diff(known.prices) > 0).all()
        measured = curves.scenario(known.wanted)
        # Never the scenario that is predicted: one link, one group, weight 1.
        assert list(measured.tree["groups"]) == ["windows"]
        assert "weight" not in measured.tree["groups"]["windows"]


@pytest.mark.slow("measures a marking curve")
def test_a_curve_is_measured_once_and_a_damaged_one_refused(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "FLOWS", (2, 8, 32))
    monkeypatch.setattr(curves, "measure", lambda wanted, **more: MEASURE(wanted, flows=(2, 8, 32), **more))
    t = tree({"kind": "virtual-queue", "rate_factor": 0.9})
    with pytest.raises(UsageError, match="was not measured yet"):
        ef.theory(t, measure=False)
    found = ef.theory(t)
    (path,) = (work / "out" / "store" / "curves").glob("*.json")
    assert path.name.startswith("virtual-queue-wtp-10Mbps-200ms-")
    told = found.to_json()["links"]["bottleneck"]["marking"]
    assert told["measured"] == path.name
    assert told["same_engine"]
    assert ef.theory(t, measure=False).rate_bps("light") == found.rate_bps("light")
    # Proportional increase and inverse decrease are one control at weight 1, and share their curve.
    other = tree({"kind": "virtual-queue", "rate_factor": 0.9}, form="inverse-decrease")
    assert ef.theory(other, measure=False).rate_bps("light") == pytest.approx(found.rate_bps("light"))
    document = json.loads(path.read_text())
    document["engine"] = "another"
    path.write_text(json.dumps(document))
    with pytest.raises(EvenflowError, match="hash differs"):
        ef.theory(t, measure=False)
    document.pop("sha256")
    path.write_text(json.dumps({**document, "sha256": curves._sha256(document)}))
    assert any("another engine" in w for w in ef.theory(t, measure=False).warnings)


MEASURE = curves.measure


def test_a_curve_as_a_marker() -> None:
    known = curve([0.02, 0.05, 0.1], [0.7, 0.8, 0.9])
    assert known.load(0.05) == pytest.approx(0.8)
    assert known.price(0.8) == pytest.approx(0.05)
    assert known.price(0.35) == pytest.approx(0.01)  # a straight line from nothing
    assert known.price(0.95) == pytest.approx(0.1)
    for price in (0.01, 0.03, 0.08):
        derivative = (known.area(price + 1e-7) - known.area(price - 1e-7)) / 2e-7
        assert derivative == pytest.approx(float(known.load(price)), rel=1e-5)
    # Through all three points: the least squares slope of 0.02, 0.05, 0.1 over 0.7, 0.8, 0.9 is 0.08/0.2.
    assert known.slope_at(0.05) == pytest.approx(0.4)
    falling = curve([0.02, 0.05, 0.1, 0.2, 0.3], [0.9, 0.6, 0.7, 0.8, 0.9])
    assert falling.branch(0.02)[1].tolist() == [0.02]
    assert math.isnan(falling.slope_at(0.02))
    assert falling.branch(None)[1].tolist() == [0.05, 0.1, 0.2, 0.3]


# The command.


@pytest.fixture
def file(work: Path) -> Path:
    path = work / "ten.toml"
    path.write_text(
        """\
title = "Ten on one link"
duration = "30 s"
warmup = "10 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "100 ms"
queue = { kind = "load-based", target = 0.6, gain = 0.71 }
[groups.light]
users = 5
path = ["bottleneck"]
traffic = { kind = "bulk" }
tcp = { congestion_control = "wtp", ecn = "per-packet", ack_every = 1 }
[groups.heavy]
users = 5
weight = 4
path = ["bottleneck"]
traffic = { kind = "bulk" }
tcp = { congestion_control = "wtp", ecn = "per-packet", ack_every = 1 }
"""
    )
    return path


def test_the_document(cli: Cli, file: Path, work: Path) -> None:
    done = cli("theory", file, "--replications", 2, "--json", "--out", "found")
    assert done.code == 0
    document = json.loads(done.out)
    assert document["scenario_hash"] == ef.load(file).hash
    assert document["seeds"] == [1, 2]
    light = document["routes"]["light"]
    assert (light["flows"], light["weight"], light["rtt_s"]) == (5, 1, 0.2)
    for column in ("pure", "corrected"):
        assert set(light[column]) == {"rate_bps", "rate_pps", "window_packets", "price"}
        assert light[column]["rate_bps"] == pytest.approx(light[column]["rate_pps"] * 8 * 1500)
    assert light["simulated"]["rate_bps"]["n"] == 2
    assert light["difference"]["corrected"] == pytest.approx(
        light["corrected"]["rate_bps"] / light["simulated"]["rate_bps"]["mean"] - 1
    )
    bottleneck = document["links"]["bottleneck"]
    assert bottleneck["marking"]["kind"] == "load-based"
    assert not bottleneck["pure"]["saturated"]
    assert bottleneck["corrected"]["queue_delay_s"] is None
    assert document["stability"]["verdict"] in ("decays without oscillation", "decays")
    assert document["warnings"] == []
    assert {p.name for p in (work / "found").iterdir()} == {
        "theory.svg", "theory.json", "trajectory.csv", "trajectory.svg"
    }  # fmt: skip
    rows = (work / "found" / "trajectory.csv").read_text().splitlines()
    assert rows[0] == "time_s,light (packets/s),heavy (packets/s),bottleneck (price)"
    assert float(rows[-1].split(",")[0]) == pytest.approx(60)
    assert json.loads((work / "found" / "theory.json").read_text()) == document


def test_the_screen(cli: Cli, file: Path) -> None:
    done = cli("theory", file, "--seed", 3)
    assert done.code == 0
    for word in ("seed 3,", "light", "heavy", "corrected deviation", "closed form", "Stability: decays", "bottleneck"):
        assert word in done.out
    done = cli("theory", file, "--no-run", "--set", "groups.heavy.weight=12")
    assert done.code == 0
    assert "saturated" in done.out
    assert "No prediction" in done.out
    assert "not simulated" in done.out


def test_bad_usage(cli: Cli, file: Path) -> None:
    done = cli(
        "theory", file, "--set", "groups.heavy.tcp.congestion_control=cubic", "--set", "links.bottleneck.loss=0.1"
    )
    assert done.code == 2
    assert "2 errors" in done.err
    assert "groups.heavy.tcp.congestion_control" in done.err
    assert "links.bottleneck.loss" in done.err
    done = cli("theory", file, "--no-run", "--seed", 2)
    assert done.code == 2
    assert "--no-run" in done.err


def test_a_figure_shows_both_columns_and_the_interval(file: Path) -> None:
    scenario = ef.load(file)
    found = ef.theory(scenario)
    assert found.simulated_route("light") is None
    made = found.figure(ef.run_study(ef.Study([ef.Point({}, scenario)], seeds=(1, 2, 3))))
    rates = made.axes[0]
    assert len(rates.patches) == 2 * 3
    assert len(rates.collections) >= 2  # intervals
    alone = found.figure()
    assert len(alone.axes[0].patches) == 2 * 2


def test_a_falling_curve_has_no_trajectory() -> None:
    o = Options()
    scenario = wtp.single_link(o, wtp.red(o), wtp.pair(o, "A", 2, wtp.wtp(o)))
    found = ef.theory(scenario, measure=False)
    assert "falls" in found.no_verdict
    assert any("the only one found" in w for w in found.warnings)
    with pytest.raises(UsageError, match="falls"):
        found.trajectory()
    steady = ef.theory(wtp.single_link(o, wtp.virtual_queue(o), wtp.pair(o, "A", 4, wtp.wtp(o))), measure=False)
    assert steady.stability is not None
    followed = steady.trajectory(duration_s=100).rates[-1]
    routes, _ = steady.moving()
    for index, name in enumerate(routes):
        assert followed[index] / 5 == pytest.approx(steady.rate_pps(name, "pure") or 0, rel=0.02)


def test_the_package_and_the_function_share_a_name() -> None:
    from evenflow.theory import Prediction

    assert callable(ef.theory)
    assert ef.Prediction is Prediction


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--start", "light"], "write GROUP=RATE"),
        (["--start", "light=fast"], "packets/s"),
        (["--start", "light=1", "--start", "light=2"], "given twice"),
        (["--start", "hevy=1"], "“heavy”"),
        (["--for", "0"], "above 0"),
        (["--for", "nan"], "above 0"),
        (["--for", "1e9"], "too long"),
    ],
)
def test_a_bad_start_is_refused(cli: Cli, file: Path, work: Path, more: list[str], said: str) -> None:
    done = cli("theory", file, "--no-run", "--out", work / "found", *more)
    assert done.code == 2
    assert said in done.err


def test_a_start_is_taken(cli: Cli, file: Path, work: Path) -> None:
    done = cli("theory", file, "--no-run", "--out", "found", "--start", "light=100", "--for", "10")
    assert done.code == 0, done.err
    rows = (work / "found" / "trajectory.csv").read_text().splitlines()
    assert [float(x) for x in rows[1].split(",")[1:3]] == pytest.approx([100, 5])
    assert float(rows[-1].split(",")[0]) == pytest.approx(10)


def test_a_marker_that_never_marks_has_no_curve_and_says_so(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "FLOWS", (1, 2))
    monkeypatch.setattr(curves, "SEEDS", 1)
    monkeypatch.setattr(curves, "DURATION", "10 s")
    monkeypatch.setattr(curves, "WARMUP", "2 s")
    far = {
        "kind": "red",
        "min_threshold": "5000 packets",
        "max_threshold": "15000 packets",
        "action": "mark-everything",
    }
    wanted = fluid_wanted(far)
    with pytest.raises(UsageError, match=r"red .* marked no packet\. .* 1 to 2 connections") as raised:
        curves.measure(wanted, flows=(1, 2))
    assert raised.value.exit_code == 2


def fluid_wanted(queue: Mapping[str, Any]) -> markers.Wanted:
    """What curve a scenario with this queue asks for."""
    asked: list[markers.Wanted] = []

    def note(wanted: markers.Wanted) -> markers.Marker:
        asked.append(wanted)
        return LoadBased(0.6, 0.71)

    fluid(ef.Scenario(tree(dict(queue))), note)
    return asked[0]
