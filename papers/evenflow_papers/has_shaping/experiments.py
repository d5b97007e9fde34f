"""The paper's experiments: grids, the columns of their data, captions, and figures.

Equal settings give equal scenarios: scenario 1 is in five tables and is run once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import evenflow as ef
from evenflow import Scenario
from evenflow.claims import Check, Scale
from evenflow.experiments import Experiments, Grid, grid
from evenflow.figures import Arrow, Box, Figures, Looks, Mark, Picture, Spec, curves, diagram, dots, drawn
from evenflow.lab import Floats, finite, frame, in_words
from evenflow.lab import cells as interval
from evenflow.stats import mean_interval
from evenflow.study import Curve, Point, Run
from evenflow.values import Shown, Values, computed, joined, points, with_labels

from . import measures as m
from . import network as net
from .claims import judged, verdict_of
from .measures import TITLES, WORDS, measured
from .network import ACKS, BOTH, DATA, GOOD, METRICS, ONE, QUALITY, S1, S2, S3, S4, SHAPED, TWO, WL, Options
from .published import PRINTED, SCORES

if TYPE_CHECKING:
    import polars as pl


experiment = Experiments("has_shaping", runs=(net.RUNS, 10), level=net.LEVEL)
figure = Figures(WORDS, m.AXES, net.LEVEL)
FEW = (20, 5)
"""Runs of experiments beyond the paper."""
CELLS = (
    "Means over the runs with 95 % confidence intervals; diamonds: printed values; grey: accepted literally. The table "
    "has the difference and both verdicts of each cell."
)
BANDS = "Lines are means over the runs, bands their 95 % confidence intervals."


def single(x: Any, y: Any) -> Curve:
    """A line without an interval."""
    return Curve(np.asarray(x), np.asarray(y), np.asarray(y), np.asarray(y), np.ones(len(y), dtype=np.int64))


# --- Tables 2 to 8: cells compared with the printed ones ------------------------------------------------------------

Settings = Mapping[str, Mapping[str, Any]]
"""Words in the legend -> the labels of their points."""


def printed_cell(measure: str, control: str, method: str, client: int = ONE, scenario: str = S1) -> float | None:
    """What is printed."""
    return PRINTED[client].get((measure, scenario, control, method))


def cells(settings: Settings, name: str, client: int) -> Values:
    """A measure at all points of the settings."""
    found = [measured(name, client)(**labels).labelled(setting=words) for words, labels in settings.items()]
    return joined(*found).labelled(measure=name, client=client)


def cell_rows(settings: Settings, names: tuple[str, ...], client: int, shown: Shown) -> pl.DataFrame:
    """A table's cells: mean, printed value, difference, verdicts."""
    check, rows = judged(shown), []
    for labels, values in (at for it in (*names, *m.OTHERS) for at in m.arrays(cells(settings, it, client), shown)):
        i = mean_interval(values, net.LEVEL)
        printed = with_labels(printed_cell, labels)
        numbers = {"mean": i.mean, "lo": i.lo, "hi": i.hi, "median": float(np.median(values))}
        rows.append(
            {
                **{name: it for name, it in labels.items() if name != "setting"},
                "runs": len(values),
                **{name: finite(it) for name, it in numbers.items()},
                "printed": printed,
                "difference": None if printed is None else finite(i.mean - printed),
                **{reading: verdict_of(check(reading, labels)) for reading in ("literal", "wider")},
            }
        )
    found = frame(rows)
    return found.drop("client") if "scenario" in found.columns else found


def within(values: Values, check: Callable[[str, dict[str, Any]], Check | None], shown: Shown) -> tuple[int, int, int]:
    """Cells whose mean is in the strict set, all cells, and cells with a mean in the strict or the lenient set."""
    found: dict[tuple[Any, ...], dict[str, bool]] = {}
    for labels, numbers in m.arrays(values, shown):
        inside = found.setdefault(tuple(labels.get(it) for it in ("scenario", "control", "method")), {})
        for reading in ("literal", "wider"):
            if (it := check(reading, labels)) is not None:
                lo, hi = (-math.inf if it.lo is None else it.lo), (math.inf if it.hi is None else it.hi)
                inside[reading] = lo <= float(np.mean(numbers)) <= hi
    judged_cells = [it for it in found.values() if it]
    strict = [it.get("literal", False) for it in judged_cells]
    return sum(strict), len(judged_cells), sum(any(it.values()) for it in judged_cells)


def cell_figure(settings: Settings, names: tuple[str, ...], client: int, row: str, shown: Shown) -> Picture:
    """A panel a measure, a row a control or a combination."""
    check = judged(shown)

    def accepted(measure: str, control: str, method: str, scenario: str = S1, loss: str = "") -> Any:
        at = {"measure": measure, "client": client, "control": control, "method": method, "scenario": scenario}
        found = check("wider" if loss == DATA else "literal", at | ({"loss": loss} if loss else {}))
        return None if found is None else (found.lo, found.hi)

    def panel(name: str) -> Spec:
        # from no fall at all to several a second
        log = {"linear": 1.0, "x_range": (-0.15, 600.0)} if name == "CNG" else {}
        values = cells(settings, name, client)
        title = "{} of {} cells within the strict set, {} within the lenient one".format(*within(values, check, shown))
        return dots(values, row=row, y=TITLES[name], title=title, printed=printed_cell, accepted=accepted, **log)

    made = figure(*(panel(name) for name in names), looks=Looks("setting", legend="{setting}"), height=0)
    return made(shown)


# --- Both set-ups ---------------------------------------------------------------------------------------------------

SETUPS = ("calibrated", "reconstructed")


def in_setup(o: Options, setup: str, control: str, method: str) -> Scenario:
    """Scenario 1 in one of the set-ups."""
    return net.home(replace(o, setup=setup), S1, control, method)


def of_setups(name: str) -> Values:
    """A measure of client 1 in both."""
    return joined(*(measured(name)(setup=[it]).labelled(setting=it) for it in SETUPS)).labelled(measure=name)


def setup_rows(shown: Shown) -> pl.DataFrame:
    """The cells of Tables 2 and 4: printed, and in both set-ups."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for name in METRICS:
        for labels, values in m.arrays(of_setups(name), shown):
            where = {"measure": name, "control": str(labels["control"]), "method": str(labels["method"])}
            row = rows.setdefault(tuple(where.values()), {**where, "printed": with_labels(printed_cell, where)})
            row[str(labels["setting"])] = finite(float(np.mean(values)))
    return frame(list(rows.values()))


def setup_panel(name: str) -> Spec:
    """A row a combination."""
    log = {"linear": 1.0, "x_range": (-0.15, 600.0)} if name == "CNG" else {}
    return dots(of_setups(name), row="{control}, {method}", y=TITLES[name], printed=printed_cell, **log)


def setup_caption(o: Options) -> str:
    """The report of the reconstructed set-up begins with its heading."""
    chosen = "chosen after seeing the tables; not evidence for the paper's claims, but for what its test bed was"
    head = f"{chosen[0].upper()}{chosen[1:]}. " if o.setup == "reconstructed" else ""
    return (
        f"{head}Scenario 1, client 1: the twelve combinations of Tables 2 and 4 in the calibrated set-up and in the "
        f"reconstructed one ({chosen}). Means over the runs with 95 % confidence intervals; diamonds: printed values."
    )


experiment(
    "setups",
    "Tables 2 and 4 beside both set-ups",
    grid(in_setup, "control", setup=SETUPS, control=net.CONTROLS, method=net.METHODS),
    data=setup_rows,
    caption=setup_caption,
    figure=figure(*map(setup_panel, METRICS), looks=Looks("setting", legend="{setting}"), columns=3, height=0),
)

# --- Figure 1 -------------------------------------------------------------------------------------------------------


def home_rows(shown: Shown) -> pl.DataFrame:
    """The scenario's links, stages and groups."""
    tree = net.home(shown.options, S1, net.CUBIC, net.HTBM).tree
    found: list[dict[str, Any]] = []
    for name, link in tree["links"].items():
        row = {"what": f"link {name}", "rate": link.get("rate", ""), "delay": link.get("delay", "")}
        row["back"] = link.get("reverse", {}).get("delay", "")
        found.append({**row, "jitter": link.get("jitter", {}).get("normal", "")})
    found += [{"what": f"stage {name}", "kind": stage["kind"]} for name, stage in tree["stages"].items()]
    found += [{"what": f"group {name}", "path": " → ".join(group["path"])} for name, group in tree["groups"].items()]
    return frame(found)


def home_diagram() -> Spec:
    """The home, from its scenario."""
    links = net.home(Options(), S1, net.CUBIC, net.HTBM).tree["links"]
    wan, scheduler = links["wan"], links[net.LINK]["queue"]["scheduler"]
    rate, leaf = scheduler["classes"]["home"]["rate"], scheduler["each"]["leaf"]["limit"]
    network = f"best-effort network, {wan['rate']}\n{net.RTT_MS:g} ms ± {wan['jitter']['normal']}"
    boxes = [
        Box(0.8, 1.8, "HAS server\nLinux 3.2"),
        Box(5.1, 1.8, f"home gateway\nbandwidth manager\nHTB {rate}, or windows\nSFQ {leaf}"),
    ]
    arrows = [Arrow((1.35, 1.8), (3.9, 1.8), network)]
    for y, client, level in ((2.7, 1, net.TOP), (0.9, 2, net.SECOND)):
        boxes.append(Box(9.1, y, f"client {client}\nbest level {level}"))
        arrows.append(Arrow((6.3, 1.8), (8.55, y), f"{net.share_mbps(level) * 1e3:.6g} kbit/s"))
    return diagram(boxes, arrows)


experiment(
    "fig01",
    "The home",
    grid(net.home, scenario=S1, control=net.CUBIC, method=net.HTBM),
    data=home_rows,
    runs=(1, 1),
    caption="Drawn from a run's scenario: scenario 1 with HTBM.",
    figure=figure(home_diagram(), height=2.8),
)

# --- Tables 2 to 8 ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Points whose cells are a table: their settings, a row's words, and the caption."""

    points: Grid | Callable[[Options, Scale], list[Point]]
    settings: Callable[[Options], Settings]
    caption: str
    row: str = "{control}, {method}"


def cell_table(name: str, title: str, kind: Kind, names: tuple[str, ...], client: int = ONE) -> None:
    """An experiment whose figure and data are cells."""
    experiment(
        name,
        title,
        kind.points,
        caption=f"{kind.caption} {', '.join(names)}. {CELLS}",
        data=lambda shown: cell_rows(kind.settings(shown.options), names, client, shown),
        figure=lambda shown: cell_figure(kind.settings(shown.options), names, client, kind.row, shown),
    )


def lone(*kinds: Mapping[str, str]) -> Callable[[Options, Scale], list[Point]]:
    """A lone client in several settings."""

    def points(o: Options, scale: Scale) -> list[Point]:
        combined = [{"control": control, "method": method} for control, method in product(GOOD, SHAPED)]
        return [Point({**kind, **it}, net.home(o, **kind, **it)) for it in combined for kind in kinds]  # type: ignore[arg-type]

    return points


WITHOUT, *LOSSES = {"scenario": WL}, *({"scenario": S4, "loss": it} for it in (ACKS, DATA, BOTH))
"""No loss; scenario 4 by the packets lost."""
TWO_CLIENTS = grid(net.home, "control", scenario=S1, control=net.CONTROLS, method=net.METHODS)
THREE_SCENARIOS = grid(net.home, scenario=[S1, S2, S3], control=GOOD, method=SHAPED)
DEVIATIONS = [*net.DEVIATIONS_MS, net.FAR_MS]
OVER_DEVIATIONS = grid(net.jittery, control=GOOD, method=SHAPED, deviation_ms=DEVIATIONS)
LITERALLY = {
    "received": "half of the ACKs lost",
    "sent": "half of the data lost, by the option",
    "both": "half of both lost",
}
"""The lost packets of scenario 4 by the literal reading, by the option `lost`."""


def by_loss(o: Options) -> Settings:
    """Tables 7 and 8."""
    return {
        "without loss": {"scenario": [WL]},
        LITERALLY[o.lost]: {"scenario": [S4], "loss": [ACKS]},
        "half of the data lost": {"scenario": [S4], "loss": [DATA]},
    }


KINDS = {
    "scenario 1": Kind(
        TWO_CLIENTS,
        lambda o: {WORDS["method"](method): {"scenario": S1, "method": [method]} for method in net.METHODS},
        "Two clients that start together and play for 180 s.",
        "{control}",
    ),
    "scenarios 1 to 3": Kind(
        THREE_SCENARIOS,
        lambda o: {f"scenario {it[1]}": {"scenario": [it]} for it in (S1, S2, S3)},
        "Client 1. Scenario 1: both clients throughout; 2: client 2 joins at 30 s; 3: it leaves at 30 s.",
    ),
    "scenario 4": Kind(
        lone(WITHOUT, *LOSSES[:2]),
        by_loss,
        "A lone client; from 30 to 31 s half of the packets towards the server are lost, as the paper says, or half of "
        "those that it sends, which is the wider reading.",
    ),
}
CONGESTION = METRICS[3:]
for number, what, scenarios, names, client in (
    (2, "quality of client 1", "scenario 1", QUALITY, ONE),
    (3, "quality of client 2", "scenario 1", QUALITY, TWO),
    (4, "congestion and off periods of client 1", "scenario 1", CONGESTION, ONE),
    (5, "quality", "scenarios 1 to 3", QUALITY, ONE),
    (6, "congestion and off periods", "scenarios 1 to 3", CONGESTION, ONE),
    (7, "quality", "scenario 4", QUALITY, ONE),
    (8, "congestion and off periods", "scenario 4", CONGESTION, ONE),
):
    cell_table(f"table0{number}", f"Table {number}: {what}, {scenarios}", KINDS[scenarios], names, client)

# --- Figures 2 to 9: window and threshold of the run that is nearest to the means -----------------------------------


def window_panel(o: Options, run: Run, title: str) -> Spec:
    """A run's window and threshold over time, and a line where it converges."""
    times, *series = m.windows(run)
    lines = dict(zip(("congestion window", "slow-start threshold"), series, strict=True))
    at, seen = m.converged_s.of(run, o), m.adaptive(o, ONE, run)
    words = ", ".join(f"{name} {value:g}" for name, value in seen.captions().items()) if seen else "nothing asked for"
    return drawn(
        computed(lambda line: single(times, lines[str(line)]), line=list(lines)),
        x_title="time (s)",
        y="segments",
        title=f"{title}, seed {run.seed}: {words}",
        marks=[Mark(x=at, words="converged")] if at == at else [],
        x_range=(0, net.DURATION_S),
        looks=Looks("line", legend="{line}"),
    )


def nearest(shown: Shown) -> list[tuple[Mapping[str, Any], Run]]:
    """The labels of each point, and its run that is nearest to the means."""
    return [(labels, m.representative(runs, shown.options)) for labels, runs in points(shown.table(""), {})]


def window_figure(shown: Shown) -> Picture:
    """A panel a point."""
    words = [(in_words(WORDS, {k: v for k, v in at.items() if k != "scenario"}), run) for at, run in nearest(shown)]
    return figure(*(window_panel(shown.options, run, it) for it, run in words), columns=1, height=3.2)(shown)


def windows_of(name: str, what: str, **labels: Any) -> None:
    """The experiment of a figure of windows."""
    experiment(
        name,
        f"Windows of {what}",
        grid(net.drawn, scenario=S1, **labels),
        columns=m.NUMBERS,
        caption=f"Scenario 1, {what}. Client 1's server in the run whose five measures are nearest to their means: "
        "congestion window and slow-start threshold; grey line: the moment of convergence. Values are cut after two "
        "decimals, as the paper's.",
        figure=window_figure,
        view=lambda shown: nearest(shown)[0][1],
    )


for name in sorted([*m.FIGURES, "fig03"]):
    if name in m.FIGURES:
        control, method = m.FIGURES[name]
        windows_of(name, f"{control} with {method}", control=control, method=method)
    else:
        low, high = map(float, net.MIXED)
        two_thresholds = "NewReno with RWTM from two thresholds"
        windows_of(name, two_thresholds, control=net.NEWRENO, method=net.RWTM, threshold=[low, high])

# --- Figures 10 and 11 ----------------------------------------------------------------------------------------------

COMBINED = [(control, method, f"{control}, {method}") for control, method in product(GOOD, SHAPED)]


def over_deviations(name: str) -> Spec:
    """A line a combination, and the printed value at 7 ms."""

    def printed(setting: str, deviation_ms: float) -> float | None:
        control, method = setting.split(", ")
        return PRINTED[ONE][name, WL, control, method] if deviation_ms == net.JITTER_MS else None

    return curves(
        *(measured(name)(control=c, method=m).labelled(setting=words) for c, m, words in COMBINED),
        x="deviation_ms",
        y=TITLES[name],
        marks=[Mark(x=net.DEVIATIONS_MS[-1])],
        linear=1.0 if name == "CNG" else 0.0,
        printed=printed,
    )


for name, names, what in (("fig10", QUALITY, "Quality"), ("fig11", CONGESTION, "Congestion and off periods")):
    experiment(
        name,
        f"{what} over the round trip's deviation",
        OVER_DEVIATIONS,
        columns=m.NUMBERS,
        caption=f"A lone client for 180 s. The round trip's mean is {net.RTT_MS:g} ms; its deviation is on the axis, "
        "whose own values the paper lost; up to the grey line they are the paper's. Printed: Tables 7 and 8. "
        f"{', '.join(names)}. {BANDS}",
        figure=figure(*map(over_deviations, names), looks=Looks("setting", "setting", "{setting}")),
    )

# --- Table 9, and the effect of a window ----------------------------------------------------------------------------


def scored_points(o: Options, scale: Scale) -> list[Point]:
    """The points of tables 5, 7 and figure 10 that have a score."""
    jitter = [it for it in OVER_DEVIATIONS.points(o, scale) if it.labels["deviation_ms"] != net.FAR_MS]
    groups = {"1 to 3": THREE_SCENARIOS.points(o, scale), "4": lone(LOSSES[0])(o, scale), "5": jitter}
    return [Point({"group": group, **it.labels}, it.scenario) for group, them in groups.items() for it in them]


def place(group: str, control: str, method: str) -> int:
    """Of a combination by Table 9."""
    return SCORES[group].index((control, method)) + 1


def score_rows(shown: Shown) -> pl.DataFrame:
    """Score by scenarios and combination. Claim c32 compares the rows with each other."""
    return frame(
        [
            {
                "scenarios": group,
                "combination": f"{labels['control']}, {labels['method']}",
                **interval("badness", mean_interval(values, net.LEVEL)),
                "printed_place": with_labels(place, labels, group),
            }
            for group, bad in m.scores(on="table09").items()
            for labels, values in m.arrays(bad, shown)
        ]
    )


def placed(group: str, values: Values) -> Spec:
    """A row a combination."""
    rows = [values.at(control=[c], method=[m]).labelled(place=place(group, c, m)) for c, m, _ in COMBINED]
    return dots(*rows, row="{control}, {method}: place {place:g}", title=f"scenarios {group}", y=values.title)


experiment(
    "table09",
    "Table 9: scores",
    scored_points,
    data=score_rows,
    caption="How bad a combination is: IS, IF and V of client 1, each over its mean over the four combinations, "
    "averaged over the three and over the scenarios' points. Lower is better. Places are those of Table 9; scenario 4 "
    "with half of the ACKs lost.",
    figure=figure(*(placed(*it) for it in m.scores(on="table09").items()), height=0, looks=Looks(legend=" ")),
)
experiment(
    "law",
    "What a window told brings",
    grid(net.bulk, control=net.CONTROLS, method=net.RWTM),
    columns={"goodput_mbps": m.GOODPUT, "told_mbps": m.advertised_mbps},
    runs=FEW,
    caption="A transfer without end behind the tuner, without deviation of the round trip: goodput, and the whole "
    "segments of the advertised window over a measured round trip. Bars are 95 % confidence intervals.",
    figure=figure(
        dots(
            m.GOODPUT().labelled(line="goodput"),
            m.advertised_mbps().labelled(line="advertised window over round trip"),
            row="{control}",
            x_range=(0, 5),
        ),
        looks=Looks("line", legend="{line}"),
        height=0,
    ),
)

# --- The calibration on Table 4 and on a lone client ------------------------------------------------------------------

ONE_EVENT = {"CNG": 100 / net.DURATION_S, "fr": 1 / 90, "IF": 100 / net.DURATION_S, "IS": 0.0, "V": 0.0}
"""A fall in 180 s, a chunk in 90, a second in 180; IS and V are never zero."""
NETEM = ("ack-reorder", "ack-keep", "data-reorder", "data-keep", "split-reorder", "split-keep")
"""Of each method."""
TOGETHER = {"cache": ("cold", "warm"), "playing": ("P2", "P1", "P3")}
"""Options that are varied together, with netem."""
GRID = list(product(*TOGETHER.values()))
APART = {"threshold": ("27", "69", "120"), "htb": ("shared", "flush", "quantum", "other")}
"""Options varied one at a time. The mixture of thresholds is left out: it is read off a claimed cell."""
BASE = {"threshold": "unbounded", "htb": "keep"}
CANDIDATES = [
    *({"netem": netem, **dict(zip(TOGETHER, them, strict=True))} for netem in NETEM for them in GRID),
    *({name: value} for name, values in APART.items() for value in values),
]
CALIBRATED = [
    (scenario, it)
    for scenario, controls, methods in ((S1, net.CONTROLS, net.METHODS), (WL, GOOD, SHAPED))
    for it in product(controls, methods)
]
OF_METHOD = {method: f"netem_{method.lower()}" for method in net.METHODS}
"""The option with a method's netem."""


def candidate(o: Options, chosen: Mapping[str, str]) -> Options:
    """The options of a choice; its netem is that of all methods."""
    named = {it: value for name, value in chosen.items() for it in (OF_METHOD.values() if name == "netem" else (name,))}
    return replace(o, **{"setup": SETUPS[0], **BASE, **named})


def candidate_points(o: Options, scale: Scale) -> list[Point]:
    """Sixteen points for each choice."""
    return [
        Point(
            {**chosen, "scenario": scenario, "control": control, "method": method},
            net.home(candidate(o, chosen), scenario, control, method),
        )
        for chosen in CANDIDATES
        for scenario, (control, method) in CALIBRATED
    ]


Far = dict[tuple[str, ...], float]
"""The distance of each cell, by measure, scenario, control and method."""


def cells_of(far: Far, method: str) -> Far:
    """The cells of a method."""
    return {key: it for key, it in far.items() if key[-1] == method}


def by_method(far: Mapping[tuple[str, ...], Far]) -> dict[str, Far]:
    """The cells of each choice, where each method has a netem of its own: no cell depends on another method's."""
    return {
        ", ".join(
            [f"{name}={it}" for name, it in zip(TOGETHER, them, strict=True)]
            + [f"{OF_METHOD[method]}={netem}" for method, netem in zip(net.METHODS, netems, strict=True)]
        ): {
            key: it
            for method, netem in zip(net.METHODS, netems, strict=True)
            for key, it in cells_of(far[netem, *them], method).items()
        }
        for them in GRID
        for netems in product(NETEM, repeat=len(net.METHODS))
    }


def distances(shown: Shown) -> list[dict[str, Any]]:
    """By choice the mean of |ln((measured + e)/(printed + e))| over cells, with e for one event, and its parts.

    Of scenario 1 only CNG and fr are read: its runs have Tables 2 and 3 too.
    """
    options = ("netem", *TOGETHER, *APART)
    far: dict[tuple[str, ...], Far] = {}
    alone: dict[str, Far] = {}
    for labels, runs in points(shown.table(""), {}):
        chosen = {name: str(labels[name]) for name in options if name in labels}
        scenario, control, method = where = [str(labels[name]) for name in ("scenario", "control", "method")]
        if "netem" in chosen:
            row = far.setdefault(tuple(chosen.values()), {})
        else:
            row = alone.setdefault(", ".join(f"{name}={it}" for name, it in chosen.items()), {})
        for name in METRICS if scenario == WL else METRICS[3:]:
            values = [measured(name).of(run, candidate(shown.options, chosen)) for run in runs]
            e, printed = ONE_EVENT[name], PRINTED[ONE][name, scenario, control, method]
            row[name, *where] = abs(math.log((float(np.nanmean(values)) + e) / (printed + e)))

    def part(row: Far, *having: str) -> float | None:
        some = [it for key, it in row.items() if set(having) <= set(key)]
        return finite(float(np.mean(some))) if some else None

    parts: dict[str, tuple[str, ...]] = {
        f"{scenario}_{method}": (scenario, method)
        for scenario, methods in ((S1, net.METHODS), (WL, SHAPED))
        for method in methods
    }
    parts |= {name: (name,) for name in METRICS}
    found = [
        {"choice": choice, "distance": part(row), **{name: part(row, *having) for name, having in parts.items()}}
        for choice, row in (by_method(far) | alone).items()
    ]
    return sorted(found, key=lambda row: row["distance"] or math.inf)


experiment(
    "cal",
    "What was settled before the results",
    candidate_points,
    data=lambda shown: frame(distances(shown)),
    runs=(5, 2),
    first_seed=1001,
    caption="Distance of Table 4 (CNG, fr) and of a lone client without loss (all measures) from the printed values: "
    "mean |ln(measured / printed)| over 44 cells, for each choice of cache, playing and, by method, netem; and "
    "from the defaults for threshold and htb. The twenty nearest are drawn. Runs and seeds are its own.",
    figure=figure(
        dots(
            Values(lambda shown: [({"choice": row["choice"]}, row["distance"]) for row in distances(shown)[:20]]),
            y="mean distance |ln(measured / printed)|",
            row="{choice}",
        ),
        looks=Looks(legend=" "),
        height=0,
    ),
)

# --- Beyond the paper: more clients, a chunk's life, adaptation rules, losses in both directions --------------------

experiment(
    "x01",
    "More clients",
    grid(net.several, control=net.ILLINOIS, method=net.METHODS, clients=[1.0, 2.0, 3.0, 4.0, 6.0, 8.0]),
    columns=m.CLIENTS,
    runs=FEW,
    caption="One to eight clients with Illinois that start together, without shaping and with both methods. (a) Jain's "
    f"index of their mean bitrates, (b) bitrate, (c) changes of level, (d) stalls. {BANDS}",
    figure=figure(
        *(curves(metric(), x="clients") for metric in m.CLIENTS.values()), looks=Looks("method", legend="{method}")
    ),
)

LIFE_S = (60.0, 66.0)
"""Three chunks of the steady state."""
REQUESTS = ("request leaves the client", "request reaches the server")


def life_panels(o: Options, run: Run) -> list[list[tuple[str, Curve]]]:
    """Lines of a panel each. Requests, ACKs and m.windows are those of the same run, recomputed with a trace."""
    again = net.followed(net.chunk(o, net.ILLINOIS, str(run.labels["method"])), LIFE_S[1]).run(run.seed)
    seen = m.life_of(again, LIFE_S[0])

    def series(name: str, per: float = 1.0) -> Curve:
        times, values = run.series(name)
        inside = (times >= LIFE_S[0]) & (times <= LIFE_S[1])
        return single(times[inside], values[inside] / per)

    return [
        [
            ("data at the client", single(seen.received[0], seen.received[1] / 1e6)),
            ("ACKs at the server", single(seen.acknowledged[0], seen.acknowledged[1] / 1e6)),
        ],
        [
            ("congestion window", series(f"groups.{net.CLIENT_1}.users[0].flows[0].window")),
            *([("advertised window", single(*seen.told))] if seen.told[0].size else []),
        ],
        [("packets that wait at the gateway", series(f"links.{net.LINK}.queue.packets"))],
        [("rate into the home", series(f"links.{net.LINK}.delivered_bytes", 0.05 * 1e6 / 8))],
        *([(words, single(times, times))] for words, times in zip(REQUESTS, (seen.asked, seen.heard), strict=True)),
    ]


def life_figure(shown: Shown) -> Picture:
    """HTBM on the left and RWTM on the right, on one scale."""
    found = {labels["method"]: life_panels(shown.options, runs[0]) for labels, runs in points(shown.table(""), {})}
    titles = ("of the chunk (MB)", "window (segments)", "waiting (packets)", "arriving (Mbit/s)")
    panels = []
    for number, (y, (method, parts)) in enumerate(product(titles, found.items())):
        place = number // 2
        top = 1.05 * max(np.nanmax(line.mean) for it in found.values() for _, line in it[place])
        lines = {**{it: upright(line.x, top) for ((it, line),) in parts[4:]}, **dict(parts[place])}
        panels.append(
            drawn(
                computed(lambda line, lines=lines: lines[str(line)], line=list(lines)),
                x_title="time (s)",
                y=y,
                title=str(method) if not place else " ",
                steps=place < 2,
                x_range=LIFE_S,
                y_range=(0, top),
                looks=Looks("line", legend="{line}"),
            )
        )
    return figure(*panels, columns=2, height=2.3)(shown)


def upright(times: Floats, top: float) -> Curve:
    """Vertical lines at these times."""
    return single(np.repeat(times, 3), np.tile([0.0, top, math.nan], len(times)))


experiment(
    "x02",
    "A chunk's life",
    grid(net.chunk, control=net.ILLINOIS, method=SHAPED),
    columns=m.NUMBERS,
    runs=(1, 1),
    caption="A lone client with Illinois, a round trip without deviation: three chunks of the steady state with HTBM "
    "(left) and RWTM (right). From above: bytes of the chunk received by the client, and acknowledged at the server; "
    "congestion window, and the receive window advertised in ACKs (with HTBM the client's own 256 KiB, which no ACK "
    "lowers); packets that wait at the gateway; rate at which data arrives in 50 ms. Vertical lines: requests.",
    figure=life_figure,
)

RULES: Mapping[str, Mapping[str, Any]] = {
    "aggressive-rate": {"aggressiveness": net.SIGMA},
    **{name: {} for name in ("rate", "bba-0", "bola", "mpc", "robust-mpc", "dynamic")},
}
"""Adaptation rules with their defaults."""
STEADY_MBPS = (1.5, 3.0, 4.5)
"""Throughputs of all earlier chunks."""


def asked_levels() -> list[dict[str, Any]]:
    """The level that each rule asks for, by the buffer, at three steady throughputs."""
    ladder = [rate * 1e3 for rate in net.LADDER_KBPS]
    found: list[dict[str, Any]] = []
    for (name, given), mbps in product(RULES.items(), STEADY_MBPS):
        rule, level = ef.mechanism(name, **given), 0
        for buffer in np.arange(0.0, net.CHUNK_S * net.BUFFER_CHUNKS + 0.1, 0.5):
            told = {"ladder_bps": ladder, "buffer_s": float(buffer), "throughputs_bps": [mbps * 1e6] * 5}
            level = int(rule.choose(**told, last=level)["level"])
            found.append({"rule": name, "throughput_mbps": mbps, "buffer_s": float(buffer), "level": level})
    return found


def rule_curve(line: str, mbps: float) -> Curve:
    """A rule's level over the buffer. Lines of equal level would hide each other, so that each is moved a little."""
    rows = [row for row in asked_levels() if row["rule"] == line and row["throughput_mbps"] == mbps]
    apart = 0.05 * (list(RULES).index(line) - 3)
    return single([row["buffer_s"] for row in rows], [row["level"] + apart for row in rows])


experiment(
    "x03",
    "Which level rules ask for",
    grid(net.jittery, control=net.CUBIC, method=net.RWTM),
    data=lambda shown: frame(asked_levels()),
    runs=(1, 1),
    caption="Each adaptation rule asked directly, while the buffer fills and all earlier chunks came at one rate. "
    "Lines are drawn apart where levels are equal.",
    figure=figure(
        *(
            drawn(
                computed(rule_curve, line=list(RULES), mbps=[mbps]),
                x_title="buffer (s)",
                y="level asked for",
                title=f"{mbps:g} Mbit/s",
                steps=True,
                y_range=(-0.3, 4.3),
            )
            for mbps in STEADY_MBPS
        ),
        looks=Looks("line", "line", "{line}"),
    ),
)
BOTH_WAYS = Kind(
    lone(LOSSES[2]),
    lambda o: {"half of both lost": {"scenario": [S4], "loss": [BOTH]}},
    "Scenario 4 with half of the packets of both directions lost for a second.",
)
cell_table("x04", "Losses in both directions", BOTH_WAYS, QUALITY)
