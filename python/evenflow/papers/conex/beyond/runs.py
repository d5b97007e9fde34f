"""Beyond the paper: congestion-volume and bucket levels over time, variants under video, bytes against packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product

from evenflow.claims import Scale
from evenflow.lab import Measure, at
from evenflow.paper import Experiment
from evenflow.study import Labels, Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import BAND, NETWORK, experiment, rates
from ..measures import ON
from ..video import measures as video
from . import figures

SHOWN_USERS = 10
"""Users of each group whose congestion-volume is recorded."""
VOLUMES = {
    group: tuple(f"stages.{net.POLICERS[group]}[{user}].congestion_volume" for user in range(SHOWN_USERS))
    for group in (net.HEAVY, net.LIGHT)
}
VOLUME_RATES = (5.0, 45.0, 180.0)
LEVEL = f"stages.{net.POLICERS[net.HEAVY]}[0].tokens"
LEVEL_RATES = (5.0, 15.0)
SIZES_RATE = 45.0
UNITS = ("packets", "bytes")


def x_volume(o: Options, scale: Scale) -> list[Point]:
    """The default network at three filling rates: congestion-volume by second."""
    record = {"series": [{"of": name, "every": "1 s"} for names in VOLUMES.values() for name in names]}
    return [Point({"r": r}, net.bulk(o, net.Setting().policed(r), record=record)) for r in VOLUME_RATES]


def x_level(o: Options, scale: Scale) -> list[Point]:
    """A heavy user's bucket through a video evening, for both charges."""
    record = {"series": [{"of": LEVEL, "every": "1 s"}]}
    return [
        Point(
            {"charge": charge, "r": r},
            net.video(replace(o, charge=charge), net.Policer(r, harshness=net.STRICT), record=record),
        )
        for charge, r in product(("arrival", "pass"), LEVEL_RATES)
    ]


def x_video(o: Options, scale: Scale) -> list[Point]:
    """Figure 22's grid with every variant."""
    points = []
    for variant in net.VARIANTS:
        points.append(Point({"policing": net.NONE, "variant": variant}, net.video(o, None, variant=variant)))
        points += [
            Point(
                {"policing": ON, "variant": variant, "r": r},
                net.video(o, net.Policer(r, harshness=net.STRICT), variant=variant),
            )
            for r in rates(scale)
        ]
    return points


def x01(o: Options, scale: Scale) -> list[Point]:
    """Users with large and with small packets behind policers that count packets, or bytes."""
    return [
        Point({"unit": unit, "r": r}, net.two_sizes(o, net.Policer(r, unit=unit)))
        for unit, r in product(UNITS, at(scale, net.RATES, net.RATES_QUICK))
    ]


DECLARED = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of his congestion that a user declares."""
BOTH = "both"
AUDITS = ("loss", "ecn", BOTH)
ONCE, RENEWED = "window", "flight"
"""Credit: a window once, or as much as is in flight, renewed."""
CHEAT_RATE = 45.0
ADVISED = "advised"
"""Label of what docs/conex.md advises, all together: an audit of marks and losses, one account for all flows that have
declared nothing yet, and a policer that charges credit."""


def x02(o: Options, scale: Scale) -> list[Point]:
    """A heavy user who declares a share of his congestion: no auditor, each audit, renewed credit, what is advised."""
    usual, charging = net.Policer(CHEAT_RATE), net.Policer(CHEAT_RATE, credit="charged")
    points = []
    cases = [(None, ONCE), *((audit, ONCE) for audit in AUDITS), (BOTH, RENEWED)]
    for (audit, credit), declared in product(cases, DECLARED):
        given = net.NONE if audit is None else credit
        labels: Labels = {"audit": audit or net.NONE, "credit": given, "declared": declared}
        points.append(Point(labels, net.cheating(o, usual, declared, audit, credit)))
    for credit, declared in product((ONCE, RENEWED), DECLARED):
        scenario = net.cheating(o, charging, declared, BOTH, credit, strangers="together")
        points.append(Point({"audit": ADVISED, "credit": credit, "declared": declared}, scenario))
    return points


CHEATING: Mapping[str, Measure] = {
    "gain": measures.gain,
    **{f"sanctioned_{name}_percent": partial(measures.sanctioned, name) for name in (net.CHEAT, net.HEAVY, net.LIGHT)},
}

SIZES: Mapping[str, Measure] = {
    "X_large_mbps": partial(measures.throughput, net.LARGE),
    "X_small_mbps": partial(measures.throughput, net.SMALL),
    "policed_large_percent": partial(measures.policed, net.LARGE),
    "policed_small_percent": partial(measures.policed, net.SMALL),
}


def experiments(o: Options) -> tuple[Experiment, ...]:
    """This topic's experiments."""
    evening = (
        "Ten heavy users with 20 flows each; 50 light users each ask for a video of 300 s between 100 and 200 s. "
        "Strict policer, depth 45 packets."
    )
    return (
        experiment(
            "x-volume",
            "Congestion-volume of heavy and light users over time",
            partial(x_volume, o),
            partial(figures.x_volume, names=VOLUMES),
            f"{NETWORK} FullConEx, mild policer. Congestion-volume declared by a heavy and by a light user so far; "
            f"dotted: what the filling rate allows, the bucket included. {BAND}",
            {"reports_heavy_per_s": measures.heavy_reports, "reports_light_per_s": measures.light_reports},
            net.FEW_SEEDS,
        ),
        experiment(
            "x-level",
            "A heavy user's bucket through a video evening",
            partial(x_level, o),
            partial(figures.x_level, name=LEVEL),
            f"{evening} DTConEx. Tokens in the bucket of one heavy user, by second; above every report is charged, "
            "below those that pass. A line a run; upright lines: the ends of the periods.",
            {"policed_heavy_percent": measures.heavy_policed},
            net.FEW_SEEDS,
        ),
        experiment(
            "x-video",
            "Videos and bulk transfers over the filling rate, for each variant",
            partial(x_video, o),
            figures.x_video,
            f"{evening} (a) mean QoE of the light users, (b) throughput of a heavy user. {BAND}",
            {"QoE": video.quality, "X_heavy_mbps": measures.heavy_throughput, "stalls": video.stalls},
            net.FEW_SEEDS,
        ),
        experiment(
            "x02",
            "What a user gains who declares less congestion than he meets",
            partial(x02, o),
            figures.x02,
            f"{NETWORK} FullConEx, mild policer, r = {CHEAT_RATE:g}; one heavy user declares a share of his "
            "congestion. (a) His throughput over that of an honest heavy user, without an auditor and with audits of "
            "losses, of marks, of both, where everybody gives credit of a window once; and of both where credit is "
            "renewed, as much as is in flight. Both again as advised: one account for all flows that have declared "
            "nothing yet, and a policer that charges credit. Share of the packets that the auditor drops, (b) of the "
            f"cheat's, (c) of the honest heavy users'. {BAND}",
            CHEATING,
            net.FEW_SEEDS,
        ),
        experiment(
            "x01",
            "Large and small packets behind policers that count packets or bytes",
            partial(x01, o),
            figures.x01,
            "Ten users with packets of 1500 B and ten with packets of 300 B, 36 flows each. FullConEx, mild policer; "
            f"throughput of a user with small packets over one with large ones. {BAND}",
            SIZES,
            net.FEW_SEEDS,
        ),
    )
