"""The paper's experiments: grids, captions and figures.

A hundred flows decide. Ten are shown too, on thinner grids, after the run's length and after 600 s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from evenflow.experiments import Experiments, Grid, Thin, grid, thin
from evenflow.figures import Figures, Looks, Mark, curves, dots, drawn, table
from evenflow.run.tunnels import tunnel_table
from evenflow.study import Curve
from evenflow.values import Metric, Shown, Values, computed, joined, of_runs

from . import measures as m
from . import network as net
from .diagram import network, rows
from .measures import AXES, FAIR_LONG, FAIRNESS, GOODPUT, WORDS, of_classes, rates
from .network import DECIDES, ECN, FLOWS, POLICED, REECN, SCHEMES, Options

BASE, FEW = thin(FLOWS, (DECIDES,)), thin(FLOWS[:1])
"""Ten and a hundred flows, at scale quick a hundred; ten flows at the paper's scale."""
DELAYS = thin((5.0, 10.0, 20.0, 50.0, 100.0, 200.0), (5.0, 50.0, 200.0))
HOPS = thin((2, 4, 5, 6, 8, 10, 12), (2, 5, 8))
ERRORS = (0.0, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
RATES = {
    "A": thin((0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0), (0.1, 0.25, 1.0, 8.0)),
    "B": thin((10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4), (30.0, 300.0, 1e4)),
    "A'": thin((0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0), (0.25, 1.0, 8.0)),
}
"""Fig. 5; the paper gives no values. A in tokens, B in bytes per second, A' in multiples of TCP's rate."""
MARKING = thin((0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), (0.001, 0.01, 0.2, 1.0))
STARTS = {
    "A": thin((0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0), (2.0, 20.0, 100.0, 400.0)),
    "B": thin((2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5), (2e3, 2e4, 2e5)),
    "A'": thin((1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0), (2.0, 20.0, 400.0)),
}
"""Fig. 7. The bucket of A' is full at first, so that none begins empty."""
SEVERAL = (*SCHEMES, POLICED)
ERROR_SCHEMES = (net.INSIDE, net.END, net.RENO)
FIVE = (*net.CLASSES, net.PREMIUM)

COLUMNS = {
    "goodput_mbps": GOODPUT,
    "fairness": FAIRNESS,
    "utilisation_percent": m.PERCENT,
    "marked": m.MARKED,
    "queue_drops": m.DROPS,
    "sanctions": m.SANCTIONS,
}
experiment = Experiments("reecn_lte", runs=(10, 3), level=net.LEVEL)
figure = Figures(WORDS, AXES, net.LEVEL)
BY_SCHEME = Looks("scheme", legend="{scheme}")
BY_FLOWS = Looks(("n", "seconds"), legend="{n}, {seconds}")
TIME, RATE = "time (s)", "throughput (Mbit/s)"


def length(o: Options) -> float:
    """Length of a run, s."""
    return o.duration


def lengths(o: Options) -> list[float]:
    """Lengths of runs with ten flows."""
    return sorted({o.duration, net.LONG_S})


def both(make: Callable[..., Any], x: str = "", longer: bool = True, **labels: Any) -> tuple[Grid, Grid]:
    """A hundred flows, and ten on the thinner grid."""
    few = {name: it.quick if isinstance(it, Thin) else it for name, it in labels.items()}
    return (
        grid(make, x, n=DECIDES, seconds=length, **labels),
        grid(make, x, n=FEW, seconds=lengths if longer else length, **few),
    )


def choices(make: Callable[..., Any], *others: Mapping[str, Any], x: str = "", **labels: Any) -> list[Grid]:
    """Every TCP with every RED; at scale quick one of the two is always the default."""
    return [
        grid(make, x, tcp=tcp, red=thin((red,), (red,) if tcp == "reno" or red == "ns2" else ()), **labels, **more)
        for tcp in ("reno", "newreno", "sack")
        for red in ("ns2", "uniform")
        for more in others or [{}]
    ]


def caption(text: str, seconds: str = "", choice: bool = True) -> Callable[[Options], str]:
    """A caption that reports what the paper leaves open."""

    def made(o: Options) -> str:
        tcp = f"TCP {m.NAMES[o.flavour]}; {m.CHOSEN['red'][o.red]}; " if choice else ""
        return (
            f"{text} {tcp}Runs of {seconds or f'{o.duration:g} s'} where no panel names another length; bands and "
            "bars: 95 % intervals."
        )

    return made


def write(name: str, title: str, *grids: Any, text: str, seconds: str = "", choice: bool = True, **more: Any) -> None:
    """An experiment with the usual columns."""
    told = caption(text, seconds, choice)
    experiment(name, title, *grids, **{"columns": COLUMNS, "caption": told, **more})


def over(x: str, *metrics: Metric, by: Sequence[str] = ("n",), looks: Looks = BY_SCHEME, **more: Any) -> Any:
    """A figure of curves of goodput and fairness, or of these metrics."""
    panels = (
        curves(it(), x=x, y_range=(None, None) if it in (FAIRNESS, FAIR_LONG) else (0, None), **more)
        for it in metrics or (GOODPUT, FAIRNESS)
    )
    return figure(*panels, by=by, height=3.0, width=4.3, looks=looks)


def points(x: str, *metrics: Metric, by: Sequence[str] = (), looks: Looks = BY_SCHEME) -> Any:
    """A figure of means and intervals of goodput and fairness, or of these metrics."""
    panels = (dots(it(), row=f"{{{x}}}") for it in metrics or (GOODPUT, FAIRNESS))
    return figure(*panels, by=by, height=0, width=4.3, looks=looks)


def for_each(values: Sequence[Any], grids: Callable[[Any], Sequence[Grid]]) -> list[Grid]:
    """The grids of each value."""
    return [it for value in values for it in grids(value)]


# --- Figures 1 to 4 ---------------------------------------------------------------------------------------------------

INSIDE = "inside the network"
for name, title, panels, text in (
    ("fig01", "The network", [network()], "Without the control plane, which is not modelled."),
    (
        "fig02",
        "Where policer and dropper stand",
        [network("end to end"), network(INSIDE)],
        "End to end, and inside the network. The dropper is before the radio.",
    ),
    (
        "fig03",
        "Re-ECN inside the network",
        [network(INSIDE)],
        "The base station counts marks and missing numbers and reports them; the gateway declares them.",
    ),
    ("fig04", "The simulation's set-up", [network(rates=True)], "Rates, one-way delays and queues."),
):
    setup = panels[0].title
    experiment(
        name,
        title,
        grid(net.over_time, scheme=POLICED, n=DECIDES, seconds=length),
        data=partial(rows, setup),
        caption=f"{text} Drawn from a run's scenario.",
        runs=(1, 1),
        figure=figure(*panels, columns=1, width=9.4, height=3.4),
    )

# --- Figures 5 to 13 --------------------------------------------------------------------------------------------------


def by_policer(x: str, units: Sequence[str], looks: Looks, rules: Sequence[Any]) -> Callable[..., Any]:
    """A row of panels for each policer."""
    panels = [
        curves(
            metric(policer=rule),
            x=x,
            x_title=unit,
            log="x",
            linear=1.0,
            y_range=(0, None) if metric is GOODPUT else (None, None),
            title=f"policer {rule[0]}",
        )
        for rule, unit in zip(rules, units, strict=True)
        for metric in (GOODPUT, FAIRNESS)
    ]
    return figure(*panels, columns=2, height=3.2, width=4.3, own_legends=True, looks=looks)


write(
    "fig05",
    "Goodput over the token rate",
    *for_each(
        ("A", net.TIGHT, "B"),
        lambda it: both(net.fill_rate, "r", longer=it != net.TIGHT, policer=it, r=RATES[it[0]]),
    ),
    grid(net.fill_rate, "r", n=DECIDES, seconds=length, policer="A'", r=RATES["A'"]),
    text="Policer A, A with a tight bucket, B, and A' of section II, whose bucket holds 20 s of a fair share.",
    figure=by_policer(
        "r",
        ("filling rate r (tokens/s)", "filling rate r (bytes of congestion/s)", "filling rate over TCP's rate"),
        Looks(("n", "seconds"), "policer", "{policer}, {n}, {seconds}"),
        (["A", net.TIGHT], ["B"], ["A'"]),
    ),
)
write(
    "fig06",
    "Goodput and fairness over the marking probability",
    *for_each(("red", "fixed"), lambda it: both(net.marking, "p", marks=it, p=MARKING)),
    text="p as RED's maximum, and constant.",
    figure=over("p", by=("n", "seconds"), looks=Looks("marks", legend="{marks}"), log="x"),
)
write(
    "fig07",
    "Goodput and fairness over the initial tokens",
    *for_each(
        [(rule, greedy) for rule in ("A", "B") for greedy in (0.0, 0.2)],
        lambda it: both(net.initial_tokens, "start", it[1] > 0, policer=it[0], greedy=it[1], start=STARTS[it[0]]),
    ),
    grid(net.initial_tokens, "start", n=DECIDES, seconds=length, policer="A'", greedy=[0.0, 0.2], start=STARTS["A'"]),
    text="All honest, and a fifth greedy. A' of section II is full at first.",
    figure=by_policer(
        "start",
        ("initial tokens b_start (s)", "initial tokens b_start (bytes)", "bucket (s of a fair share)"),
        Looks(("n", "seconds"), "greedy", "{greedy}, {n}, {seconds}"),
        (["A"], ["B"], ["A'"]),
    ),
)
write(
    "fig08",
    "Schemes over the number of flows",
    grid(net.of_scheme, "n", scheme=SEVERAL, n=thin((5, 10, 25, 50, 100, 200, 400), (10, 50, 200))),
    text="Goodput, fairness, marks.",
    figure=over("n", GOODPUT, FAIRNESS, m.MARKED, by=(), log="x"),
)
write(
    "fig09",
    "Schemes over the radio delay",
    *for_each(
        SCHEMES,
        lambda it: [
            grid(net.radio_delay, scheme=it, n=10, delay=DELAYS if it == ECN else DELAYS.quick),
            grid(net.radio_delay, scheme=it, n=thin(FLOWS[1:]), delay=DELAYS.paper),
        ],
    ),
    text="Goodput and fairness.",
    figure=over("delay", x_title="delay of the radio link (ms)", log="x"),
)
write(
    "fig10",
    "Schemes over wired hops",
    grid(net.wired_hops, "hops", scheme=SCHEMES, n=FEW, hops=HOPS.quick),
    grid(net.wired_hops, "hops", scheme=thin(SCHEMES, (ECN, REECN)), n=DECIDES, hops=HOPS),
    text="Goodput and fairness.",
    figure=over("hops", whole=True),
)


def without_band(curve: Curve) -> Curve:
    """The mean alone."""
    return replace(curve, lo=curve.mean, hi=curve.mean)


SCHEMES_OVER_TIME = for_each(SEVERAL, lambda it: both(net.over_time, scheme=it))
write(
    "fig11",
    "Throughput over time",
    *SCHEMES_OVER_TIME,
    text="From R2 to R3 in bins of 5 s. Beside each scheme: the mean of drop-tail.",
    figure=figure(
        drawn(
            rates().labelled(who="throughput"),
            rates(scheme=net.DT).map(without_band).labelled(who="drop-tail's mean"),
            x_title=TIME,
            y=RATE,
            y_range=(0, 55),
            marks=[Mark(y=net.CAPACITY_MBPS)],
        ),
        by=("n", "seconds", "scheme"),
        columns=len(SEVERAL),
        width=2.7,
        height=2.6,
        looks=Looks("who", legend="{who}"),
    ),
)
WINDOWS = {seconds: Metric(partial(m.fairness_over, seconds)) for seconds in (60.0, 10.0)}
write(
    "fig12",
    "Fairness of the schemes",
    *SCHEMES_OVER_TIME,
    text="Jain's index over the whole run and over windows of 60 and 10 s, and goodput; the runs of figure 11.",
    figure=figure(
        dots(FAIRNESS(), row="{scheme}", y="Jain's index, whole run"),
        *(dots(metric(), row="{scheme}", y=f"Jain's index, windows of {s:g} s") for s, metric in WINDOWS.items()),
        dots(GOODPUT(), row="{scheme}"),
        height=0,
        looks=BY_FLOWS,
    ),
)
write(
    "fig13",
    "Radio errors",
    *both(net.radio_errors, "scheme", e=thin(ERRORS, (0.0, 1e-3, 0.01, 0.05)), scheme=ERROR_SCHEMES),
    text="Goodput and fairness over the error rate.",
    figure=over("e", by=("n", "seconds"), log="x", linear=1e-5),
)

# --- Figures 14 to 16 -------------------------------------------------------------------------------------------------

ALL_SANCTIONS = thin(net.SANCTIONS, net.FIRST)
write(
    "fig14",
    "An attack",
    grid(net.attack, sanction=ALL_SANCTIONS, n=BASE, attackers=net.HONEST),
    grid(net.attack, sanction=net.FIRST, n=thin(FLOWS), attackers=[net.CHEAT, net.LEGACY]),
    grid(net.attack, sanction=net.FIRST, n=thin((DECIDES,)), attackers=net.SINGLE),
    text="Throughput of victims and attackers for each sanction; attack from 100 to 200 s.",
    seconds="300 s",
    figure=figure(
        drawn(
            rates(net.VICTIMS).labelled(who="victims"),
            rates(net.ATTACKERS).labelled(who="attackers"),
            x_title=TIME,
            y=RATE,
            y_range=(0, 55),
            marks=[Mark(x=net.ATTACK_S)],
        ),
        by=("attackers", "sanction"),
        columns=3,
        height=2.6,
        looks=Looks("who", "n", "{who}, {n}"),
    ),
)
write(
    "fig15",
    "Response time in an attack",
    grid(net.pages, sanction=ALL_SANCTIONS, n=BASE, attack=1),
    grid(net.pages, sanction="none", n=BASE, attack=0),
    text="Pages of 30 kB from the tenth second of the attack on, and without an attack.",
    seconds="200 s",
    figure=figure(
        *(
            dots(metric(attack=0).labelled(sanction="no attack"), metric(attack=1), row="{sanction}", y=metric.title)
            for metric in (m.PAGE, m.PAGE_P95, m.WAIT)
        ),
        height=0,
        looks=Looks("n", legend="{n}"),
    ),
)
write(
    "fig16",
    "Four classes",
    *for_each(
        ("red", "fixed"),
        lambda it: [
            grid(net.classes, marks=it, n=thin((20, 100, 200), (100,)), premium=0),
            grid(net.classes, marks=it, n=DECIDES, premium=1),
        ],
    ),
    text="Throughput of each class in bins of 5 s.",
    figure=figure(
        drawn(
            *(rates(m.of_class(name)).labelled(cls=name) for name in net.CLASSES),
            rates(m.of_class(net.PREMIUM), premium=[1]).labelled(cls=net.PREMIUM),
            x_title=TIME,
            y=RATE,
        ),
        by=("n", "premium", "marks"),
        columns=2,
        height=2.6,
        width=4.3,
        looks=Looks("cls", legend="{cls}"),
    ),
)

# --- Variants that no claim is judged on: as many runs as the paper has -----------------------------------------------

BESIDE = (5, 3)
SHARES = thin((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.0, 0.4, 0.8))
write(
    "fig08-background",
    "Schemes beside constant-rate traffic",
    grid(net.background, "background", scheme=SCHEMES, n=FEW, background=SHARES.quick),
    grid(net.background, "background", scheme=SCHEMES, n=DECIDES, background=SHARES),
    text="Figure 8 with a share of the link taken by datagrams.",
    runs=BESIDE,
    figure=over("background", m.LONG, FAIR_LONG),
)
write(
    "fig09-wired",
    "Schemes over the delay from R2 to R3",
    grid(net.wired_delay, "delay", scheme=SCHEMES, n=FEW, delay=DELAYS.quick),
    grid(net.wired_delay, "delay", scheme=SCHEMES, n=DECIDES, delay=DELAYS),
    text="Figure 9 with the wired bottleneck's delay.",
    runs=BESIDE,
    figure=over("delay", x_title="delay from R2 to R3 (ms)", log="x"),
)
write(
    "fig09-mixed",
    "Round trips of five lengths in one run",
    grid(net.mixed_delays, scheme=SCHEMES, n=BASE),
    text="Figure 9 with radio links of 5 to 200 ms side by side.",
    runs=BESIDE,
    figure=figure(
        curves(
            joined(*(m.of_one(net.delay_group(d))().labelled(delay=d) for d in net.MIXED_MS)),
            x="delay",
            x_title="delay of the radio link (ms)",
            y="goodput of a flow (Mbit/s)",
            log="x",
        ),
        by=("n",),
        columns=2,
        looks=BY_SCHEME,
    ),
)
write(
    "fig10-narrow",
    "Schemes over hops that are all narrow",
    grid(net.narrow_hops, scheme=SCHEMES, n=BASE, hops=thin(HOPS.quick, HOPS.quick[:2])),
    text="Figure 10 with 50 Mbit/s and flows of its own on every hop.",
    runs=BESIDE,
    figure=over("hops", m.LONG, FAIR_LONG, whole=True),
)
write(
    "fig13-radio",
    "Radio errors in bursts, and repaired",
    grid(net.radio_errors, "scheme", scheme=ERROR_SCHEMES, radio=net.RADIOS, n=BASE, e=(0.01, 0.05)),
    text="Figure 13 with losses in bursts of five, and with RLC that sends again up to three times.",
    runs=BESIDE,
    figure=points("radio", by=("n", "e")),
)

# --- Every TCP with every RED -----------------------------------------------------------------------------------------

TCP_AND_RED = Looks(("tcp", "red"), legend="{tcp}, {red}")
write(
    "x-tcp06",
    "Figure 6 by TCP and RED",
    *choices(net.marking, x="p", marks=["red", "fixed"], n=DECIDES, p=thin((0.001, 0.01, 0.05, 0.2, 1.0), (0.01, 0.2))),
    text="Every TCP with every RED.",
    choice=False,
    figure=over("p", by=("tcp",), looks=Looks("red", "marks", "{red}, {marks}"), log="x"),
)
write(
    "x-tcp11",
    "Figures 11 and 12 by TCP and RED",
    *choices(net.over_time, scheme=SEVERAL, n=BASE),
    text="Every TCP with every RED.",
    choice=False,
    figure=points("scheme", by=("n",), looks=TCP_AND_RED),
)
write(
    "x-tcp16",
    "Figure 16 by TCP and RED",
    *choices(net.classes, {"marks": "red", "premium": [0, 1]}, {"marks": "fixed", "premium": 0}, n=DECIDES),
    text="Every TCP with every RED.",
    choice=False,
    figure=figure(
        dots(
            joined(of_classes(m.of_group, tuple(net.CLASSES)), of_classes(m.of_group, (net.PREMIUM,), premium=[1])),
            row="{cls}",
            y="goodput of a class (Mbit/s)",
        ),
        by=("marks", "premium"),
        columns=3,
        height=0,
        looks=TCP_AND_RED,
    ),
)

# --- Beyond the paper's figures ---------------------------------------------------------------------------------------

WATCHED = {"declared": 1.0, "policed": 0}
write(
    "x-rate",
    "Rate and tokens under constant probability",
    grid(net.constant_p, p=[0.001, 0.003, 0.01, 0.03, 0.1], **WATCHED),
    grid(net.constant_p, "declared", p=0.01, declared=[1.0, 2.0], policed=[1, 2]),
    text="Ten flows, no queue.",
    figure=figure(
        curves(m.RATE_RATIO(**WATCHED), x="p", log="x", y_range=(None, None), marks=[Mark(y=1.0)]),
        curves(m.DRIFT(**WATCHED), x="p", log="x", y_range=(None, None), marks=[Mark(y=0.0)]),
    ),
)
PLACES = ("gateway", "R1", "S-GW", "R2", "R3", "base station", "phone")
"""Of the meters of x-bal."""
write(
    "x-bal",
    "The balance sheet along the path",
    grid(net.balance, p=[0.0298, 0.0]),
    text="Two queues mark 1 and 2 %; 20 flows, 600 s. R1 to S-GW marks 1 %, R2 to R3 marks 2 %.",
    seconds="600 s",
    figure=figure(
        dots(
            *(
                joined(
                    *(
                        Metric(f"stages.{meter}.{who}_congestion", per=0.01)(p=0.0298).labelled(at=place, who=words)
                        for meter, place in zip(net.METERS, PLACES, strict=True)
                    )
                )
                for who, words in (("path", "declared"), ("upstream", "upstream"), ("downstream", "downstream"))
            ),
            row="{at}",
            y="congestion (%)",
        ),
        height=0,
        looks=Looks("who", legend="{who}"),
    ),
)
write(
    "x-adds",
    "What adds up over flows and paths",
    grid(net.sums, run=["two paths", "colours", "answers"]),
    text="Transfers that end; counters at both ends.",
)
write(
    "x-charge",
    "What tokens are taken for",
    grid(net.charge, policer=["A", "B"], declared=[0.0, 1.0]),
    text="Flows that declare all and nothing; 100 s.",
    seconds="100 s",
)
write(
    "x-depth",
    "Innocent sanctions over the bucket's depth",
    grid(net.depth, n=BASE, depth=thin((20.0, 40.0, 100.0, 200.0, 400.0, 1000.0), (20.0, 200.0, 1000.0))),
    text="Policer A, honest flows.",
    figure=figure(
        curves(m.SANCTIONS(), x="depth", y="packets dropped by the policer", log="x"),
        curves(GOODPUT(), x="depth", log="x"),
        by=("n",),
        height=3,
    ),
)
FLOOD_MBPS = (0.25, 0.5, 1.0, 2.0)
write(
    "x-flood",
    "An unresponsive source behind policer A'",
    grid(net.unresponsive, mbps=FLOOD_MBPS),
    text="p = 1 %.",
    seconds="300 s",
    figure=figure(
        curves(
            m.FLOOD_DROPPED().labelled(who="measured"),
            computed(lambda mbps: max(0.0, 1 - m.formula_mbps(0.01) / mbps), mbps=FLOOD_MBPS).labelled(who="1 − B / X"),
            x="mbps",
            y=m.FLOOD_DROPPED.title,
        ),
        looks=Looks("who", "who", "{who}"),
    ),
)


def level(stage: str) -> list[Values]:
    """Tokens or balance of each kind of flow over time."""
    return [
        of_runs(m.over_time(partial(m.levels, stage, group))).labelled(who=words)
        for group, words in ((net.PHONES, "honest"), (net.GREEDY, "greedy"), (net.UNDER, "understating"))
    ]


write(
    "x-levels",
    "Tokens and balances over time",
    grid(net.levels, n=BASE),
    text="Honest, greedy, understating flows.",
    figure=figure(
        drawn(
            *level("police"),
            x_title=TIME,
            y="tokens at the policer (s)",
            y_range=(None, None),
            marks=[Mark(y=0.0, words="sanctions below")],
        ),
        drawn(
            *level("drop"),
            x_title=TIME,
            y="balance at the dropper (packets)",
            y_range=(None, None),
            log="y",
            linear=10.0,
            marks=[Mark(y=-3.0, words="allowance")],
        ),
        by=("n",),
        height=3,
        width=4.3,
        looks=Looks("who", legend="{who}"),
    ),
)
DECLARED = thin((0.0, 0.25, 0.5, 0.75, 1.0, 2.0), (0.0, 0.5, 1.0, 2.0))
write(
    "x-cheat",
    "What understating brings",
    *for_each(
        ("strict", "ratio", "paper"),
        lambda it: [
            grid(net.understating, rule=it, declared=DECLARED, control="TCP"),
            grid(net.understating, rule=it, declared=0.0, control="constant"),
        ],
    ),
    text="Droppers; p = 1 %.",
    figure=figure(
        curves(GOODPUT(control="TCP"), x="declared"),
        curves(m.SANCTIONS(control="TCP"), x="declared", y="packets dropped by the dropper"),
        looks=Looks("rule", legend="{rule}"),
    ),
)
write(
    "x-cust",
    "Customers with one and with ten flows",
    grid(net.customers, policed=[0, 1]),
    text="Policer B.",
    figure=figure(
        dots(of_classes(m.of_one, (net.ONE, net.TEN)), row="{cls}", y="goodput of a customer (Mbit/s)"),
        height=0,
        looks=Looks("policed", legend="{policed}"),
    ),
)
RULES = {
    "rfc6040": "RFC 6040",
    "rfc6040-compatibility": "RFC 6040, compatibility",
    "rfc3168": "RFC 3168",
    "rfc4301": "RFC 4301",
    "paper": "the paper",
}


def tunnel(rule: str, shown: Shown) -> list[list[str]]:
    """The fields that leave a tunnel: a row for each inner field, a column for each outer one."""
    found = tunnel_table()
    fields, alarms, out = found["fields"], found["alarms"], found["rules"][rule]["egress"]
    return [
        ["inner \\ outer", *fields],
        *(
            [inner, *(f"{out[inner][it] or 'drop'}{' !' if alarms[inner][it] else ''}" for it in fields)]
            for inner in fields
        ),
    ]


write(
    "x-gtp",
    "Reports and tunnels",
    grid(net.reports, lost=[0.0, 0.3], rule=["paper", "rfc6040"]),
    text="The ECN field that leaves a tunnel, by rule; ! : a pair that RFC 6040 calls unused, possibly dangerous or "
    "dangerous.",
    figure=figure(
        *(table(partial(tunnel, name), title=words) for name, words in RULES.items()), columns=2, width=4.8, height=2.0
    ),
)
write(
    "x-or",
    "Marks before, inside and behind a tunnel",
    grid(net.or_marks, marked=3),
    text="Each packet counts once; 60 s.",
    seconds="60 s",
)
write(
    "x-int",
    "How often reports are sent",
    grid(net.report_interval, trips=thin((1, 2, 5, 10), (1, 5)), dropper=0),
    grid(net.report_interval, trips=1, dropper=1),
    text="Inside the network, 100 flows.",
    figure=figure(curves(GOODPUT(dropper=0), x="trips"), curves(FAIRNESS(dropper=0), x="trips", y_range=(None, None))),
)
write(
    "x-rank",
    "The first ten seconds of an attack",
    grid(net.first_seconds, n=DECIDES),
    text="Congestion volume by user.",
)
write(
    "x-bleach",
    "Middleboxes that clear fields",
    grid(net.bleached, "scheme", scheme=[REECN, net.INSIDE], washed=[0, 1]),
    text="100 flows.",
    figure=points("scheme", looks=Looks("washed", legend="{washed}")),
)
write(
    "x-blind",
    "Senders that take no loss for congestion",
    grid(net.blind, "sender", sender=["blind", REECN], e=[0.0, 0.05]),
    text="Radio errors of 5 %; 100 flows.",
    figure=points("sender", looks=Looks("e", legend="{e}")),
)
write(
    "x-prio",
    "Drop preference at an overloaded queue",
    grid(net.preference, queue="drop-preference"),
    text="Shares dropped by class; 120 s.",
    seconds="120 s",
    figure=figure(
        dots(
            joined(
                *(
                    m.dropped_of(name)(queue="drop-preference").labelled(packets=name)
                    for name in (net.NO_ECN, net.NEUTRAL, net.POSITIVE)
                )
            ),
            row="{packets}",
            y="packets dropped (%)",
        ),
        height=0,
        looks=Looks(legend="dropped"),
    ),
)
write(
    "x-premium",
    "What marks a class of p = 0",
    grid(net.premium, upper=list(net.PREMIUM_REDS)),
    text="Upper pieces of RED; 100 flows.",
    figure=figure(
        dots(of_classes(m.of_group, FIVE), row="{cls}", y="goodput of a class (Mbit/s)"),
        dots(of_classes(m.marked_of, FIVE), row="{cls}", y="packets marked (%)"),
        height=0,
        looks=Looks("upper", legend="upper piece {upper}"),
    ),
)
write(
    "x-mix",
    "Short and long flows",
    grid(net.short_and_long, scheme=SEVERAL, n=BASE),
    text="A fifth of the users has a long flow.",
    figure=points("scheme", FAIR_LONG, m.SHORT_FLOW, looks=Looks("n", legend="{n}")),
)
