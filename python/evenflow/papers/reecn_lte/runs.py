"""All experiments: the paper's figures 5 to 16, and nine beyond them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow.claims import Scale
from evenflow.lab import Numbers, at, data, quantity
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point, Table

from . import figures, measures
from . import network as net
from .choices import Options
from .network import ECN, PHONES, POLICED, RED, REECN, SCHEMES, Policer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATES = {
    "A": (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0),
    "B": (10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4),
}
RATES_QUICK = {"A": (0.1, 0.25, 1.0, 8.0), "B": (30.0, 300.0, 1e4)}
"""Fig. 5; the paper gives no values. A in tokens, B in bytes a second."""
STARTS = {
    "A": (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0),
    "B": (2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5),
}
STARTS_QUICK = {"A": (2.0, 20.0, 100.0, 400.0), "B": (2e3, 2e4, 2e5)}
PROBABILITIES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
PROBABILITIES_QUICK = (0.001, 0.01, 0.2, 1.0)
NUMBERS = (5, 10, 25, 50, 100, 200, 400)
NUMBERS_QUICK = (10, 50, 200)
DELAYS_MS = (5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
DELAYS_QUICK = (5.0, 50.0, 200.0)
HOPS = (2, 4, 5, 6, 8, 10, 12)
HOPS_QUICK = (2, 5, 8)
ERRORS = (0.0, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
ERRORS_QUICK = (0.0, 1e-3, 0.01, 0.05)
RATE_GRID = (0.001, 0.003, 0.01, 0.03, 0.1)
DEPTHS = (20.0, 40.0, 100.0, 200.0, 400.0, 1000.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)
SHARES_QUICK = (0.0, 0.5, 1.0, 2.0)
FLOOD_MBPS = (0.25, 0.5, 1.0, 2.0)
B = Policer("B", 100.0, 2e4, 6e4)
INSIDE, END, RENO = "inside Re-ECN", "ECN", "Reno"


def scheme(o: Options, label: str, flows: int, **more: Any) -> Scenario:
    """A scheme by its label; `POLICED` has the default policer and the strict dropper."""
    if label == POLICED:
        return net.bulk(o, REECN, flows, policer=Policer(), with_dropper=True, **more)
    return net.bulk(o, label, flows, **more)


def _flows(scale: Scale) -> Sequence[int]:
    return at(scale, net.FLOWS, (100,))


def fig05(o: Options, scale: Scale) -> list[Point]:
    """Goodput over r for both policers."""
    found = []
    for rule in ("A", "B"):
        for n in _flows(scale):
            for r in at(scale, RATES[rule], RATES_QUICK[rule]):
                it = Policer(rule, r) if rule == "A" else Policer("B", r, 2e4, 6e4)
                found.append(Point({"policer": rule, "n": n, "r": r}, net.bulk(o, REECN, n, policer=it)))
    return found


def fig06(o: Options, scale: Scale) -> list[Point]:
    """Goodput and fairness over the marking probability."""
    return [
        Point(
            {"marks": marks, "n": n, "p": p},
            net.bulk(
                o,
                REECN,
                n,
                queue=net.queue(o, REECN, max_probability=p) if marks == "red" else net.fixed(o, p),
            ),
        )
        for marks in ("red", "fixed")
        for n in _flows(scale)
        for p in at(scale, PROBABILITIES, PROBABILITIES_QUICK)
    ]


def fig07(o: Options, scale: Scale) -> list[Point]:
    """Goodput and fairness over b_start, with greedy flows and without."""
    found = []
    for rule in ("A", "B"):
        for n in _flows(scale):
            for greedy in (0.0, 0.2):
                for start in at(scale, STARTS[rule], STARTS_QUICK[rule]):
                    it = Policer("A", start=start) if rule == "A" else Policer("B", 100.0, start, 2e5)
                    labels = {"policer": rule, "n": n, "greedy": greedy, "start": start}
                    found.append(Point(labels, net.bulk(o, REECN, n, policer=it, greedy=greedy)))
    return found


def fig08(o: Options, scale: Scale) -> list[Point]:
    """Schemes over the number of flows."""
    return [
        Point({"scheme": s, "n": n}, scheme(o, s, n))
        for s in (*SCHEMES, POLICED)
        for n in at(scale, NUMBERS, NUMBERS_QUICK)
    ]


def fig09(o: Options, scale: Scale) -> list[Point]:
    """Schemes over the delay of the radio link."""
    return [
        Point({"scheme": s, "n": n, "delay": d}, scheme(o, s, n, radio={"delay": quantity(d, "ms")}))
        for s in SCHEMES
        for n in at(scale, net.FLOWS, (10,))
        for d in at(scale, DELAYS_MS, DELAYS_QUICK)
    ]


def fig10(o: Options, scale: Scale) -> list[Point]:
    """Schemes over the number of wired hops."""
    return [
        Point({"scheme": s, "n": n, "hops": h}, scheme(o, s, n, hops=h))
        for s in at(scale, SCHEMES, (ECN, REECN))
        for n in _flows(scale)
        for h in at(scale, HOPS, HOPS_QUICK)
    ]


def fig11(o: Options, scale: Scale) -> list[Point]:
    """Throughput over time for each scheme."""
    record = net.series(net.THROUGHPUT)
    return [
        Point({"scheme": s, "n": n}, scheme(o, s, n, record=record)) for s in (*SCHEMES, POLICED) for n in _flows(scale)
    ]


def fig13(o: Options, scale: Scale) -> list[Point]:
    """Radio errors: re-ECN inside the network, ECN between terminals, Reno."""
    found = []
    for n in _flows(scale):
        for e in at(scale, ERRORS, ERRORS_QUICK):
            radio = {"loss": e} if e else {}
            for name, it in (
                (INSIDE, net.inside(o, n, radio=radio)),
                (END, net.bulk(o, ECN, n, radio=radio)),
                (RENO, net.bulk(o, RED, n, radio=radio)),
            ):
                found.append(Point({"scheme": name, "n": n, "e": e}, it))
    return found


SANCTIONS: Mapping[str, Policer | None] = {
    "none": None,
    "drop-while-empty": Policer(action="drop-while-empty"),
    "block": Policer(action="block"),
}


def fig14(o: Options, scale: Scale) -> list[Point]:
    """An attack, without a policer and with two sanctions."""
    record = net.series(net.THROUGHPUT, f"groups.{PHONES}.users[*].flows[0].received_bytes", net.ATTACKERS)
    return [
        Point(
            {"sanction": name, "n": n, "attackers": kind},
            net.attacked(o, ECN if it is None else REECN, n, it, kind == "honest", record=record),
        )
        for n in _flows(scale)
        for kind in at(scale, ("honest", "legacy"), ("honest",))
        for name, it in SANCTIONS.items()
    ]


def fig15(o: Options, scale: Scale) -> list[Point]:
    """The attack alone, measured from its tenth second on: pages of victims."""
    return [
        Point(
            {"sanction": name, "n": n},
            net.attacked(o, ECN if it is None else REECN, n, it, duration=200.0, warmup="110 s"),
        )
        for n in _flows(scale)
        for name, it in SANCTIONS.items()
    ]


def fig16(o: Options, scale: Scale) -> list[Point]:
    """Four classes by marking probability; and a fifth that is never marked."""
    found = []
    for marks in ("red", "fixed"):
        for n in at(scale, (20, 100, 200), (100,)):
            found += [Point({"marks": marks, "n": n, "premium": 0}, net.classes(o, n, marks))]
        found.append(Point({"marks": marks, "n": 100, "premium": 1}, net.classes(o, 100, marks, premium=True)))
    return found


def x_rate(o: Options, scale: Scale) -> list[Point]:
    """Flows under a constant probability, with a policer that never acts; and ones that declare twice as much."""
    watch = Policer(r=1.0, start=1e5, most=1e6)
    found = [Point({"p": p, "declared": 1.0, "policed": 0}, net.wide(o, p, flows=10, policer=watch)) for p in RATE_GRID]
    tight = Policer(start=20.0, most=40.0)
    found += [
        Point({"p": 0.01, "declared": d, "policed": 1}, net.wide(o, 0.01, flows=10, declared=d, policer=tight))
        for d in (1.0, 2.0)
    ]
    return found


def x_bal(o: Options, scale: Scale) -> list[Point]:
    """Two queues that mark 1 and 2 %, with a meter before, between and behind them."""
    scenario = net.wide(
        o,
        0.02,
        flows=20,
        duration=600.0,
        links={
            "r1-sgw": {"rate": "1 Gbit/s", "delay": "20 ms", "queue": {**net.fixed(o, 0.01), "limit": "10000 packets"}}
        },
        stages={name: {"kind": "congestion-meter"} for name in measures.METERS},
    )
    before, between, behind = measures.METERS
    path = [before, "pgw-r1", "r1-sgw", between, "sgw-r2", net.LINK, behind, "r3-enb", "radio"]
    both = scenario.set(f"groups.{PHONES}.path", path)
    # no marks, and an end before any window fills a link: what flows send first
    quiet = both.with_settings(
        {"links.r1-sgw.queue.probability": 0.0, f"links.{net.LINK}.queue.probability": 0.0, "duration": "7 s"}
    )
    return [Point({"p": 0.0298}, both), Point({"p": 0.0}, quiet)]


def x_depth(o: Options, scale: Scale) -> list[Point]:
    """Innocent flows behind buckets of several depths."""
    return [
        Point({"n": n, "depth": d}, net.bulk(o, REECN, n, policer=Policer(start=min(20.0, d), most=d)))
        for n in _flows(scale)
        for d in at(scale, DEPTHS, (20.0, 200.0, 1000.0))
    ]


def x_flood(o: Options, scale: Scale) -> list[Point]:
    """One unresponsive source behind policer A', under a constant probability of 1 %."""
    found = []
    for mbps in FLOOD_MBPS:
        path = [net.SOURCE, "police", "pgw-r1", "r1-sgw", "sgw-r2", net.LINK, "r3-enb", net.SINK, "radio"]
        police = {
            "kind": "congestion-policer",
            "per": "user",
            "rule": "rate-bytes",
            "depth": "20 kB",
            "rtt": "600 ms",
            "strangers": "own",
        }
        groups = {net.ATTACK: net.flood(mbps, 1, 1.0, 300.0, path)}
        stages = {"police": police, **net.REPORTS}
        it = net.bulk(
            o, REECN, 1, groups=groups, queue=net.fixed(o, 0.01), stages=stages, warmup="50 s", duration=300.0
        )
        found.append(Point({"mbps": mbps}, it))
    return found


def x_cheat(o: Options, scale: Scale) -> list[Point]:
    """TCP flows that declare a share of their congestion, and an unresponsive one that declares nothing."""
    found = []
    for rule in ("strict", "ratio", "paper"):
        for d in at(scale, SHARES, SHARES_QUICK):
            it = net.wide(o, 0.01, flows=10, declared=d, dropper=net.dropper(rule))
            found.append(Point({"rule": rule, "declared": d, "control": "TCP"}, it))
        flat = {"kind": "constant", "window": "100 packets"}
        it = net.wide(o, 0.05, flows=10, declared=0.0, control=flat, dropper=net.dropper(rule), warmup="30 s")
        found.append(Point({"rule": rule, "declared": 0.0, "control": "constant"}, it))
    return found


def x_cust(o: Options, scale: Scale) -> list[Point]:
    """Customers with one and with ten flows, behind policer B and without."""
    groups = {
        name: {
            "users": users,
            "class": name,
            "tcp": net.tcp(o, REECN),
            "traffic": {"kind": "bulk", "flows": flows, "start": {"uniform": ["0 s", "5 s"]}},
        }
        for name, users, flows in ((measures.ONE, 10, 1), (measures.TEN, 9, 10))
    }
    tight = Policer("B", measures.CUST_R, measures.CUST_DEPTH, measures.CUST_DEPTH, "drop-while-empty")
    return [
        Point({"policed": int(it is not None)}, net.bulk(o, REECN, 100, groups=groups, policer=it))
        for it in (None, tight)
    ]


def x_gtp(o: Options, scale: Scale) -> list[Point]:
    """Reports: one tunnel for all, whose packets stop before the run does; two queues that mark; reports lost."""
    found = []
    quiet = {"users": 1, "traffic": {"kind": "cbr", "rate": "8 kbit/s", "packet": "1000 B"}}
    load = {"users": 10, "traffic": {"kind": "poisson", "rate": "5.2 Mbit/s", "packet": "1000 B", "until": "40 s"}}
    for lost in (0.0, 0.3):
        for rule in ("paper", "rfc6040"):
            scenario = net.inside(
                o,
                10,
                groups={PHONES: load, "trickle": quiet},
                report={"loss": lost},
                duration=60.0,
                links={
                    "r1-sgw": {
                        "rate": "100 Mbit/s",
                        "delay": "20 ms",
                        "queue": {**net.fixed(o, 0.005), "limit": "1000 packets"},
                    }
                },
            )
            for stage in ("into", "gateway", "report", "out"):
                scenario = scenario.unset(f"stages.{stage}.per")
            scenario = scenario.set("stages.out.ecn", rule)
            found.append(Point({"lost": lost, "rule": rule}, scenario))
    return found


def x_int(o: Options, scale: Scale) -> list[Point]:
    """Reports once in so many round trips; and with a dropper."""
    found = [
        Point({"trips": trips, "dropper": 0}, net.inside(o, 100, every=0.2 * trips))
        for trips in at(scale, (1, 2, 5, 10), (1, 5))
    ]
    return [*found, Point({"trips": 1, "dropper": 1}, net.inside(o, 100, with_dropper=True))]


def x_rank(o: Options, scale: Scale) -> list[Point]:
    """The first ten seconds of an attack inside the network: whose packets met congestion."""
    traffic = {"kind": "cbr", "rate": "4.5 Mbit/s", "packet": "1000 B", "start": "100 s"}
    groups = {PHONES: {"users": 100}, net.ATTACK: {"users": 10, "traffic": traffic}}
    return [Point({"n": 100}, net.inside(o, 100, groups=groups, duration=110.0, warmup="100 s"))]


def x_bleach(o: Options, scale: Scale) -> list[Point]:
    """Terminals behind a middlebox that clears the ECN field and RE."""
    wash = {"wash": {"kind": "rewriter", "ecn": "not-ect", "re": False, "direction": "forward"}}
    found = []
    for washed in (0, 1):
        end = net.bulk(o, REECN, 100, stages=wash if washed else {})
        within = net.inside(o, 100, stages=wash if washed else {})
        for name, it in ((REECN, end), (INSIDE, within)):
            if washed:
                path = list(it.get(f"groups.{PHONES}.path"))
                it = it.set(f"groups.{PHONES}.path", [*path[:-1], "wash", path[-1]])
            found.append(Point({"scheme": name, "washed": washed}, it))
    return found


def x_prio(o: Options, scale: Scale) -> list[Point]:
    """An overloaded queue with drop preference: legacy packets, neutral ones and ones that all declare."""
    flat = {"kind": "constant", "window": "400 packets"}
    groups = {}
    for name, declared in ((measures.POSITIVE, 100.0), (measures.NEUTRAL, 0.0), (measures.LEGACY, None)):
        speaks = net.tcp(o, REECN if declared is not None else RED, congestion_control=flat)
        if declared is not None:
            # this queue marks nothing: losses are all that there is to declare
            speaks["conex"] = {**speaks["conex"], "report": "loss", "declared": declared}
        groups[name] = {"users": 5, "class": name, "tcp": speaks}
    queue = {"kind": "drop-preference", "limit": "250 packets", "step": "40 packets"}
    return [Point({"queue": "drop-preference"}, net.bulk(o, REECN, 15, groups=groups, queue=queue, duration=120.0))]


def x_mix(o: Options, scale: Scale) -> list[Point]:
    """Long flows beside many short ones."""
    found = []
    for s in (RED, ECN, REECN, POLICED):
        speaks = net.tcp(o, REECN if s == POLICED else s)
        short = {
            "kind": "short-flows",
            "interval": {"exponential": "4 s"},
            "size": {"pareto": ["30 kB", 1.2]},
        }
        groups = {
            PHONES: {"users": 20, "tcp": speaks},
            net.SHORT: {"users": 80, "tcp": speaks, "traffic": short},
        }
        found.append(Point({"scheme": s}, scheme(o, s, 100, groups=groups)))
    return found


def experiment(
    o: Options,
    name: str,
    title: str,
    points: Callable[[Options, Scale], Sequence[Point]],
    figure: Callable[[Table], Figure] | None,
    caption: str,
    numbers: Numbers = measures.GENERAL,
) -> Experiment:
    """One experiment."""
    tail = f" TCP {o.flavour}, RED {o.red}, runs of {o.duration:g} s unless said. Bands are 95 % intervals."
    return Experiment(
        f"reecn_lte-{name}", title, partial(points, o), net.SEEDS, figure, caption + tail, data(numbers, net.LEVEL)
    )


def experiments(o: Options) -> tuple[Experiment, ...]:
    """All of them, in the paper's order."""
    f = figures
    rows: tuple[tuple[Any, ...], ...] = (
        ("fig05", "Goodput over the token rate", fig05, f.fig05, "Goodput over r, both policers."),
        (
            "fig06",
            "Goodput and fairness over the marking probability",
            fig06,
            f.fig06,
            "As RED's maximum, and constant.",
        ),
        ("fig07", "Goodput and fairness over the initial tokens", fig07, f.fig07, "Without and with a fifth greedy."),
        ("fig08", "Schemes over the number of flows", fig08, f.fig08, "Goodput, fairness, marks."),
        ("fig09", "Schemes over the radio delay", fig09, f.fig09, "Goodput and fairness."),
        ("fig10", "Schemes over wired hops", fig10, f.fig10, "Goodput and fairness."),
        ("fig11", "Throughput over time", fig11, f.fig11, "Share of R2 to R3 in bins of 5 s."),
        ("fig12", "Fairness of the schemes", fig11, f.fig12, "Jain's index and goodput; the runs of figure 11."),
        ("fig13", "Radio errors", fig13, f.fig13, "Goodput and fairness over the error rate."),
        ("fig14", "An attack", fig14, f.fig14, "Throughput of victims and attackers; attack from 100 to 200 s."),
        (
            "fig15",
            "Response time in an attack",
            fig15,
            f.fig15,
            "Pages of 30 kB from the tenth second of the attack on.",
        ),
        ("fig16", "Four classes", fig16, f.fig16, "Throughput of each class in bins of 5 s."),
        ("x-rate", "Rate and tokens under constant probability", x_rate, f.x_rate, "Ten flows, no queue."),
        ("x-bal", "The balance sheet along the path", x_bal, f.x_bal, "Two queues mark 1 and 2 %."),
        ("x-depth", "Innocent sanctions over the bucket's depth", x_depth, f.x_depth, "Policer A, honest flows."),
        ("x-flood", "An unresponsive source behind policer A'", x_flood, f.x_flood, "p = 1 %."),
        ("x-cheat", "What understating brings", x_cheat, f.x_cheat, "Droppers; p = 1 %."),
        ("x-cust", "Customers with one and with ten flows", x_cust, f.x_cust, "Policer B."),
        ("x-gtp", "Reports and tunnels", x_gtp, None, "Counters at both ends."),
        ("x-int", "How often reports are sent", x_int, f.x_int, "Inside the network, 100 flows."),
        ("x-rank", "The first ten seconds of an attack", x_rank, None, "Congestion volume by user."),
        ("x-bleach", "Middleboxes that clear fields", x_bleach, f.x_bleach, "100 flows."),
        ("x-prio", "Drop preference at an overloaded queue", x_prio, f.x_prio, "Shares dropped by class."),
        ("x-mix", "Short and long flows", x_mix, f.x_mix, "20 long flows, 80 users of short ones."),
    )
    return tuple(experiment(o, *row) for row in rows)
