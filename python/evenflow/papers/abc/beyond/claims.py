"""Measures of claim c128: what averaging over received packets would do."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Check, Data, Judgement
from evenflow.kit import Accept
from evenflow.study import Run

from ..claims import claims
from ..measures import Lab, loss, words
from .runs import ACCEPTED, AVERAGE, RECEIVED_TOO

LIGHT = ("UDP 7.5 Mbit/s", "one TCP flow")


def _mean_average(run: Run) -> float:
    """Mean of A_avg over the measured time."""
    times, values = run.series(AVERAGE)
    return float(values[times > float(run.json["window_s"][0])].mean())


@claims.measure("c128")
def average_rises(data: Data, accept: Accept) -> list[Check]:
    """A_avg, T1 and the heavy user's losses with the average over received packets, less those over accepted ones."""
    lab = Lab(data["abc-x-average"])
    heavy = partial(loss, "heavy")
    found = []
    for light in LIGHT:
        for r0 in lab.grid("r0", light=light):
            received, accepted = (lab.at(scheme=s, light=light, r0=r0) for s in (RECEIVED_TOO, ACCEPTED))
            where, what = f"{words(r0=r0)} against {light}", "received − accepted"
            more = received.of(_mean_average) - accepted.of(_mean_average)
            found.append(accept("average", f"{where}: A_avg, {what}", more))
            found.append(accept("t1", f"{where}: T1, {what}", received.t1 - accepted.t1))
            less = received.of(heavy) - accepted.of(heavy)
            found.append(accept("loss", f"{where}: loss ratio of the heavy user, {what}", less))
    return found


@claims.note("c128")
def earlier_note(_: Data, __: Judgement) -> str:
    """What the paper says it of."""
    return (
        "The paper says it of its earlier AQM, which turned A − A_avg into a drop probability. With the threshold of "
        "equation 10 a raised A_avg also raises the light user's threshold, and with it the queue, but the heavy user "
        "still meets its lower threshold first: the fault costs delay rather than throughput."
    )
