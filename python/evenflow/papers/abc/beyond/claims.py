"""Claim c128: what averaging over received packets would do."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Check, Claim, Data
from evenflow.study import Run

from ..ledger import SIGN, claim
from ..measures import Lab, loss, words
from .runs import ACCEPTED, AVERAGE, RECEIVED_TOO


def _mean_average(run: Run) -> float:
    """Mean of A_avg over the measured time."""
    times, values = run.series(AVERAGE)
    return float(values[times > float(run.json["window_s"][0])].mean())


def _average_rises(data: Data) -> list[Check]:
    lab = Lab(data["abc-x-average"])
    found = []
    for light in ("UDP 7.5 Mbit/s", "one TCP flow"):
        for r0 in lab.grid("r0", light=light):
            received, accepted = (
                lab.at(scheme=s, light=light, r0=r0).of(_mean_average) for s in (RECEIVED_TOO, ACCEPTED)
            )
            found.append(
                Check(f"{words(r0=r0)} against {light}: A_avg, received − accepted", received - accepted, lo=0)
            )
    return found


def _light_user_suffers(data: Data) -> list[Check]:
    lab = Lab(data["abc-x-average"])
    found = []
    for light in ("UDP 7.5 Mbit/s", "one TCP flow"):
        for r0 in lab.grid("r0", light=light):
            received, accepted = (lab.at(scheme=s, light=light, r0=r0) for s in (RECEIVED_TOO, ACCEPTED))
            label = f"{words(r0=r0)} against {light}"
            found.append(Check(f"{label}: T1, received − accepted", received.t1 - accepted.t1, hi=0, unit="Mbit/s"))
            heavy = partial(loss, "heavy")
            found.append(
                Check(
                    f"{label}: loss ratio of the heavy user, received − accepted",
                    received.of(heavy) - accepted.of(heavy),
                    hi=0,
                )
            )
    return found


CLAIMS: list[Claim] = [
    claim(
        128,
        "section III-C3",
        "Averaging over received instead of accepted packets, overload by an active user raises A_avg, so that its "
        "packets are dropped too rarely.",
        expected="A_avg rises; the light user gets less",
        tolerance=(
            f"{SIGN} of A_avg, T1 and the heavy user's loss ratio at R0 ≥ 12.5 Mbit/s; the paper says it of its "
            "earlier design"
        ),
        on=("x-average",),
        literal=lambda data: _average_rises(data) + _light_user_suffers(data),
        relaxed=_average_rises,
        reading="A_avg rises: the part that does not depend on the earlier design's acceptance rule.",
        note=(
            "The paper says it of its earlier AQM, which turned A − A_avg into a drop probability. With the threshold "
            "of equation 10 a raised A_avg also raises the light user's threshold, and "
            "with it the queue, but the heavy user still meets its lower threshold first: the fault costs delay "
            "rather than throughput."
        ),
    ),
]
