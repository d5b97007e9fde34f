"""Figures 8 to 11: harshness and depth of the policer; and what explains them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from evenflow.claims import Scale
from evenflow.lab import at
from evenflow.paper import Experiment
from evenflow.study import Labels, Point

from .. import drawing
from .. import network as net
from ..choices import Options
from ..grids import BAND, NETWORK, UNFAIRNESS, experiment, free, policed
from ..measures import ON, Figure
from . import figures
from . import measures as here
from .measures import ALONE_S, ARTEFACT_S, GOT, RULES, WITH, WITHOUT

HARSHNESS = Figure("harshness", shared=True)
"""Figure 8's curves."""
ARTEFACT_RATES = (5.0, 15.0, 45.0, 90.0)
LEFT = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0)
LEFT_QUICK = (1.0, 5.0, 10.0)
LONG_S = 400.0


def of_depth(harshness: str) -> Figure:
    """Figure 9, 10 or 11: a curve a depth."""
    return Figure("depth", shared=True, where={"harshness": harshness})


def fig08(o: Options, scale: Scale) -> list[Point]:
    """Unfairness for the three policers, and without."""
    s = net.Setting()
    points = [free(o, s)]
    for harshness in net.HARSHNESSES:
        points += policed(o, scale, s, {"harshness": harshness}, harshness=harshness)
    return points


def depths(o: Options, harshness: str, scale: Scale) -> list[Point]:
    """Unfairness for each depth behind one policer, and without."""
    s = net.Setting()
    points = [free(o, s)]
    for depth in net.DEPTHS:
        labels: Labels = {"harshness": harshness, "depth": depth}
        points += policed(o, scale, s, labels, harshness=harshness, depth=depth)
    return points


def x_artefact(o: Options, scale: Scale) -> list[Point]:
    """A strictly policed heavy user, whom all others leave alone at half time; and the same user without a policer."""
    record = {"series": [{"of": GOT, "every": "1 s"}]}
    points = [Point({"policing": net.NONE}, net.artefact(o, None, ALONE_S, ARTEFACT_S, record))]
    points += [
        Point(
            {"policing": ON, "r": r},
            net.artefact(o, net.Policer(r, harshness=net.STRICT), ALONE_S, ARTEFACT_S, record),
        )
        for r in ARTEFACT_RATES
    ]
    return points


def x_left(o: Options, scale: Scale) -> list[Point]:
    """Filling rates so low that a light user may need more; with an empty bucket, and for longer."""
    points = []
    for level, duration_s in product(("full", "empty"), (net.DURATION_S, LONG_S)):
        mine = replace(o, level=level)
        for r in at(scale, LEFT, LEFT_QUICK):
            scenario = net.bulk(mine, net.Setting().policed(r), duration_s=duration_s)
            points.append(Point({"policing": ON, "level": level, "duration_s": duration_s, "r": r}, scenario))
    return points


def x04(o: Options, scale: Scale) -> list[Point]:
    """Figure 8 for each meaning of a charge."""

    def points() -> Iterator[Point]:
        yield free(o, net.Setting())
        for rule, options in RULES.items():
            mine = o.varied(options)
            for harshness in net.HARSHNESSES:
                labels: Labels = {"rule": rule, "harshness": harshness}
                yield from policed(mine, scale, net.Setting(), labels, harshness=harshness)

    return list(points())


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    found = [
        experiment(
            "fig08",
            "Unfairness over the filling rate for three policers",
            partial(fig08, o),
            partial(drawing.unfairness, figure=HARSHNESS),
            f"{NETWORK} FullConEx, depth 45 packets. Unfairness of a heavy user towards a light one. {BAND}",
            {**UNFAIRNESS, **here.LOSSES},
        )
    ]
    found += [
        experiment(
            name,
            f"Unfairness for five depths, {harshness} policer",
            partial(depths, o, harshness),
            partial(drawing.unfairness, figure=of_depth(harshness)),
            f"{NETWORK} FullConEx, {harshness} policer. {BAND}",
            {**UNFAIRNESS, **here.LOSSES},
        )
        for name, harshness in zip(("fig09", "fig10", "fig11"), net.HARSHNESSES, strict=True)
    ]
    found += [
        experiment(
            "x-artefact",
            "A user who was policed strictly, after everybody else has gone",
            partial(x_artefact, o),
            figures.x_artefact,
            f"All users of figure 8 behind strict policers; at {ALONE_S:g} s all but one heavy user stop. "
            "Throughput of that user in each second.",
            {},
        ),
        experiment(
            "x-left",
            "The lowest filling rates: an empty bucket, and a longer run",
            partial(x_left, o),
            figures.x_left,
            f"{NETWORK} FullConEx, mild policer. (a) Unfairness, (b) share of the light users' packets that their "
            f"policers drop. {BAND}",
            UNFAIRNESS,
            net.FEW_SEEDS,
        ),
        experiment(
            "x04",
            "Which reports cost tokens: figure 8 three times",
            partial(x04, o),
            figures.x04,
            f"{NETWORK} FullConEx, depth 45 packets. Tokens for every report ({WITHOUT}), the same with a floor where "
            f"the drop function is 1 ({WITH}), or for reports that pass. {BAND}",
            UNFAIRNESS,
            net.FEW_SEEDS,
        ),
    ]
    return tuple(found)
