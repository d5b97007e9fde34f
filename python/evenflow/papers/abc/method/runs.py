"""The sources, the network, the meter and the AQM, before any fairness is shown."""

from __future__ import annotations

from functools import partial

from evenflow.claims import Scale
from evenflow.lab import at, optional, quantity
from evenflow.paper import Experiment
from evenflow.scenario import Scenario
from evenflow.study import Point

from .. import measures
from .. import network as net
from ..choices import Options
from ..grids import ALL, BAND, LINK, experiment, one_run, point
from . import figures

ARRIVED = "links.access.arrived_bytes"
WINDOW = "groups.light.users[0].flows[0].window"
CHECK_POISSON = "Poisson source"
CHECK_RTT = "round-trip time"


def x_checks(scale: Scale) -> list[Point]:
    """What the method section states in passing: how much a Poisson source varies, and how long a round trip takes.

    The round trip is read off the window of a flow that grows with every ACK: it takes one, on an empty path, from two
    packets to three.
    """
    points = [
        point(
            Scenario(
                {
                    "title": f"A Poisson source at {rate:g} Mbit/s alone",
                    "duration": "1000 s",
                    "warmup": "0 s",
                    "links": {"access": {"rate": "100 Mbit/s", "delay": "0.1 ms"}},
                    "groups": {
                        "heavy": {
                            "users": 1,
                            "path": ["access"],
                            "traffic": {"kind": "poisson", "rate": quantity(rate, "Mbit/s"), "packet": "1500 B"},
                        }
                    },
                    "record": {"series": [{"of": ARRIVED, "every": "1 s"}]},
                }
            ),
            what=CHECK_POISSON,
            rate_mbps=float(rate),
            delay_ms=0,
        )
        for rate in (1, 10)
    ]
    points += [
        point(
            net.dumbbell(
                net.drop_tail(),
                delay_ms=delay,
                light=net.tcp(1, start="0 s", ack_every=1),
                record={"series": [{"of": WINDOW, "every": "0.05 ms"}]},
                warmup_s=0,
                duration_s=0.6,
                title="The first round trips of a TCP flow",
            ),
            what=CHECK_RTT,
            rate_mbps=0.0,
            delay_ms=delay,
        )
        for delay in (5, 25, 50)
    ]
    return points


def x_scale(o: Options, scale: Scale) -> list[Point]:
    """Figure 4's point with ten flows and 5 ms, all reference rates scaled; every drop is recorded (section IV-E1)."""
    factors = at(scale, (1e-3, 0.5, 1, 2, 10, 1e3, 1e6), (1e-3, 0.5, 1, 2))
    return [
        point(
            net.dumbbell(
                net.abc(reference_rate_kbps=factor * net.REFERENCE_RATE_KBPS),
                delay_ms=5,
                heavy=net.tcp(10, **o.stack),
                light=net.tcp(1, **o.stack),
                record={"events": ["drop"]},
                title=f"Reference rates of {factor * net.REFERENCE_RATE_KBPS:g} kbit/s",
            ),
            factor=float(factor),
        )
        for factor in factors
    ]


ACTIVITY = "stages.meter[{copy}].activity"
MEMORIES_S = (1, 3, 10)
MEMORY_START_S = 60.0


def x_memory(scale: Scale) -> list[Point]:
    """Section IV-G1 as a picture: a user who starts from silence beside one long steady; nothing is dropped."""
    users = {"heavy": ("20 Mbit/s", MEMORY_START_S), "light": ("5 Mbit/s", 0.0)}
    return [
        point(
            Scenario(
                {
                    "title": f"The head start of an idle user, meter memory {memory:g} s",
                    "duration": quantity(MEMORY_START_S + 12, "s"),
                    "warmup": "0 s",
                    "links": {"wide": {"rate": "100 Mbit/s", "delay": "1 ms"}},
                    "stages": {"meter": dict(net.abc(meter_memory_s=memory).stage or {})},
                    "groups": {
                        name: {
                            "users": 1,
                            "path": ["meter", "wide"],
                            "traffic": {
                                "kind": "cbr",
                                "rate": rate,
                                "packet": "1500 B",
                                "start": quantity(start, "s"),
                            },
                        }
                        for name, (rate, start) in users.items()
                    },
                    "record": {"series": [{"of": ACTIVITY.format(copy=copy), "every": "20 ms"} for copy in (0, 1)]},
                }
            ),
            m_am=float(memory),
        )
        for memory in MEMORIES_S
    ]


def experiments(o: Options) -> tuple[Experiment, ...]:
    """The experiments of this topic."""
    return (
        experiment(
            "x-checks",
            "What the method section states in passing: Poisson sources and round-trip times",
            x_checks,
            None,
            "",
            {"T0_mbps": optional(measures.t0), "T1_mbps": optional(measures.t1)},
        ),
        experiment(
            "x-scale",
            "Scaling all reference rates by one factor",
            partial(x_scale, o),
            figures.x_scale,
            f"Throughput ratio with 10 flows against one at 5 ms, over a factor on all reference rates. {LINK} {BAND}",
            ALL,
        ),
        experiment(
            "x-memory",
            "The head start of a user who was idle",
            x_memory,
            lambda table: figures.x_memory(table, ACTIVITY, MEMORY_START_S),
            "Activities of a user who begins to send 20 Mbit/s after a long silence and of one who has sent 5 Mbit/s "
            "all "
            "the time, on a link that drops nothing. "
            "The curves cross after the volume that the head start is worth.",
            {},
            one_run,
        ),
    )
