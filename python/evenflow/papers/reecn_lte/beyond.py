"""Experiments beyond the paper's figures: what its words are judged by, and what its mechanisms do over time."""

from __future__ import annotations

from dataclasses import replace

from evenflow.claims import Scale
from evenflow.lab import at
from evenflow.study import Point

from . import measures, runs
from . import network as net
from .choices import Options
from .network import DT, ECN, PHONES, POLICED, RED, REECN, Policer
from .runs import INSIDE

RATE_GRID = (0.001, 0.003, 0.01, 0.03, 0.1)
DEPTHS = (20.0, 40.0, 100.0, 200.0, 400.0, 1000.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)
SHARES_QUICK = (0.0, 0.5, 1.0, 2.0)
FLOOD_MBPS = (0.25, 0.5, 1.0, 2.0)


def x_rate(o: Options, scale: Scale) -> list[Point]:
    """Flows under a constant probability, with a policer that never acts; and ones that declare twice as much.

    Policed: 0 by a bucket that is never empty, 1 by a tight one, 2 by one that charges every positive packet.
    """
    watch = Policer(r=1.0, start=1e5, most=1e6)
    found = [Point({"p": p, "declared": 1.0, "policed": 0}, net.wide(o, p, flows=10, policer=watch)) for p in RATE_GRID]
    tight = Policer(start=20.0, most=40.0)
    for policed, it in ((1, o), (2, replace(o, event_merge="off"))):
        found += [
            Point(
                {"p": 0.01, "declared": d, "policed": policed},
                net.wide(it, 0.01, flows=10, declared=d, policer=tight),
            )
            for d in (1.0, 2.0)
        ]
    return found


def x_bal(o: Options, scale: Scale) -> list[Point]:
    """Two queues that mark 1 and 2 %, with a meter before the first link, and behind each."""
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
    first, *behind = measures.METERS
    links = ("pgw-r1", "r1-sgw", "sgw-r2", net.LINK, "r3-enb", net.RADIO)
    path = [first, *(it for pair in zip(links, behind, strict=True) for it in pair)]
    both = scenario.set(f"groups.{PHONES}.path", path)
    # no marks, and an end before any window fills a link: what flows send first
    quiet = both.with_settings(
        {"links.r1-sgw.queue.probability": 0.0, f"links.{net.LINK}.queue.probability": 0.0, "duration": "7 s"}
    )
    return [Point({"p": 0.0298}, both), Point({"p": 0.0}, quiet)]


def x_adds(o: Options, scale: Scale) -> list[Point]:
    """Transfers over two paths that end long before the run does, so that nothing is on its way: what adds up exactly.

    Those from afar cross two queues that mark, those from near by the second alone.
    """
    scenario = net.bulk(
        o,
        REECN,
        40,
        groups={
            name: {
                "users": 20,
                "tcp": net.tcp(o, REECN),
                "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}, "until": "60 s"},
            }
            for name in (measures.FAR, measures.NEAR)
        },
        duration=120.0,
        links={
            "r1-sgw": {"rate": "100 Mbit/s", "delay": "20 ms", "queue": {**net.fixed(o, 0.01), "limit": "1000 packets"}}
        },
        stages={name: {"kind": "congestion-meter"} for name in (measures.SENT, measures.GOT)},
    )
    chain = ["sgw-r2", net.LINK, measures.GOT, "r3-enb", net.RADIO]
    scenario = scenario.set(f"groups.{measures.FAR}.path", [measures.SENT, "pgw-r1", "r1-sgw", *chain])
    scenario = scenario.set(f"groups.{measures.NEAR}.path", [measures.SENT, *chain])
    # nothing is lost where no link fills, so that the colours of packets add up too
    wide = net.wide(
        o,
        0.02,
        flows=20,
        duration=120.0,
        links={
            "r1-sgw": {"rate": "1 Gbit/s", "delay": "20 ms", "queue": {**net.fixed(o, 0.01), "limit": "10000 packets"}}
        },
        stages={name: {"kind": "congestion-meter"} for name in (measures.SENT, measures.GOT)},
    )
    wide = wide.set(f"groups.{PHONES}.path", [measures.SENT, "pgw-r1", "r1-sgw", *chain])
    wide = wide.set(f"groups.{PHONES}.traffic.until", "60 s")
    # what a server sends first to a phone that asks: SYN-ACK, and data
    page = {"kind": "web", "page_size": "6 kB", "think": "1000 s", "start": {"uniform": ["0 s", "1 s"]}}
    asked = wide.with_settings(
        {"links.r1-sgw.queue.probability": 0.0, f"links.{net.LINK}.queue.probability": 0.0, "duration": "10 s"}
    ).set(f"groups.{PHONES}.traffic", page)
    return [Point({"run": name}, it) for name, it in (("two paths", scenario), ("colours", wide), ("answers", asked))]


def x_charge(o: Options, scale: Scale) -> list[Point]:
    """What tokens are taken for: flows that declare all, and flows that declare nothing and give no credit."""
    found = []
    for rule, it in (("A", Policer(start=measures.CHARGE_START, most=1e6)), ("B", Policer("B", 1e6, 1e9, 1e9))):
        for declared in (0.0, 1.0):
            given = {} if declared else {"credit": "none"}
            scenario = net.wide(o, 0.01, flows=10, declared=declared, policer=it, conex=given, duration=100.0)
            found.append(Point({"policer": rule, "declared": declared}, scenario))
    return found


def x_or(o: Options, scale: Scale) -> list[Point]:
    """A tunnel whose packets are marked before it, inside it and at the base station, and lost there.

    Senders stop before the run does, so that the last report comes.
    """
    load = {"kind": "poisson", "rate": "4.6 Mbit/s", "packet": "1000 B", "until": "40 s", "ecn_capable": True}
    marks = {"rate": "100 Mbit/s", "delay": "20 ms"}
    lossy = {**marks, "loss": 0.002}
    quiet = {"users": 1, "traffic": {"kind": "cbr", "rate": "8 kbit/s", "packet": "1000 B"}}
    queue = {**net.fixed(o, 0.01), "action": "mark", "limit": "1000 packets"}
    scenario = net.inside(
        o,
        10,
        groups={PHONES: {"users": 10, "traffic": load}, measures.QUIET: quiet},
        duration=60.0,
        links={
            measures.OUTSIDE: {**marks, "queue": queue},
            "r1-sgw": {**lossy, "queue": queue},
            "r3-enb": {**lossy, "queue": queue},
        },
    )
    for stage in ("into", "gateway", "report", "out"):
        scenario = scenario.unset(f"stages.{stage}.per")
    # one link to all base stations: its marks and losses are read beside those of one tunnel
    scenario = scenario.unset("links.r3-enb.per")
    # marks are all that is to be counted here: nobody answers them
    scenario = scenario.set("stages.gateway.mode", "police")
    path = list(scenario.get(f"groups.{PHONES}.path"))
    return [Point({"marked": 3}, scenario.set(f"groups.{PHONES}.path", [measures.OUTSIDE, *path]))]


def x_blind(o: Options, scale: Scale) -> list[Point]:
    """Senders that know their share and take no loss for congestion, with radio errors and without; and re-ECN."""
    share = int(net.CAPACITY_MBPS * 1e6 * net.RTT_S / (8 * net.PACKET_BYTES) / runs.DECIDES)
    oracle = {"kind": "constant", "window": f"{share} packets"}
    sack, found = replace(o, flavour="sack"), []
    for e in (0.0, 0.05):
        radio = {"loss": e} if e else {}
        groups = {PHONES: {"users": runs.DECIDES, "tcp": net.tcp(sack, RED, congestion_control=oracle)}}
        found.append(Point({"sender": "blind", "e": e}, net.bulk(sack, RED, runs.DECIDES, groups=groups, radio=radio)))
        found.append(Point({"sender": REECN, "e": e}, net.bulk(o, REECN, runs.DECIDES, radio=radio)))
    return found


def x_levels(o: Options, scale: Scale) -> list[Point]:
    """Tokens at the policer and balance at the dropper over time: honest, greedy and understating flows."""
    record = {
        "series": [
            *net.series(*(f"stages.{stage}[*].{what}" for stage, what in measures.LEVELS.items()))["series"],
        ]
    }
    found = []
    for n in at(scale, net.FLOWS, (100,)):
        constant = {"kind": "constant", "window": f"{o.greedy_window:g} packets"}
        speaks = net.tcp(o, REECN)
        groups = {
            PHONES: {"users": round(0.8 * n), "tcp": speaks},
            net.GREEDY: {"users": round(0.1 * n), "tcp": {**speaks, "congestion_control": constant}},
            measures.UNDER: {"users": round(0.1 * n), "tcp": {**speaks, "conex": {**speaks["conex"], "declared": 0.5}}},
        }
        police = Policer(action="drop-while-empty")
        scenario = net.bulk(o, REECN, n, groups=groups, policer=police, with_dropper=True, record=record)
        found.append(Point({"n": n}, scenario))
    return found


PREMIUM_REDS = (("gentle", True, 94), ("hard", False, 94), ("far", True, 188))
"""RED's upper piece: as everywhere here, none (all is marked beyond the threshold), and out of the queue's reach."""


def x_premium(o: Options, scale: Scale) -> list[Point]:
    """A class of p = 0 under three upper pieces of RED: what marks it."""
    return [
        Point(
            {"upper": name},
            net.classes(
                o,
                runs.DECIDES,
                "red",
                premium=True,
                gentle=gentle,
                max_threshold=f"{most} packets",
                limit="500 packets",
            ),
        )
        for name, gentle, most in PREMIUM_REDS
    ]


def x_depth(o: Options, scale: Scale) -> list[Point]:
    """Innocent flows behind buckets of several depths."""
    return [
        Point({"n": n, "depth": d}, net.bulk(o, REECN, n, policer=Policer(start=min(20.0, d), most=d)))
        for n in at(scale, net.FLOWS, (100,))
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
    """Long flows beside many short ones: section I, and figure 12 with another mix."""
    found = []
    for s, n in ((s, n) for s in (DT, RED, ECN, REECN, POLICED) for n in at(scale, net.FLOWS, (100,))):
        speaks = net.tcp(o, REECN if s == POLICED else s)
        short = {
            "kind": "short-flows",
            "interval": {"exponential": "4 s"},
            "size": {"pareto": ["30 kB", 1.2]},
        }
        groups = {
            PHONES: {"users": n // 5, "tcp": speaks},
            net.SHORT: {"users": n - n // 5, "tcp": speaks, "traffic": short},
        }
        found.append(Point({"scheme": s, "n": n}, runs.scheme(o, s, n, groups=groups)))
    return found
