"""The paper's experiments: grids, captions and figures; those beyond the paper are called `x…`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenflow.experiments import Experiments, Grid, grid, thin
from evenflow.figures import Figures, Looks, Mark, Spec, curves, dots, drawn, table
from evenflow.lab import Floats, frame, plain
from evenflow.study import Curve, Run
from evenflow.values import Metric, Shown, Values, between, joined, of_runs

from . import exact
from . import measures as m
from . import network as net
from .measures import AXES, LIGHT_DELAY, LOST, QUALITY, REPORTS, USERS, WORDS, D, U, X, over_r
from .network import CUBIC, HEAVY, LEDBAT, LIGHT, NONE, ON

experiment = Experiments("conex", runs=(net.RUNS, 5), level=net.LEVEL)
FEW = (10, 5)
"""Runs of experiments beyond the paper, on which nothing is judged."""
figure = Figures(WORDS, AXES, net.LEVEL)
R = thin(net.RATES, net.RATES_QUICK)
JUST_ABOVE = 120.0
"""Where the paper says that heavy users are almost not policed (c46); a first look's grid lacks it."""
ALMOST_FREE = (0.1, 0.25)
"""Maximum marking probabilities of which it says so."""
QUEUES: Mapping[str, tuple[str, Sequence[float], str]] = {
    "fig14": ("queue_ms", net.QUEUES_MS, "the queue's size"),
    "fig15": ("min_threshold", net.MIN_THRESHOLDS, "the minimum threshold"),
    "fig16": ("max_threshold", net.MAX_THRESHOLDS, "the maximum threshold"),
    "fig17": ("max_probability", net.PROBABILITIES, "the maximum marking probability"),
}
"""Figures that vary the queue: the label, its values, and what that is."""

COLUMNS = {
    "U": U,
    **{f"X_{name}_mbps": X[name] for name in USERS},
    **{f"reports_{name}_per_s": REPORTS[name] for name in USERS},
    **{f"policed_{name}_percent": m.DROPPED[name] for name in USERS},
    "D_ms": D,
    "marked": m.MARKED,
    "utilisation_percent": m.UTILISATION,
}
"""The numbers of a figure of section IV."""
LOSSES = {"loss_reports_heavy_per_s": m.LOSS_REPORTS, "policers_share_of_losses_percent": m.POLICERS_SHARE}
FLOWS = {
    **{
        f"{words}_{name}_{unit}": of[name]
        for name in USERS
        for words, unit, of in (
            ("completion", "s", m.COMPLETION),
            ("completed", "percent", m.COMPLETED),
            ("policed", "percent", m.DROPPED),
            ("reports", "per_s", REPORTS),
        )
    },
    "D_ms": D,
}
VIDEO = {
    "QoE": QUALITY,
    "stalls": m.STALLS,
    "stall_s": m.STALL_S,
    "finished_in_time_percent": Metric(partial(m.finished, net.PERIODS_S[1])),
    "reports_heavy_per_s": REPORTS[HEAVY],
    "policed_heavy_percent": m.DROPPED[HEAVY],
}
TRACED = {
    **{
        f"{name}_{int(part[0])}_{int(part[1])}_mbps": Metric(partial(m.in_part, name, part))
        for name in USERS
        for part in (m.FIRST, m.SECOND, m.THIRD)
    },
    "heavy_share_percent": Metric(m.heavy_share),
}
BAND = "Lines are means over the runs, bands their 95 % confidence intervals."
NETWORK = "Ten heavy users with 36 flows each and 90 light ones with one share 100 Mbit/s; round trip 100 ms."
FREE_LINES = "thin lines: no policing."
STARVED = Mark(y=(0.0, 1.0), words="heavy below light")
"""U < 1."""


# --- Forms of grids and figures ---------------------------------------------------------------------------------------


def both(make: Callable[..., Any], values: Any = R, **labels: Any) -> list[Grid]:
    """A setting without policing and at every filling rate."""
    return [grid(make, policing=NONE, **labels), grid(make, "r", policing=ON, **labels, r=values)]


def for_each(name: str, values: Sequence[Any], make: Callable[..., Any] = net.bulk, **more: Any) -> list[Grid]:
    """The same for each value of a label."""
    return [it for value in values for it in both(make, **more, **{name: value})]


def on_rates(*values: Values, log: str = "", most: float = net.RATES[-1], **options: Any) -> Spec:
    """Curves over the filling rate, on the same axis in all panels."""
    ends = (net.RATES[0] / 1.15, most * 1.15)
    ticks = (1, 2, 5, 10, 20, 45, 90, 180)
    return curves(*values, x="r", log=f"x{log}", x_range=ends, ticks=ticks, **options)


def policed(metric: Metric, shared: str = "", **options: Any) -> Spec:
    """A metric over the filling rate, and across what it is without policing.

    Args:
        shared: the label of the curves, if all have the same point without policing.
    """
    free = metric(policing=NONE)
    levels = (free.labelled(**{shared: NONE}) if shared else free,)
    return on_rates(metric(policing=ON), levels=levels, **options)


def unfairness(label: str, shared: bool = False, delay: bool = False) -> Any:
    """U over r, linear as in the paper and logarithmic, shaded below 1; and D."""
    of = label if shared else ""
    panels = [
        policed(U, of, marks=[STARVED]),
        policed(U, of, log="y", title="b  the same, logarithmic", marks=[STARVED]),
    ]
    return figure(*panels, *([policed(D, of)] if delay else []), looks=Looks(label, label, f"{{{label}}}"))


def of_users(metrics: Mapping[str, Metric], **labels: Any) -> Values:
    """A metric of heavy and of light users."""
    return joined(*(metrics[name](**labels).labelled(group=name) for name in USERS))


def write(name: str, title: str, *grids: Any, text: str, columns: Any = COLUMNS, **more: Any) -> None:
    """An experiment of which the figure has bands."""
    experiment(name, title, *grids, **{"columns": columns, "caption": f"{text} {BAND}", **more})


# --- What needs no runs: one run without policing is there anyhow -----------------------------------------------------

SCENARIO = "Drawn from a run's scenario: the default series, policed."
CODEPOINTS = (
    "ECN field, RE flag and signal as in Table I; tokens that a policer takes, and what a RED that marks does with the "
    "packets it picks."
)
PARAMETERS = "Values that the runs have, and the defaults."
SETTINGS = "The variants as in Table III, and the settings of their scenarios."
for name, title, rows, panel, text in (
    (
        "fig02",
        "RED's probability over the average queue",
        exact.fig02,
        curves(exact.RED_LINES, x="share", y="probability of a mark or drop"),
        "Solid: the function. Dashed: share of 4,000 packets that the simulator's RED picks, stepped directly, with "
        "an average that is the queue itself and independent picks.",
    ),
    (
        "fig06",
        "Drop functions of the three policers",
        exact.fig06,
        curves(
            exact.DROP_LINES,
            x="level",
            y="drop probability",
            marks=[Mark(x=0.0)],
            looks=Looks("harshness", "who", "{harshness}{who}"),
        ),
        "Solid: the functions. Dashed: share of 4,000 packets that the simulator's policer drops, stepped directly, "
        "after reports have brought its level down.",
    ),
    ("fig07", "The network", exact.fig07, exact.network(), SCENARIO),
    ("tab01", "Table I: codepoints", exact.table_1, exact.as_table(exact.table_1), CODEPOINTS),
    ("tab02", "Table II: parameters", exact.table_2, exact.as_table(exact.table_2), PARAMETERS),
    ("tab03", "Table III: variants", exact.table_3, exact.as_table(exact.table_3), SETTINGS),
):
    experiment(
        name,
        title,
        grid(net.bulk, policing=NONE),
        data=lambda shown, rows=rows: frame(rows(shown.options)),  # type: ignore[misc]
        caption=text,
        runs=(1, 1),
        figure=figure(panel, looks=Looks("harshness", "who", "{who}"), width=9.4, height=3.4),
    )

# --- Figures 8 to 11: the policer -------------------------------------------------------------------------------------

USUAL = grid(net.bulk, policing=NONE)
write(
    "fig08",
    "Unfairness over the filling rate for three policers",
    USUAL,
    grid(net.bulk, "r", policing=ON, harshness=net.HARSHNESSES, r=R),
    text=f"{NETWORK} FullConEx, depth 45 packets. Unfairness of a heavy user towards a light one.",
    columns={**COLUMNS, **LOSSES},
    figure=unfairness("harshness", shared=True),
)
DEPTHS = dict(zip(("fig09", "fig10", "fig11"), net.HARSHNESSES, strict=True))
for name, harshness in DEPTHS.items():
    write(
        name,
        f"Unfairness for five depths, {harshness} policer",
        USUAL,
        grid(net.bulk, "r", policing=ON, harshness=harshness, depth=net.DEPTHS, r=R),
        text=f"{NETWORK} FullConEx, {harshness} policer.",
        columns={**COLUMNS, **LOSSES},
        figure=unfairness("depth", shared=True),
    )
RECEIVED = "throughput of the user who stays (Mbit/s)"
experiment(
    "x-artefact",
    "A user who was policed strictly, after everybody else has gone",
    grid(net.artefact, policing=NONE),
    grid(net.artefact, policing=ON, r=(5.0, 15.0, 45.0, 90.0)),
    caption=f"All users of figure 8 behind strict policers; at {net.ALONE_S:g} s all but one heavy user stop. "
    "Throughput of that user in each second.",
    figure=figure(
        drawn(
            of_runs(m.mean_and_runs(m.received), policing=ON).labelled(who="policed, mean and single runs"),
            of_runs(m.over_time(m.received), policing=NONE).labelled(who="no policing, mean"),
            x_title="time (s)",
            y=RECEIVED,
            marks=[Mark(x=net.ALONE_S)],
        ),
        by=("r",),
        columns=2,
        looks=Looks("who", "who", "{who}"),
    ),
)
write(
    "x-left",
    "The lowest filling rates: an empty bucket, and a longer run",
    grid(
        net.low_rates,
        "r",
        policing=ON,
        level=("full", "empty"),
        duration_s=(net.DURATION_S, 400.0),
        r=thin((1.0, 2.0, 3.0, 4.0, 5.0, 10.0), (1.0, 5.0, 10.0)),
    ),
    text=f"{NETWORK} FullConEx, mild policer. (a) Unfairness, (b) share of the light users' packets that their "
    "policers drop.",
    runs=FEW,
    figure=figure(
        on_rates(U(), log="y", most=10.0),
        on_rates(m.DROPPED[LIGHT](), most=10.0),
        looks=Looks(("level", "duration_s"), ("level", "duration_s"), "{level}, {duration_s}"),
    ),
)
WITHOUT, PASSING, WITH = net.RULES
write(
    "x04",
    "Which reports cost tokens: figure 8 three times",
    USUAL,
    grid(net.chosen, "r", policing=ON, rule=list(net.RULES), harshness=net.HARSHNESSES, r=R),
    text=f"{NETWORK} FullConEx, depth 45 packets. Tokens for every report ({WITHOUT}), the same with a floor where "
    f"the drop function is 1 ({WITH}), or for reports that pass.",
    runs=FEW,
    figure=figure(
        policed(U, "harshness", log="y"), by=("rule",), columns=3, looks=Looks("harshness", "harshness", "{harshness}")
    ),
)

# --- Figures 12 to 17: round trip, congestion control, queue ----------------------------------------------------------

FULL_MILD = "FullConEx, mild policer, depth 45 packets; thin lines: no policing."
write(
    "fig12",
    "Unfairness over the filling rate for five round trips",
    *for_each("rtt_ms", net.RTTS_MS),
    text=f"{NETWORK.replace('; round trip 100 ms', '')} {FULL_MILD}",
    figure=unfairness("rtt_ms"),
)
write(
    "fig13",
    "Unfairness over the filling rate with CUBIC and with Compound",
    *for_each("control", net.CONTROLS),
    text=f"{NETWORK} {FULL_MILD}",
    figure=unfairness("control"),
)


def with_queue(name: str, value: float) -> list[Grid]:
    """A setting of the queue; at scale quick also at the one rate that c46 is about."""
    grids = both(net.bulk, **{name: value})
    if name == "max_probability" and value in ALMOST_FREE:
        grids.append(grid(net.bulk, "r", policing=ON, **{name: value}, r=thin((), (JUST_ABOVE,))))
    return grids


for number, (name, values, what) in QUEUES.items():
    write(
        number,
        f"Unfairness and delay for five values of {what}",
        *(it for value in values for it in with_queue(name, value)),
        text=f"{NETWORK} {FULL_MILD}",
        figure=unfairness(name, delay=True),
    )
write(
    "x05",
    "What is not said of RED: weight and spread",
    *for_each("red", list(net.REDS), net.chosen),
    text=f"{NETWORK} {FULL_MILD}",
    runs=FEW,
    figure=unfairness("red", delay=True),
)

# --- Figures 18 and 19, table IV: variants ----------------------------------------------------------------------------

BY_VARIANT = Looks("variant", "variant", "{variant}")
MILD_45 = "Mild policer, depth 45 packets; thin lines: no policing."


def variants(*flows: int) -> list[Grid]:
    """Each variant with each of these numbers of flows."""
    return [it for number in flows for it in for_each("variant", net.VARIANTS, flows=number)]


write(
    "fig18",
    "Unfairness over the filling rate for four variants and four numbers of flows",
    *variants(*net.FLOWS),
    text=f"{NETWORK.replace('36 flows', '9 to 36 flows')} {MILD_45}",
    figure=figure(
        policed(U, marks=[STARVED]),
        policed(U, log="y", marks=[STARVED]),
        by=("flows",),
        columns=2,
        height=3.0,
        width=4.3,
        looks=BY_VARIANT,
    ),
)
write(
    "fig19",
    "Delay and loss of a light user for four variants",
    *variants(net.FLOWS[-1]),
    text=f"{NETWORK} {MILD_45} (a) mean queueing delay of the light users' packets, (b) share of them that the "
    "bottleneck drops.",
    columns={"D_light_ms": LIGHT_DELAY, "lost_light_percent": LOST[LIGHT], "marked_light_percent": m.LIGHT_MARKED},
    figure=figure(policed(LIGHT_DELAY), policed(LOST[LIGHT]), looks=BY_VARIANT),
)
MOST: Mapping[str, Any] = {"flows": net.FLOWS[-1]}


def mean(grid: Sequence[Any], curve: Floats) -> Floats:
    """The mean of a curve, run by run."""
    found: Floats = curve.mean(axis=0)
    return found


def fairness(on: str = "") -> Values:
    """U of each variant over the filling rates around the optimum."""
    return U(on, policing=ON, r=between(5, 45), **MOST).reduce("r", mean)


def loss() -> Values:
    """Loss of light users over all r, %."""
    return LOST[LIGHT](policing=ON, **MOST).reduce("r", mean)


RANKED = {
    "fairness": fairness(),
    "loss": loss(),
    "delay": over_r(LIGHT_DELAY, r=[net.RATES[-1]], **MOST).reduce("r", mean),
}
"""Table IV: U, loss, and delay where policing does nothing or little: the mean of no policing and the highest r."""
ALIKE = 0.15
"""Values that are closer than this share of the larger one are of one rank."""
PRINTED: Mapping[str, Mapping[str, int]] = {
    name: dict(zip(net.VARIANTS, stars, strict=True))
    for name, stars in (
        ("fairness", (4, 1, 2, 2)),
        ("loss", (2, 1, 4, 4)),
        ("delay", (1, 4, 2, 2)),
        ("deployability", (4, 3, 2, 1)),
    )
}
"""Stars of table IV."""


def ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Rank of each, 1 the lowest value; one that is close to the best of a rank shares it."""
    found: dict[str, int] = {}
    rank, best = 0, 0.0
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda item: item[1]), 1):
        if not found or value - best > ALIKE * value:
            rank, best = place, value
        found[name] = rank
    return found


def deployability(variant: str) -> int:
    """Stars by how many elements need not change."""
    return 5 - net.TABLE_3[variant].changes


def table_4(shown: Shown) -> list[dict[str, Any]]:
    """A row a variant: each quantity's mean, its rank, and the paper's stars."""
    means = {
        name: {str(labels["variant"]): float(np.mean(np.asarray(value))) for labels, value in of.cells(shown)}
        for name, of in RANKED.items()
    }
    placed = {name: ranks(values) for name, values in means.items()}
    return [
        {
            "variant": variant,
            **{
                f"{name}{words}": of[variant]
                for name in RANKED
                for words, of in (
                    ("", means[name]),
                    ("_rank", placed[name]),
                    ("_stars_in_the_paper", PRINTED[name]),
                )
            },
            "deployability_stars": deployability(variant),
        }
        for variant in net.VARIANTS
    ]


def stars(shown: Shown) -> list[list[str]]:
    """Table IV with ranks, the paper's stars in brackets."""
    found = [["", "fairness: U", "loss (%)", "delay (ms)", "deployability"]]
    for row in table_4(shown):
        printed = {name: f"({'★' * of[row['variant']]})" for name, of in PRINTED.items()}
        cells = [f"{plain(float(f'{row[it]:.3g}'))}: rank {row[f'{it}_rank']} {printed[it]}" for it in RANKED]
        found.append([row["variant"], *cells, f"{'★' * row['deployability_stars']} {printed['deployability']}"])
    return found


experiment(
    "tab04",
    "Table IV: variants ranked",
    *variants(net.FLOWS[-1]),
    data=lambda shown: frame(table_4(shown)),
    caption="Ranks by U averaged over r from 5 to 45, by the light users' loss averaged over r, and by their delay "
    "without policing and at r = 180; values within 15 % share a rank. Deployability counts what must change. "
    "In brackets: the paper's stars.",
    figure=figure(table(stars), width=9.0, height=2.2),
)

# --- Figure 20: short flows -------------------------------------------------------------------------------------------

TEN_PACKETS = (
    "Flows of ten packets, one every 6 ms on average, four of five of them of the ten heavy users, beside 90 "
    "Mbit/s of datagrams. FullConEx, strict policer, depth 45 packets."
)
BY_USER = Looks("group", "group", "{group} user")


def of_flows(metrics: Mapping[str, Metric], **options: Any) -> Spec:
    """A metric of both groups over the filling rate, and without policing."""
    return on_rates(of_users(metrics, policing=ON), levels=(of_users(metrics, policing=NONE),), **options)


write(
    "fig20",
    "Completion time of short flows",
    *both(net.short_flows),
    text=f"{TEN_PACKETS} (a) Mean completion time, (b) flows completed within the run, (c) share of the packets "
    f"that the policers drop; {FREE_LINES}",
    columns=FLOWS,
    figure=figure(
        of_flows(m.COMPLETION),
        of_flows(m.COMPLETED),
        on_rates(of_users(m.DROPPED, policing=ON), y="packets dropped by the policer (%)", y_range=(0, 100)),
        looks=BY_USER,
    ),
)
experiment(
    "x03",
    "Short flows that begin with ten packets",
    grid(net.short_flows, initial_window=(2, 10)),
    columns={**FLOWS, "reports_a_flow": m.A_FLOW[HEAVY]},
    caption=f"{TEN_PACKETS} Filling rate of 180 tokens/s, at which nobody is policed. Reports a completed flow, and "
    "its completion time, with initial windows of 2 and 10 packets. Bars are 95 % confidence intervals.",
    figure=figure(
        *(dots(of_users(it), row="{initial_window}") for it in (m.A_FLOW, m.COMPLETION)),
        looks=BY_USER,
        width=4.3,
        height=0,
    ),
)
experiment(
    "x-empty",
    "One short flow in an empty network",
    grid(net.one_flow, policing=NONE),
    columns={"completion_s": m.COMPLETION[LIGHT]},
)

# --- Figures 21 and 22: video -----------------------------------------------------------------------------------------

EVENING = "Ten heavy users with 20 flows each; 50 light users each ask for a video of 300 s between 100 and 200 s."
DT_STRICT = "DTConEx, strict policer, depth 45 packets."
FAIR_MBPS = {HEAVY: net.CAPACITY_MBPS / net.HEAVY_USERS, LIGHT: net.CAPACITY_MBPS / net.VIDEO_LIGHT_USERS}
"""What a user has where those of his group share the link alone."""
PERIODS = [Mark(x=end) for end in net.PERIODS_S]
QOE_RANGE = (1, 5.2)


def evenings(values: Any) -> list[Grid]:
    """CUBIC without policing and at filling rates, and LEDBAT without policing."""
    return [
        grid(net.evening, control=CUBIC, policing=NONE),
        grid(net.evening, "r", control=CUBIC, policing=ON, r=values),
        grid(net.evening, control=LEDBAT, policing=NONE),
    ]


def traces(of: Callable[[Callable[..., Curve]], Values]) -> list[Spec]:
    """Throughput over time, of a heavy and of a light user."""
    return [
        drawn(
            of(m.over_time(partial(m.by_time, name))),
            x_title="time (s)",
            y=X[name].title,
            y_range=(0, FAIR_MBPS[name] * 1.08),
            marks=PERIODS,
        )
        for name in USERS
    ]


write(
    "fig21",
    "Throughput through a video evening",
    *evenings((15.0, 5.0)),
    text=f"{EVENING} {DT_STRICT} Throughput of (a) a heavy user and (b) a light one, means of five seconds; upright "
    "lines: the ends of the periods.",
    columns=TRACED,
    figure=figure(
        *traces(lambda curve: over_r(partial(of_runs, curve))),
        looks=Looks(("control", "r"), ("control", "r"), "{control}, {r}"),
        width=5.2,
    ),
)


def quality(metric: Metric, **options: Any) -> Spec:
    """A number of videos over the filling rate, and without policing."""
    free = (metric(policing=NONE, control=it).labelled(case=f"{it}, no policing") for it in (CUBIC, LEDBAT))
    return on_rates(metric(policing=ON, control=CUBIC).labelled(case="CUBIC with ConEx"), levels=(*free,), **options)


write(
    "fig22",
    "Quality of experience, stalls and their duration over the filling rate",
    *evenings(R),
    text=f"{EVENING} {DT_STRICT} (a) mean QoE by equation 2, (b) stalls a light user, (c) duration of a stall; thin "
    "lines: CUBIC and LEDBAT without policing.",
    columns=VIDEO,
    figure=figure(
        quality(QUALITY, y_range=QOE_RANGE),
        quality(m.STALLS),
        quality(m.STALL_S),
        looks=Looks("case", "case", "{case}"),
    ),
)
write(
    "x06",
    "LEDBAT with other targets",
    grid(net.ledbat, target_ms=(25.0, 60.0, 100.0)),
    text=f"{EVENING} {DT_STRICT} Heavy users with LEDBAT and three targets, nobody policed. Throughput of (a) a heavy "
    "user and (b) a light one, (c) mean QoE.",
    columns={**VIDEO, **TRACED},
    runs=FEW,
    figure=figure(
        *traces(of_runs),
        dots(QUALITY(), row="{target_ms}"),
        looks=Looks("target_ms", "target_ms", "{target_ms}"),
    ),
)

INCENTIVE_R = 5.0
write(
    "x-incentive",
    "What a heavy user gains by LEDBAT behind a policer",
    grid(net.evening, control=(CUBIC, LEDBAT), policing=ON, r=INCENTIVE_R),
    grid(net.evening, control=LEDBAT, policing=NONE),
    text=f"{EVENING} {DT_STRICT} Heavy users with CUBIC and with LEDBAT behind policers of r = {INCENTIVE_R:g}, and "
    "with LEDBAT without. Throughput of (a) a heavy user and (b) a light one.",
    columns={"X_heavy_mbps": X[HEAVY], **VIDEO},
    figure=figure(
        *traces(lambda curve: over_r(partial(of_runs, curve))),
        looks=Looks(("control", "r"), ("control", "r"), "{control}, {r}"),
        width=5.2,
    ),
)

# --- Beyond the paper -------------------------------------------------------------------------------------------------


def allowed(runs: list[Run]) -> Curve:
    """The congestion-volume that the filling rate allows, the bucket included, kB."""
    times = np.linspace(0.0, net.DURATION_S, 101)  # a straight line is none on a logarithmic axis
    volume = (net.WINDOW_PACKETS + float(runs[0].labels["r"]) * times) * net.PACKET_BYTES / 1e3
    return Curve(times, volume, volume, volume, np.ones(times.size, dtype=np.int64))


write(
    "x-volume",
    "Congestion-volume of heavy and light users over time",
    grid(net.volumes, r=(5.0, 45.0, 180.0)),
    text=f"{NETWORK} FullConEx, mild policer. Congestion-volume declared by a heavy and by a light user so far; "
    "dotted: what the filling rate allows, the bucket included.",
    columns={f"reports_{name}_per_s": REPORTS[name] for name in USERS},
    runs=FEW,
    figure=figure(
        drawn(
            *(of_runs(m.over_time(partial(m.volume, name))).labelled(who=f"{name} user") for name in USERS),
            of_runs(allowed).labelled(who="allowed"),
            x_title="time (s)",
            y="congestion-volume (kB)",
            log="y",
        ),
        by=("r",),
        columns=3,
        looks=Looks("who", "who", "{who}"),
    ),
)
experiment(
    "x-level",
    "A heavy user's bucket through a video evening",
    grid(net.levels, "r", charge=("arrival", "pass"), r=(5.0, 15.0)),
    caption=f"{EVENING} Strict policer, depth 45 packets. DTConEx. Tokens in the bucket of one heavy user, by second; "
    "above every report is charged, below those that pass. A line a run; upright lines: the ends of the periods.",
    columns={"policed_heavy_percent": m.DROPPED[HEAVY]},
    runs=FEW,
    figure=figure(
        # a mean of levels that rise and fall at other times in each run is nobody's level
        drawn(
            of_runs(m.single_runs(lambda run: run.series(net.TOKENS))),
            x_title="time (s)",
            y="tokens",
            y_range=(None, None),
            marks=[*PERIODS, Mark(y=0.0)],
        ),
        by=("charge", "r"),
        columns=2,
        width=4.3,
        height=2.8,
    ),
)
write(
    "x-video",
    "Videos and bulk transfers over the filling rate, for each variant",
    *for_each("variant", net.VARIANTS, net.video),
    text=f"{EVENING} Strict policer, depth 45 packets. (a) mean QoE of the light users, (b) throughput of a heavy "
    "user.",
    columns={"QoE": QUALITY, "X_heavy_mbps": X[HEAVY], "stalls": m.STALLS},
    runs=FEW,
    figure=figure(policed(QUALITY, y_range=QOE_RANGE), policed(X[HEAVY]), looks=BY_VARIANT),
)
CASES = (
    (NONE, NONE),
    *((audit, net.ONCE) for audit in ("loss", "ecn", net.BOTH)),
    (net.BOTH, net.RENEWED),
    *((net.ADVISED, credit) for credit in (net.ONCE, net.RENEWED)),
)
"""Audit and credit: none, each audit, renewed credit, what is advised."""
write(
    "x02",
    "What a user gains who declares less congestion than he meets",
    *(
        grid(net.cheating, "declared", audit=audit, credit=credit, declared=(0.0, 0.25, 0.5, 0.75, 1.0))
        for audit, credit in CASES
    ),
    text=f"{NETWORK} FullConEx, mild policer, r = {net.CHEAT_RATE:g}; one heavy user declares a share of his "
    "congestion. (a) His throughput over that of an honest heavy user, without an auditor and with audits of "
    "losses, of marks, of both, where everybody gives credit of a window once; and of both where credit is "
    "renewed, as much as is in flight. Both again as advised: one account for all flows that have declared "
    "nothing yet, and a policer that charges credit. Share of the packets that the auditor drops, (b) of the "
    "cheat's, (c) of the honest heavy users'.",
    columns={"gain": m.GAIN, **{f"sanctioned_{name}_percent": it for name, it in m.SANCTIONED.items()}},
    runs=FEW,
    figure=figure(
        # what has no auditor last, so that all panels have the same colours
        curves(m.GAIN(audit=lambda it: it != NONE), m.GAIN(audit=[NONE]), x="declared", marks=[Mark(y=1.0)]),
        *(
            curves(m.SANCTIONED[name](audit=lambda it: it != NONE), x="declared", y=f"{whose} packets sanctioned (%)")
            for name, whose in ((net.CHEAT, "the cheat's"), (HEAVY, "honest heavy users'"))
        ),
        looks=Looks(("audit", "credit"), ("audit", "credit"), "{audit}{credit}"),
    ),
)
EQUAL_PACKETS = (net.SMALL_BYTES - net.HEADER_BYTES) / net.PAYLOAD_BYTES
write(
    "x01",
    "Large and small packets behind policers that count packets or bytes",
    grid(net.two_sizes, "r", unit=("packets", "bytes"), r=R),
    text="Ten users with packets of 1500 B and ten with packets of 300 B, 36 flows each. FullConEx, mild policer; "
    "throughput of a user with small packets over one with large ones.",
    columns={
        **{f"X_{name}_mbps": it for name, it in m.SIZES.items()},
        **{f"policed_{name}_percent": m.DROPPED[name] for name in m.SIZES},
    },
    runs=FEW,
    figure=figure(
        on_rates(
            m.SIZES[net.SMALL]() / m.SIZES[net.LARGE](),
            log="y",
            y="small packets' throughput over large ones'",
            marks=[Mark(y=EQUAL_PACKETS, words="equal packets")],
        ),
        looks=Looks("unit", "unit", "{unit}"),
    ),
)
