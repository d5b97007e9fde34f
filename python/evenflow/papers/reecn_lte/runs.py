"""The paper's figures 5 to 16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evenflow.claims import Scale
from evenflow.lab import at, quantity
from evenflow.scenario import Scenario
from evenflow.study import Point

from . import network as net
from .choices import Options
from .network import ECN, POLICED, RED, REECN, SCHEMES, Policer

RATES = {
    "A": (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0),
    "B": (10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4),
}
RATES_QUICK = {"A": (0.1, 0.25, 1.0, 8.0), "B": (30.0, 300.0, 1e4)}
"""Fig. 5; the paper gives no values. A in tokens, B in bytes per second."""
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
TIGHT = "A, tight"
"""Policer A that begins with 5 s and holds 20."""
INSIDE, END, RENO = "inside Re-ECN", "ECN", "Reno"


def scheme(o: Options, label: str, flows: int, **more: Any) -> Scenario:
    """A scheme by its label; `POLICED` has the default policer and the strict dropper."""
    if label == POLICED:
        return net.bulk(o, REECN, flows, policer=Policer(), with_dropper=True, **more)
    return net.bulk(o, label, flows, **more)


DECIDES = 100
"""The flows that decide; ten stand beside them, on the thinner grids, after the run's length and after 600 s."""


def sets(o: Options, scale: Scale, also: bool = True) -> list[tuple[int, float]]:
    """Flows and length of a run, s; `also`: ten flows after 600 s too."""
    both = [(DECIDES, o.duration)]
    if scale == "paper":
        both += [(10, seconds) for seconds in sorted({o.duration, net.LONG_S} if also else {o.duration})]
    return both


def grid(n: int, scale: Scale, paper: Sequence[Any], quick: Sequence[Any]) -> Sequence[Any]:
    """The paper's grid where it decides, or the thinner one."""
    return paper if scale == "paper" and n == DECIDES else quick


def fig05(o: Options, scale: Scale) -> list[Point]:
    """Goodput over r for both policers; A also with a tight bucket."""
    tight = Policer(start=5.0, most=20.0)
    found = []
    for rule, it in (("A", Policer()), (TIGHT, tight), ("B", Policer("B", 100.0, 2e4, 6e4))):
        for n, seconds in sets(o, scale, also=rule != TIGHT):
            for r in grid(n, scale, RATES[it.rule], RATES_QUICK[it.rule]):
                labels = {"policer": rule, "n": n, "seconds": seconds, "r": r}
                found.append(Point(labels, net.bulk(o, REECN, n, policer=replace(it, r=r), duration=seconds)))
    return found


def fig06(o: Options, scale: Scale) -> list[Point]:
    """Goodput and fairness over the marking probability."""
    return [
        Point(
            {"marks": marks, "n": n, "seconds": seconds, "p": p},
            net.bulk(o, REECN, n, queue=marker(o, marks, p), duration=seconds),
        )
        for marks in ("red", "fixed")
        for n, seconds in sets(o, scale)
        for p in grid(n, scale, PROBABILITIES, PROBABILITIES_QUICK)
    ]


def marker(o: Options, marks: str, p: float) -> dict[str, Any]:
    """The queue of figure 6: p as RED's maximum, or constant."""
    return net.queue(o, REECN, max_probability=p) if marks == "red" else net.fixed(o, p)


def fig07(o: Options, scale: Scale) -> list[Point]:
    """Goodput and fairness over b_start, with greedy flows and without."""
    found = []
    for rule in ("A", "B"):
        for greedy in (0.0, 0.2):
            for n, seconds in sets(o, scale, also=greedy > 0):
                for start in grid(n, scale, STARTS[rule], STARTS_QUICK[rule]):
                    it = Policer("A", start=start) if rule == "A" else Policer("B", 100.0, start, 2e5)
                    labels = {"policer": rule, "n": n, "seconds": seconds, "greedy": greedy, "start": start}
                    found.append(Point(labels, net.bulk(o, REECN, n, policer=it, greedy=greedy, duration=seconds)))
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
        for d in (DELAYS_MS if scale == "paper" and (n == DECIDES or s == ECN) else DELAYS_QUICK)
    ]


def fig10(o: Options, scale: Scale) -> list[Point]:
    """Schemes over the number of wired hops."""
    return [
        Point({"scheme": s, "n": n, "hops": h}, scheme(o, s, n, hops=h))
        for s in at(scale, SCHEMES, (ECN, REECN))
        for n in at(scale, net.FLOWS, (100,))
        for h in grid(n, scale, HOPS, HOPS_QUICK)
    ]


def over_time(o: Options, s: str, n: int, seconds: float) -> Scenario:
    """A scheme with its throughput, and every flow's for figure 12."""
    both = [*net.series(net.THROUGHPUT)["series"], *net.series(net.VICTIMS, every=net.WINDOW_S)["series"]]
    return scheme(o, s, n, record={"series": both}, duration=seconds)


def fig11(o: Options, scale: Scale) -> list[Point]:
    """Throughput over time for each scheme."""
    return [
        Point({"scheme": s, "n": n, "seconds": seconds}, over_time(o, s, n, seconds))
        for s in (*SCHEMES, POLICED)
        for n, seconds in sets(o, scale)
    ]


def fig13(o: Options, scale: Scale) -> list[Point]:
    """Radio errors: re-ECN inside the network, ECN between terminals, Reno."""
    return [
        Point({"scheme": name, "n": n, "seconds": seconds, "e": e}, it)
        for n, seconds in sets(o, scale)
        for e in grid(n, scale, ERRORS, ERRORS_QUICK)
        for name, it in over_radio(o, n, {"loss": e} if e else {}, seconds).items()
    ]


def over_radio(o: Options, n: int, radio: net.Table, seconds: float) -> dict[str, Scenario]:
    """The three schemes of figure 13 over one radio link."""
    return {
        INSIDE: net.inside(o, n, radio=radio, duration=seconds),
        END: net.bulk(o, ECN, n, radio=radio, duration=seconds),
        RENO: net.bulk(o, RED, n, radio=radio, duration=seconds),
    }


SANCTIONS = ("none", "drop-one", "drop-while-empty", "block", "probability", "class")
"""What is done to packets of users without tokens; "class" lets them go last."""


def sanctioning(name: str, n: int) -> Policer | None:
    """The policer with a sanction.

    Policer A knows no rate whose excess could be dropped with a probability: that one is A', whose bucket holds 20 s of
    a fair share and is full at first.
    """
    if name == "none":
        return None
    it = Policer(action=name)
    if name != "probability":
        return it
    bucket = it.start * net.CAPACITY_MBPS * 1e6 / 8 / n
    return replace(it, rule="A'", start=bucket, most=bucket)


FIRST = ("none", "drop-while-empty", "block")
"""The sanctions that the claims are about."""
SINGLE = "single"
"""One attacker of 45 Mbit/s beside a hundred flows; beside ten there is no other."""


def attack(o: Options, n: int, sanction: str, kind: str, **more: Any) -> Scenario:
    """Attackers of a kind, and a sanction."""
    it = sanctioning(sanction, n)
    one: dict[str, Any] = {"attackers": 1, "mbps": 45.0} if kind == SINGLE else {}
    of = net.HONEST if kind == SINGLE else kind
    return net.attacked(o, ECN if it is None else REECN, n, it, of, **one, **more)


def fig14(o: Options, scale: Scale) -> list[Point]:
    """An attack, without a policer and with five sanctions; attackers of other kinds."""
    record = net.series(net.THROUGHPUT, net.VICTIMS, net.ATTACKERS)
    kinds = {net.HONEST: at(scale, SANCTIONS, FIRST)}
    if scale == "paper":
        kinds |= {net.CHEAT: FIRST, net.LEGACY: FIRST, SINGLE: FIRST}
    return [
        Point({"sanction": name, "n": n, "attackers": kind}, attack(o, n, name, kind, record=record))
        for n in at(scale, net.FLOWS, (100,))
        for kind, names in kinds.items()
        for name in names
        if kind != SINGLE or n == DECIDES
    ]


def fig15(o: Options, scale: Scale) -> list[Point]:
    """The attack alone, measured from its tenth second on: pages of victims; and the same without an attack."""
    found = []
    for n in at(scale, net.FLOWS, (100,)):
        for name in at(scale, SANCTIONS, FIRST):
            there = attack(o, n, name, net.HONEST, duration=200.0, warmup="110 s")
            found.append(Point({"sanction": name, "n": n, "attack": 1}, there))
        quiet = net.attacked(o, ECN, n, None, attackers=0, duration=200.0, warmup="110 s")
        found.append(Point({"sanction": "none", "n": n, "attack": 0}, quiet))
    return found


def fig16(o: Options, scale: Scale) -> list[Point]:
    """Four classes by marking probability; and a fifth that is never marked."""
    found = []
    for marks in ("red", "fixed"):
        for n in at(scale, (20, 100, 200), (100,)):
            found += [Point({"marks": marks, "n": n, "premium": 0}, net.classes(o, n, marks))]
        found.append(Point({"marks": marks, "n": 100, "premium": 1}, net.classes(o, 100, marks, premium=True)))
    return found
