"""Claims c49 to c63 and c82 to c91: figures 8 to 10, sections 5.2 and 5.4."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, Spot, chosen_by_others, short, span
from evenflow.record import PROVENANCE
from evenflow.study import Run

from .. import measures
from ..choices import Options
from ..claims import claims
from ..network import IPD, LB, PI, RED, RTT_MS, VQ
from .loads import LoadCurve, each, load_curve, mixes
from .measures import (
    EQUAL_LOAD,
    arrival_variance,
    backlog,
    period_s,
    periods_per_s,
    queue_fluctuation,
    step_responses,
    window_fluctuation,
)
from .runs import DEAF, PERIOD_BUFFERS, USUAL

STEEP = 0.85
"""Utilisation above which RED's curve is said to be very steep (section 5.2)."""
LOW, HIGH = 0.82, 0.87
"""Below and above which RED's slopes are compared (c51, c62)."""
P_SMALL, P_LARGE = 0.06, 0.30
P_GRID = (P_SMALL, 0.10, 0.15, 0.20, 0.25, P_LARGE)
"""Marking probabilities at which utilisations are compared (c55, c56)."""
P_LB = (P_SMALL, 0.10, 0.15, 0.20, 0.25)
"""Those that a load-based marker with ρ0 = 0.6 and α = 0.71 reaches by its law: at most 0.284 (c57)."""
RHO_LOW = (0.70, 0.75, 0.79)
"""Utilisations below 0.80 (c52)."""
RHO_ALIKE = (0.75, 0.78, 0.81, 0.84, 0.87, 0.90, 0.93)
"""From 0.75 to 0.93 (c60)."""
RHO_RTT = (0.80, 0.85)
ONES = "weight 1"
"""Where all connections have weight 1, PI and IPD are one control."""
LEFT_OUT = (*PROVENANCE, "scenario_hash", "record_hash")
"""What names a run instead of telling what it found (c89)."""


def _lab(data: Data, name: str) -> Lab:
    return Lab(data[f"wtp-{name}"])


def _said(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _of_mixes(o: Options) -> list[tuple[str, Any]]:
    """Each mix of the option, and words that tell it from the other ("" where there is only one)."""
    return [("" if len(mix.weights) > 1 else f"weight {mix.words}", mix) for mix in mixes(o)]


def _steps(accept: Accept, name: str, label: str, grid: Sequence[float], curve: Floats, of: str) -> list[Check]:
    """Each step along a grid, paired by seed."""
    return [
        accept(name, _said(label, f"{of} {a:g} → {b:g}"), high - low)
        for (a, low), (b, high) in pairwise(zip(grid, curve, strict=True))
    ]


# --- Figure 8 -------------------------------------------------------------------------------------------------------


@claims.measure("c49")
def _vq_linear(data: Data, accept: Accept, o: Options) -> list[Check]:
    curves = each(o, _lab(data, "fig08"), marker=VQ, form=PI)
    return [accept("r2", _said(VQ, words), c.unsaturated.line().r2) for words, c in curves]


@claims.measure("c50")
def _lb_linear(data: Data, accept: Accept, o: Options) -> list[Check]:
    checks = []
    for words, curve in each(o, _lab(data, "fig08"), marker=LB, form=PI):
        line = curve.unsaturated.line()
        checks += [
            accept("slope", _said(words, "slope"), line.slope),
            accept("foot", _said(words, "ρ where p = 0"), line.foot),
        ]
    return checks


def _slope(curve: LoadCurve, lo: float = 0.0, hi: float = 1.0) -> Floats:
    return curve.between(lo, hi).line().slope


def _convex(accept: Accept, data: Data, o: Options, experiment: str, **labels: Any) -> list[Check]:
    checks = []
    for words, curve in each(o, _lab(data, experiment), **labels):
        branch = curve.branch
        steeper = _slope(branch, lo=HIGH) - _slope(branch, hi=LOW)
        checks += [
            accept("curvature", _said(words, "quadratic coefficient"), branch.curvature()),
            accept("steeper", _said(words, f"slope above {HIGH:g} − slope below {LOW:g}"), steeper),
        ]
    return checks


@claims.measure("c51")
def _red_convex(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _convex(accept, data, o, "fig08", marker=RED, form=PI)


@claims.measure("c52")
def _alike_below(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _lab(data, "fig08")
    checks = []
    others = {name: dict(each(o, lab, marker=name, form=PI)) for name in (VQ, LB)}
    for words, red in each(o, lab, marker=RED, form=PI):
        least = chosen_by_others(red.rho, range(len(red.rho)), lowest=True)
        checks.append(accept("reach", _said(words, "RED's least utilisation"), least))
        for name, curves in others.items():
            checks += [
                accept(
                    "difference",
                    _said(words, f"p of RED − p of {name} at ρ = {rho:g}"),
                    red.branch.p_at(rho) - curves[words].unsaturated.p_at(rho),
                )
                for rho in RHO_LOW
            ]
    return checks


@claims.measure("c53")
def _steep_above(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _lab(data, "fig08")
    lb = dict(each(o, lab, marker=LB, form=PI))
    return [
        accept("ratio", words, _slope(red.branch, lo=STEEP) / lb[words].unsaturated.line().slope)
        for words, red in each(o, lab, marker=RED, form=PI)
    ]


def _spots(lab: Lab, o: Options, **labels: Any) -> list[tuple[str, Spot]]:
    return [(words, lab.at(weights=mix.words, **labels)) for words, mix in _of_mixes(o)]


@claims.measure("c54")
def _oscillates(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _lab(data, "x-bursts")
    checks = []
    reds = _spots(lab, o, marker=RED, form=PI, load=EQUAL_LOAD[RED])
    for other in (VQ, LB):
        spots = _spots(lab, o, marker=other, form=PI, load=EQUAL_LOAD[other])
        for (words, red), (_, spot) in zip(reds, spots, strict=True):
            checks += [
                accept("difference", _said(words, f"{what}, RED − {other}"), red.of(measure) - spot.of(measure))
                for what, measure in (("queue", queue_fluctuation), ("sum of windows", window_fluctuation))
            ]
    return checks


def _gain_of_ipd(
    accept: Accept, name: str, data: Data, o: Options, marker: str, grid: Sequence[float] = P_GRID
) -> list[Check]:
    lab = _lab(data, "fig08")
    ipd = dict(each(o, lab, marker=marker, form=IPD))
    return [
        accept(
            name,
            _said(marker, words, f"ρ of IPD − ρ of PI at p = {p:g}"),
            _part(ipd[words], marker).rho_at(p) - _part(pi, marker).rho_at(p),
        )
        for words, pi in each(o, lab, marker=marker, form=PI)
        for p in grid
        if words != ONES
    ]


def _part(curve: LoadCurve, marker: str) -> LoadCurve:
    return curve.branch if marker == RED else curve.unsaturated


@claims.measure("c55")
def _vq_gains(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _gain_of_ipd(accept, "gain", data, o, VQ)


@claims.measure("c56")
def _red_gains(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _gain_of_ipd(accept, "gain", data, o, RED)


@claims.measure("c57")
def _lb_same(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _gain_of_ipd(accept, "gain", data, o, LB, P_LB)


@claims.measure("c63")
def _depends(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        *_gain_of_ipd(accept, "vq", data, o, VQ),
        *_gain_of_ipd(accept, "red", data, o, RED),
        *_gain_of_ipd(accept, "lb", data, o, LB, P_LB),
    ]


@claims.measure("c58")
def _smoother(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab, variance = _lab(data, "x-bursts"), arrival_variance(o)
    return [
        accept("difference", _said(words, f"N = {n:g}"), ipd.of(variance) - pi.of(variance))
        for n in lab.grid("load", marker=VQ, form=IPD)
        for (words, pi), (_, ipd) in zip(
            _spots(lab, o, marker=VQ, form=PI, load=n), _spots(lab, o, marker=VQ, form=IPD, load=n), strict=True
        )
        if words != ONES
    ]


# --- Section 5.2: round trips; Figure 9 -----------------------------------------------------------------------------


def _rtt_steps(data: Data, o: Options, marker: str) -> list[tuple[str, LoadCurve, LoadCurve]]:
    """Neighbouring round trips: words, the shorter's curve, the longer's."""
    lab = _lab(data, "x-rtt")
    rtts = lab.grid("rtt_ms", marker=marker)
    at = {
        (words, rtt): _part(curve, marker) for rtt in rtts for words, curve in each(o, lab, marker=marker, rtt_ms=rtt)
    }
    return [
        (_said(marker, words, f"{a:g} → {b:g} ms"), at[words, a], at[words, b])
        for words, _ in _of_mixes(o)
        for a, b in pairwise(rtts)
    ]


@claims.measure("c59")
def _rtt_higher(data: Data, accept: Accept, o: Options) -> list[Check]:
    checks = [
        accept("ratio", f"{words}: p over p at ρ = {rho:g}", longer.p_at(rho) / shorter.p_at(rho))
        for marker in (VQ, RED)
        for words, shorter, longer in _rtt_steps(data, o, marker)
        for rho in RHO_RTT
    ]
    return checks + [
        accept("flat", f"{words}: change of p at ρ = {rho:g}", longer.p_at(rho) - shorter.p_at(rho))
        for words, shorter, longer in _rtt_steps(data, o, LB)
        for rho in RHO_RTT
    ]


@claims.measure("c60")
def _coincide(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _lab(data, "fig09")
    curves = {name: dict(each(o, lab, marker=name)) for name in (RED, VQ, LB)}
    return [
        accept(
            "ratio",
            _said(words, f"{a} over {b} at ρ = {rho:g}"),
            _part(curves[a][words], a).p_at(rho) / _part(curves[b][words], b).p_at(rho),
        )
        for a, b in combinations((RED, VQ, LB), 2)
        for words in curves[a]
        for rho in RHO_ALIKE
    ]


@claims.measure("c61")
def _red_linear(data: Data, accept: Accept, o: Options) -> list[Check]:
    curves = each(o, _lab(data, "x-red"), max_p=0.95)
    return [accept("r2", words, curve.branch.line().r2) for words, curve in curves]


@claims.measure("c62")
def _red_convex_otherwise(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _convex(accept, data, o, "x-red", max_p=0.1)


# --- Figure 10, section 5.4 -----------------------------------------------------------------------------------------


def _theta_curves(data: Data, o: Options) -> list[tuple[str, list[float], list[LoadCurve]]]:
    lab = _lab(data, "fig10")
    thetas = lab.grid("theta", buffer=30.0)
    return [
        (words, thetas, [load_curve(lab, mix, theta=theta, buffer=30.0).unsaturated for theta in thetas])
        for words, mix in _of_mixes(o)
    ]


@claims.measure("c82")
def _theta_to_the_right(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        check
        for words, thetas, curves in _theta_curves(data, o)
        for p in (0.1, 0.2, 0.3)
        for check in _steps(
            accept, "step", _said(words, f"p = {p:g}"), thetas, np.array([c.rho_at(p) for c in curves]), "θ ="
        )
    ]


@claims.measure("c83")
def _theta_lower(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        check
        for words, thetas, curves in _theta_curves(data, o)
        for rho in (0.80, 0.85, 0.90)
        for check in _steps(
            accept, "step", _said(words, f"ρ = {rho:g}"), thetas, np.array([c.p_at(rho) for c in curves]), "θ ="
        )
    ]


@claims.measure("c84")
def _theta_slopes(data: Data, accept: Accept, o: Options) -> list[Check]:
    checks = []
    for words, thetas, curves in _theta_curves(data, o):
        slopes = {theta: curve.line().slope for theta, curve in zip(thetas, curves, strict=True)}
        checks += [
            accept("ratio", _said(words, f"θ = {theta:g} over 0.95"), slopes[theta] / slopes[0.95])
            for theta in (0.85, 0.90)
        ]
    return checks


def _buffer_curves(data: Data, o: Options) -> list[tuple[str, list[float], list[LoadCurve]]]:
    lab = _lab(data, "fig10")
    buffers = lab.grid("buffer", theta=0.95)
    return [
        (words, buffers, [load_curve(lab, mix, theta=0.95, buffer=b).unsaturated for b in buffers])
        for words, mix in _of_mixes(o)
    ]


@claims.measure("c85")
def _steeper_with_buffer(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        check
        for words, buffers, curves in _buffer_curves(data, o)
        for check in _steps(accept, "step", words, buffers, np.array([c.line().slope for c in curves]), "B =")
    ]


def _buffers_at(accept: Accept, data: Data, o: Options, grid: Sequence[float], more: float, less: float) -> list[Check]:
    """p with one buffer less p with another."""
    return [
        accept("difference", _said(words, f"ρ = {rho:g}"), at[more].p_at(rho) - at[less].p_at(rho))
        for words, buffers, curves in _buffer_curves(data, o)
        for at in [dict(zip(buffers, curves, strict=True))]
        for rho in grid
    ]


@claims.measure("c86")
def _small_buffer_marks_more(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _buffers_at(accept, data, o, (0.75, 0.80), 10.0, 100.0)


@claims.measure("c87")
def _large_buffer_marks_more(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _buffers_at(accept, data, o, (0.93, 0.95), 100.0, 10.0)


@claims.measure("c88")
def _mechanism(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _lab(data, "x-periods")
    checks = []
    for words, mix in _of_mixes(o):
        for n in lab.grid("load", weights=mix.words):
            buffers, often = lab.curve("buffer", periods_per_s, weights=mix.words, load=n)
            _, long = lab.curve("buffer", period_s, weights=mix.words, load=n)
            checks += _steps(accept, "often", _said(words, f"N = {n:g}, periods per second"), buffers, often, "B =")
            checks += _steps(accept, "long", _said(words, f"N = {n:g}, length of a period"), buffers, long, "B =")
    return checks


def _numbers(run: Run) -> dict[str, Any]:
    """All that a run found, without what names the scenario or says how the record came about."""
    return {name: value for name, value in run.json.items() if name not in LEFT_OUT}


@claims.measure("c89")
def _same_runs(data: Data, accept: Accept) -> list[Check]:
    lab = _lab(data, "x-factors")
    checks = []
    for buffer in lab.grid("buffer"):
        one, two = (lab.runs(buffer=buffer, how=how) for how in ("one factor", "two factors"))
        differ = sum(_numbers(a) != _numbers(b) for a, b in zip(one, two, strict=True))
        checks.append(accept("differ", f"B = {buffer:g}", float(differ)))
    return checks


def _settings(lab: Lab) -> list[tuple[float, float]]:
    return list(
        dict.fromkeys(
            (float(labels["alpha"]), float(labels["rho0"]))
            for labels, _ in lab.points()
            if labels["panel"] == "curve" and labels["t_avg"] == 0.5
        )
    )


@claims.measure("c90")
def _lb_slopes(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _lab(data, "x-lb")
    checks = []
    for alpha, rho0 in _settings(lab):
        checks += [
            accept(
                "slope",
                _said(f"α = {alpha:g}, ρ0 = {rho0:g}", words, "slope over α"),
                curve.unsaturated.line().slope / alpha,
            )
            for words, curve in each(o, lab, panel="curve", alpha=alpha, rho0=rho0, t_avg=0.5)
        ]
    rho0s = sorted(rho0 for alpha, rho0 in _settings(lab) if alpha == 0.71)
    for words, mix in _of_mixes(o):
        curves = [load_curve(lab, mix, panel="curve", alpha=0.71, rho0=rho0, t_avg=0.5).unsaturated for rho0 in rho0s]
        at = np.array([curve.rho_at(0.1) for curve in curves])
        checks += _steps(accept, "shift", _said(words, "ρ at p = 0.1"), rho0s, at, "ρ0 =")
    return checks


@claims.measure("c91")
def _load_steps(data: Data, accept: Accept) -> list[Check]:
    lab = _lab(data, "x-lb")
    intervals, most = lab.curve("t_avg", backlog, panel="step")
    response = np.array([step_responses(lab, interval) for interval in intervals])
    return [
        *_steps(accept, "response", "response", intervals, response, "t_avg ="),
        *_steps(accept, "backlog", "longest queue", intervals, most, "t_avg ="),
    ]


# --- What was found where a claim fails or is open ------------------------------------------------------------------


def _usual(o: Options, lab: Lab, **labels: Any) -> LoadCurve:
    """The curve of the first mix."""
    return load_curve(lab, mixes(o)[0], **labels)


@claims.note("c49")
def _linear_note(data: Data, judgement: Judgement, o: Options) -> str:
    curve = _usual(o, _lab(data, "fig08"), marker=VQ, form=PI).unsaturated
    said = [
        f"{short(part.line().r2)} up to N = {part.weights[-1]:g}"
        for most in (1.0, 0.5, 0.4)
        for part in [curve.up_to(most)]
        if len(part.weights) > 2
    ]
    return (
        f"The curve bends upwards: R² is {', '.join(dict.fromkeys(said))}. With more connections the mean window of "
        "one of "
        "weight 1 is two packets or less. The paper does not say which loads its figure has."
    )


@claims.note("c51", "c62")
def _branch_note(data: Data, judgement: Judgement, o: Options) -> str:
    said = []
    for name, labels in (("fig08", {"marker": RED, "form": PI}), ("x-red", {"max_p": 0.1})):
        if f"wtp-{name}" in data:
            branch = _usual(o, _lab(data, name), **labels).branch
            said.append(
                f"In wtp-{name} RED's branch begins at ρ = {short(branch.rho.min(axis=0))}; its quadratic coefficient "
                "is "
                f"{short(branch.curvature())}, its slope above {HIGH:g} {short(_slope(branch, lo=HIGH))} and below it "
                f"{short(_slope(branch, hi=HIGH))}."
            )
    return " ".join([*said, f"It has no slope below {LOW:g} (see c52)."])


@claims.note("c52")
def _low_note(data: Data, judgement: Judgement, o: Options) -> str:
    red = _usual(o, _lab(data, "fig08"), marker=RED, form=PI)
    said = [
        f"RED's least mean utilisation is {short(float(red.rho.mean(axis=1).min()))}. Connections that always have "
        "data and "
        "need few marks keep the link busy until packets wait, and only then does RED mark: with few connections the "
        f"curve folds back to ρ = {short(red.rho[0])}, p = {short(red.p[0])} at N = {red.weights[0]:g}."
    ]
    if "wtp-x-low-load" in data:
        lab = _lab(data, "x-low-load")
        ways = [str(how) for how in dict.fromkeys(labels["how"] for labels, _ in lab.points())]
        rows = []
        for how in ways:
            if how not in (USUAL, DEAF):
                curve = _usual(o, lab, how=how, marker=RED)
                marked = curve.rho.mean(axis=1)[curve.p.mean(axis=1) > 1e-4]
                rows.append(f"{how} {short(float(marked.min())) if marked.size else 'none'}")
        said.append(
            "One thing done otherwise at a time (wtp-x-low-load), the least utilisation at which anything is marked "
            "is: "
            f"{', '.join(rows)}."
        )
        deaf = []
        for marker in (RED, VQ, LB):
            offered, p = lab.curve("n", measures.probability, how=DEAF, marker=marker)
            at = [
                f"{short(row)} at {n / 100:g}" for n, row in zip(offered, p, strict=True) if n in (75, 80, 85, 90, 95)
            ]
            deaf.append(f"{marker} {', '.join(at)}")
        said.append(
            f"Under Poisson traffic that does not answer to marks p is, by utilisation: {'; '.join(deaf)}: RED's "
            "curve is "
            "convex and reaches low utilisations, as published. The published curve is that of traffic much more "
            "random "
            "than a few self-clocked connections."
        )
    return " ".join(said)


@claims.note("c56", "c63")
def _reached_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = _lab(data, "fig08")
    least = [short(_usual(o, lab, marker=RED, form=form).branch.p.min(axis=0)) for form in (PI, IPD)]
    open_ones = sum(np.isnan(outcome.interval.mean) for outcome in judgement.outcomes)
    return (
        f"RED's branches from eight connections on begin at p = {least[0]} (PI) and {least[1]} (IPD), so that "
        f"{open_ones} "
        "of the comparisons do not exist."
    )


@claims.note("c59")
def _rtt_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = _lab(data, "x-rtt")
    least = [
        f"{short(_usual(o, lab, marker=RED, rtt_ms=rtt).branch.rho.min(axis=0))} with {rtt:g} ms"
        for rtt in lab.grid("rtt_ms", marker=RED)
    ]
    shifts = []
    for marker, grid in ((VQ, (0.10, 0.15, 0.20)), (RED, (0.20, 0.25, P_LARGE))):
        moved = [
            float(np.nanmean(longer.rho_at(p) - shorter.rho_at(p)))
            for _, shorter, longer in _rtt_steps(data, o, marker)
            for p in grid
            if not np.isnan(longer.rho_at(p) - shorter.rho_at(p)).all()
        ]
        shifts.append(f"{marker} {span(moved)}")
    return (
        f"RED's rising branch begins at ρ = {', '.join(least)}. At equal p the utilisation changes with each doubling "
        "of the "
        f"round trip by {'; '.join(shifts)}: the direction is the paper's, and it is not slight."
    )


@claims.note("c60")
def _alike_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = _lab(data, "fig09")
    curves = {name: _part(_usual(o, lab, marker=name), name) for name in (RED, VQ, LB)}
    rows = [
        f"{short(rho)}: " + ", ".join(f"{name} {short(curve.p_at(rho))}" for name, curve in curves.items())
        for rho in (0.81, 0.84, 0.90, 0.93)
    ]
    return (
        f"RED has no point below ρ = {short(curves[RED].rho.min(axis=0))} (see c52). p at ρ = {'; '.join(rows)}. "
        "Load-based "
        "marking with α = 2 lies above its own law α(ρ − ρ0): its load swings, and where it falls below ρ0 no "
        "probability "
        "is below zero."
    )


@claims.note("c83")
def _theta_note(data: Data, judgement: Judgement) -> str:
    there = [o for o in judgement.outcomes if not np.isnan(o.interval.mean)]
    as_stated = sum(o.interval.hi <= 0 for o in there)
    return (
        f"{len(judgement.outcomes) - len(there)} of {len(judgement.outcomes)} comparisons do not exist, as small θ "
        "does not "
        f"reach the larger utilisations and θ = 1 not the least; of the others {as_stated} are as stated."
    )


@claims.note("c84")
def _slopes_note(data: Data, judgement: Judgement, o: Options) -> str:
    rows = [
        ", ".join(f"{short(curve.line().slope)} at θ = {theta:g}" for theta, curve in zip(thetas, curves, strict=True))
        for _, thetas, curves in _theta_curves(data, o)
    ]
    return (
        f"Slopes: {'; '.join(rows)}. A line's slope depends on where the curve ends: the loads are the same, not the ρ."
    )


@claims.note("c85", "c86", "c87")
def _buffer_note(data: Data, judgement: Judgement, o: Options) -> str:
    said = []
    if "wtp-x-periods" in data:
        lab = _lab(data, "x-periods")
        mix = mixes(o)[0].words
        rows = [
            f"{span([float(np.nanmean(row)) for row in long])} s at B = {b:g}"
            for b in lab.grid("buffer", weights=mix)
            for _, long in [lab.curve("load", period_s, weights=mix, buffer=b)]
        ]
        said.append(
            "The cause is the length of a marking period against the round trip. Periods last "
            f"{', '.join(rows)} (wtp-x-periods), beside a round trip of {RTT_MS / 1e3:g} s: a period that is longer "
            "marks "
            "every packet of every window and, with κ̄ = 0.5, takes away half of all windows; the link then idles, "
            "and a "
            "mean p belongs to a lower mean ρ."
        )
    if "wtp-x-buffer" in data:
        lab = _lab(data, "x-buffer")
        rows = []
        for how in dict.fromkeys(str(labels["how"]) for labels, _ in lab.points()):
            if how == DEAF:
                at = [lab.curve("n", measures.probability, how=how, buffer=float(b)) for b in PERIOD_BUFFERS]
                p = {n: [short(values[grid.index(n)]) for grid, values in at] for n in (80.0, 95.0, 97.0)}
                rows.append(f"Poisson: p {', '.join(f'at {n / 100:g} ' + ' / '.join(v) for n, v in p.items())}")
                continue
            curves = [_usual(o, lab, how=how, buffer=float(b)).unsaturated for b in PERIOD_BUFFERS]
            slopes = " / ".join(short(curve.line().slope) for curve in curves)
            ends = [f"{short(curves[0].p_at(rho))} / {short(curves[-1].p_at(rho))} at {rho:g}" for rho in (0.75, 0.93)]
            rows.append(f"{how}: slopes {slopes}, p with B = 10 / 100 {', '.join(ends)}")
        said.append(f"Otherwise (wtp-x-buffer, B = 10 / 30 / 100): {'. '.join(rows)}.")
    return " ".join(said)


@claims.note("c91")
def _step_note(data: Data, judgement: Judgement) -> str:
    lab = _lab(data, "x-lb")
    intervals, most = lab.curve("t_avg", backlog, panel="step")
    response = [short(step_responses(lab, interval)) for interval in intervals]
    still = [
        f"{short(lab.at(panel='no step', t_avg=t).of(partial(measures.delay_ms, 'max')))} ms with {t:g} s"
        for t in intervals
    ]
    return (
        f"Along t_avg = {', '.join(f'{t:g}' for t in intervals)} s the response takes {', '.join(response)} s, and the "
        f"longest queue after the step is {', '.join(short(row) for row in most)} packets. A tenth of a second holds "
        "few "
        f"packets, so that the probability swings by itself: without any step the longest wait is {', '.join(still)}."
    )
