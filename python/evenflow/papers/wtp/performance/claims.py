"""Claims c64 to c81, c92 to c99 and c106: Table 2 and Fig. 11."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from evenflow import kit
from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.lab import Floats, Lab, select, short, span
from evenflow.stats import ratio_of_means

from .. import measures
from .. import network as net
from ..choices import Options
from ..claims import claims
from ..sharing import measures as sharing
from . import measures as perf

NEIGHBOURS = 2
"""Points of the scan to either side of a row's N over which its local slope is taken."""


# --- Table 2 --------------------------------------------------------------------------------------------------------


def _tab02(data: Data) -> Lab:
    return Lab(data["wtp-tab02"])


def _of(data: Data, mix: str, row: str, what: str) -> Floats:
    """A column of Table 2 in every run of a row, ms, shape (seeds,)."""
    lab = _tab02(data)
    n = perf.operating_point(lab, marker=row, mix=mix)
    return lab.at(marker=row, mix=mix, n=n).of(partial(measures.delay_ms, what))


def _place(o: Options, lab: Lab, row: str, mix: str) -> str:
    """Where a row is read: "N = 24, ρ = 0.901", and a word if that is not 0.90."""
    n = perf.operating_point(lab, marker=row, mix=mix)
    rho = float(lab.at(marker=row, mix=mix, n=n).of(measures.utilisation).mean())
    words = f"N = {n}, ρ = {rho:.3f}"
    if len(perf.mixes(o)) > 1:
        words = f"{mix}, {words}"
    if abs(rho - perf.TARGET) > perf.NEAR:
        words += ", the least it reaches" if rho > perf.TARGET else ", the nearest to 0.90 of the scan"
    return words


def _cell(row: str, column: int) -> None:
    """Measure and note of one cell of Table 2."""
    name, (what, _) = f"c{64 + 3 * perf.ROWS.index(row) + column}", perf.DELAYS[column]

    @claims.measure(name)
    def measured(data: Data, accept: Accept, o: Options) -> list[Check]:
        lab = _tab02(data)
        return [accept("cell", _place(o, lab, row, mix), _of(data, mix, row, what)) for mix in perf.mixes(o)]

    @claims.note(name)
    def noted(data: Data, judgement: Judgement, o: Options) -> str:
        return _cell_note(data, o, row, column)


for _row in perf.ROWS:
    for _column in range(len(perf.DELAYS)):
        _cell(_row, _column)


def _cell_note(data: Data, o: Options, row: str, column: int) -> str:
    lab, (what, _) = _tab02(data), perf.DELAYS[column]
    mix = perf.mixes(o)[0]
    spot = lab.at(marker=row, mix=mix, n=perf.operating_point(lab, marker=row, mix=mix))
    paper = perf.PAPER[row][column]
    _, scan = lab.curve("n", partial(measures.delay_ms, what), marker=row, mix=mix)
    over = paper / float(np.nanmean(_of(data, mix, row, what)))
    said = [
        f"The paper's {paper:g} ms over what is measured: {short(over)}. Over "
        f"all numbers of connections it is {span([float(np.nanmean(values)) for values in scan])} ms."
    ]
    if what == "mean":
        said.append(f"With the packet's own transmission {short(spot.of(perf.delay_with_service('mean', o)))} ms.")
    if what == "max":
        said.append(f"The longest wait of all runs together is {short(float(_of(data, mix, row, what).max()))} ms.")
    if row == perf.RED_5 and "wtp-x-load" in data:
        said.append(_otherwise(Lab(data["wtp-x-load"]), what))
    return " ".join(said)


def _otherwise(lab: Lab, what: str) -> str:
    """Row 1 with one thing done otherwise, each at its own N for 0.90."""
    rows = []
    for variant in perf.VARIANTS:
        n = perf.operating_point(lab, variant=variant, marker=perf.RED_5)
        spot = lab.at(variant=variant, marker=perf.RED_5, n=n)
        rho = spot.of(measures.utilisation)
        rows.append(f"{variant} {short(spot.of(partial(measures.delay_ms, what)))} (ρ = {short(rho)})")
    return f"One thing done otherwise at a time (wtp-x-load), ms: {', '.join(rows)}."


def _less(
    accept: Accept, name: str, o: Options, data: Data, what: str, pairs: Sequence[tuple[str, str]]
) -> list[Check]:
    """The first row's delay less the second's; both at the same seeds."""
    return [
        accept(name, f"{_short(mix, o)}{below} − {above}", _of(data, mix, below, what) - _of(data, mix, above, what))
        for mix in perf.mixes(o)
        for below, above in pairs
    ]


def _short(mix: str, o: Options) -> str:
    return f"{mix}: " if len(perf.mixes(o)) > 1 else ""


PROBABILISTIC = ((perf.RED_3, perf.VQ), (perf.LB, perf.VQ))


@claims.measure("c76")
def _shorter_than_vq(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _less(accept, "difference", o, data, "mean", PROBABILISTIC)


@claims.measure("c77")
def _steadier_than_vq(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _less(accept, "difference", o, data, "sd", PROBABILISTIC)


@claims.measure("c78")
def _maxima(data: Data, accept: Accept, o: Options) -> list[Check]:
    return _less(accept, "red", o, data, "max", [(perf.RED_3, perf.LB)]) + [
        accept(
            "ratio",
            f"{_short(mix, o)}{perf.LB} / {perf.VQ}",
            _of(data, mix, perf.LB, "max") / _of(data, mix, perf.VQ, "max"),
        )
        for mix in perf.mixes(o)
    ]


@claims.measure("c79")
def _averages(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        check
        for mix in perf.mixes(o)
        for check in kit.order(
            accept,
            "step",
            [
                (f"{_short(mix, o)}{row}", _of(data, mix, row, "mean"))
                for row in (perf.RED_3, perf.LB, perf.VQ, perf.RED_5)
            ],
        )
    ]


@claims.measure("c80")
def _two_reds(data: Data, accept: Accept, o: Options) -> list[Check]:
    return [
        accept(
            name,
            f"{_short(mix, o)}{words}, {perf.RED_5} / {perf.RED_3}",
            _of(data, mix, perf.RED_5, what) / _of(data, mix, perf.RED_3, what),
        )
        for mix in perf.mixes(o)
        for (what, words), name in zip(perf.DELAYS, ("average", "maximum", "deviation"), strict=True)
    ]


def local_slope(lab: Lab, row: str, mix: str) -> Floats:
    """dp/dρ of a row around its N, one value a seed.

    The quotient of the least-squares trends of p and of ρ over the nearest N of the scan: both follow N, so that the
    noise of ρ does not flatten the slope as it would in a regression of p on ρ.
    """
    grid, rho = lab.curve("n", measures.utilisation, marker=row, mix=mix)
    _, p = lab.curve("n", measures.probability, marker=row, mix=mix)
    at = grid.index(perf.operating_point(lab, marker=row, mix=mix))
    near = slice(max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1)
    x = np.asarray(grid[near]) - np.mean(grid[near])
    with np.errstate(divide="ignore", invalid="ignore"):  # a link that is full at every N has no slope
        slope: Floats = (x @ p[near]) / (x @ rho[near])
    return slope


@claims.measure("c81")
def _steep(data: Data, accept: Accept, o: Options) -> list[Check]:
    lab = _tab02(data)
    return [
        accept(
            "ratio",
            f"{_short(mix, o)}{perf.RED_5} over {perf.VQ}",
            ratio_of_means(local_slope(lab, perf.RED_5, mix), local_slope(lab, perf.VQ, mix), net.LEVEL),
        )
        for mix in perf.mixes(o)
    ]


@claims.note("c81")
def _steep_note(data: Data, judgement: Judgement, o: Options) -> str:
    lab = _tab02(data)
    mix = perf.mixes(o)[0]
    grid, rho = lab.curve("n", measures.utilisation, marker=perf.RED_5, mix=mix)
    mean = rho.mean(axis=1)
    lowest = int(np.argmin(mean))
    return (
        f"dp/dρ is {short(local_slope(lab, perf.RED_5, mix))} under RED and {short(local_slope(lab, perf.VQ, mix))} "
        "under "
        f"the virtual queue. RED's curve is not convex here but folded: ρ is {short(float(mean[0]))} at N = "
        f"{grid[0]:g}, "
        f"least, {short(float(mean[lowest]))}, at N = {grid[lowest]:g}, and from there p rises with ρ."
    )


# --- Fig. 11 --------------------------------------------------------------------------------------------------------


def _fig11(data: Data) -> Lab:
    return Lab(data["wtp-fig11"])


@claims.measure("c92")
def _above_diagonal(data: Data, accept: Accept, o: Options) -> list[Check]:
    found = perf.ratio_curve(o, _fig11(data), net.MULTCP, o.population)
    return [accept("gap", measures.words(r=r), values - r) for r, values in found.items() if r >= 2]


@claims.measure("c93")
def _less_fair(data: Data, accept: Accept, o: Options) -> list[Check]:
    multcp, wtp = (perf.ratio_curve(o, _fig11(data), control, o.population) for control in (net.MULTCP, net.WTP))
    return [
        accept("difference", measures.words(r=r), distance(multcp[r] - r) - distance(wtp[r] - r))
        for r in multcp
        if r >= 2
    ]


def distance(gap: Floats) -> Floats:
    """Each run's gap, counted along the sign of the other runs' mean: |mean gap|, not chosen by the value itself."""
    others = (np.nansum(gap) - gap) / max(1, gap.size - 1)
    found: Floats = np.where(others < 0, -gap, gap)
    return found


def _use(data: Data, control: str, w: float) -> Floats:
    return _fig11(data).at(panel="b", control=control, w=w).of(measures.utilisation)


def _gap(data: Data, w: float) -> Floats:
    return _use(data, net.WTP, w) - _use(data, net.MULTCP, w)


@claims.measure("c94")
def _small_weights(data: Data, accept: Accept) -> list[Check]:
    return [accept("gap", "weight 1", _gap(data, 1))]


@claims.measure("c95")
def _gap_shrinks(data: Data, accept: Accept) -> list[Check]:
    return [
        accept("difference", measures.words(w=w), distance(_gap(data, 1)) - distance(_gap(data, w)))
        for w in select(_fig11(data).grid("w", panel="b", control=net.WTP), 6)
    ]


def _from_one_to_four(accept: Accept, data: Data, control: str) -> list[Check]:
    return [accept("change", "", _use(data, control, 4) - _use(data, control, 1))]


@claims.measure("c96")
def _wtp_falls(data: Data, accept: Accept) -> list[Check]:
    return _from_one_to_four(accept, data, net.WTP)


@claims.measure("c97")
def _multcp_rises(data: Data, accept: Accept) -> list[Check]:
    return _from_one_to_four(accept, data, net.MULTCP)


def _bursts(o: Options, data: Data, control: str, w: float) -> Floats:
    return _fig11(data).at(panel="c", control=control, w=w).of(perf.dispersion(o))


def _burstier_at_one(accept: Accept, o: Options, data: Data) -> Check:
    difference = _bursts(o, data, net.MULTCP, 1) - _bursts(o, data, net.WTP, 1)
    return accept("first", "weight 1: MulTCP − WTP", difference)


@claims.measure("c106")
def _conjecture(data: Data, accept: Accept, o: Options) -> list[Check]:
    grid, curve = _fig11(data).curve("w", perf.dispersion(o), panel="c", control=net.WTP)
    steps = kit.order(accept, "step", [(f"weight {w:g}", row) for w, row in zip(grid, curve, strict=True)])
    return [_burstier_at_one(accept, o, data), *steps]


@claims.measure("c106", reading="wider")
def _conjecture_from_one(data: Data, accept: Accept, o: Options) -> list[Check]:
    grid = select(_fig11(data).grid("w", panel="c", control=net.WTP), 2)
    first = _bursts(o, data, net.WTP, 1)
    return [
        _burstier_at_one(accept, o, data),
        *(accept("step", f"WTP, weight {w:g} − weight 1", _bursts(o, data, net.WTP, w) - first) for w in grid),
    ]


@claims.note("c106")
def _conjecture_note(data: Data, judgement: Judgement, o: Options) -> str:
    grid, curve = _fig11(data).curve("w", perf.dispersion(o), panel="c", control=net.WTP)
    rows = ", ".join(f"{short(row)} at weight {w:g}" for w, row in zip(grid, curve, strict=True))
    return (
        f"The index of dispersion under willingness to pay is {rows}: it grows and then stays, as the windows swing "
        "together."
    )


# --- The laws of both controls --------------------------------------------------------------------------------------


def law_slope(lab: Lab, control: str, reaction: str, w: float) -> Floats:
    """d log rate / d log p of a single connection by least squares, one value a seed."""
    grid, rate = lab.curve("p", perf.alone_mbps, panel="c", control=control, reaction=reaction, w=w)
    x = np.log(grid)
    x = x - x.mean()
    slope: Floats = (x @ np.log(rate)) / float(x @ x)
    return slope


@claims.measure("c98")
def _laws(data: Data, accept: Accept) -> list[Check]:
    lab = Lab(data["wtp-x-multcp"])
    return [
        accept(name, f"{control}{', ' + reaction if reaction else ''}, {measures.words(w=w)}", slope)
        for name, control, reaction in (("wtp", net.WTP, ""), ("multcp", net.MULTCP, perf.EVERY))
        for w in perf.LAW_WEIGHTS
        for slope in [law_slope(lab, control, reaction, w)]
    ]


# --- The virtual queue, all in all ----------------------------------------------------------------------------------

TOP = 10.0
FORMS = {net.PI: "fig03", net.IPD: "fig04"}


def _unfairness(data: Data, o: Options, form: str, marker: str) -> Floats:
    """|R − r| at the largest r, one value a seed."""
    lab = Lab(data[f"wtp-{FORMS[form]}"])
    return distance(sharing.at_r(lab, o, o.population, marker, sharing.of_throughput, TOP) - TOP)


def _marked_as_bursty(data: Data, form: str) -> Floats:
    """log(p_light/p_heavy) under the virtual queue, counted along the sign by which the light class varies more."""
    found = sharing.packet_numbers(Lab(data["wtp-x-marks"]).at(form=form, marker=net.VQ, r=TOP))
    varies = float((found["fluctuation_light"] - found["fluctuation_heavy"]).mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.log(found["p_light"] / found["p_heavy"])
    return ratio if varies >= 0 else -ratio


@claims.measure("c99")
def _can_be_worse(data: Data, accept: Accept, o: Options) -> list[Check]:
    delays = _less(accept, "delay", o, data, "mean", [(vq, other) for other, vq in PROBABILISTIC])
    forms = [
        kit.most(
            accept,
            "exists",
            f"|R − r| under VQ − under {other}, forms of {len(FORMS)} with more",
            [(form, _unfairness(data, o, form, net.VQ) - _unfairness(data, o, form, other)) for form in FORMS],
            share=1 / len(FORMS),
        )
        for other in (net.RED, net.LB)
    ]
    bursts = [(form, _marked_as_bursty(data, form)) for form in FORMS]
    label = f"forms of {len(FORMS)} in which the class that varies more is marked more"
    return [*delays, *forms, kit.most(accept, "exists", label, bursts, share=1 / len(FORMS))]
