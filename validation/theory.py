"""Queueing theory as an oracle: M/M/1, M/D/1, M/M/1/K and M/D/1/K, exact, beside the same queues run by Evenflow.

A Poisson user in front of one link is such a queue. The first packet in the system is the one in transmission, so a
drop-tail limit of N waiting packets makes K = N + 1. Everything is in packets and in units of the mean service time
until a `Model` is asked for seconds.

Sources: L. Kleinrock, "Queueing Systems", vol. 1 (1975), sections 3.2 (M/M/1), 3.6 (M/M/1/K) and 5.5-5.7 (M/G/1,
Pollaczek and Khinchine); H. C. Tijms, "A First Course in Stochastic Models" (2003), section 9.8 (M/G/1/K from the
departure epochs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from evenflow import Scenario
from evenflow.stats import Interval, mean_interval

RATE_BPS = 10e6
MEAN_BYTES = 1000

Service = Literal["M", "D"]


@dataclass(frozen=True)
class Model:
    """M/M/1 or M/D/1; `load` is arrival rate times mean service time, `places` the most packets in the system."""

    service: Service
    load: float
    places: int | None = None

    @property
    def name(self) -> str:
        """Kendall's notation with the load."""
        places = "" if self.places is None else f"/{self.places}"
        return f"M/{self.service}/1{places}, load {self.load:g}"

    @cached_property
    def loss(self) -> float:
        """Share of arrivals that find the system full."""
        return 0.0 if self.places is None else max(0.0, float(self._in_system[-1]))

    @property
    def utilisation(self) -> float:
        """Busy fraction of the server."""
        return self.load * (1 - self.loss)

    @cached_property
    def waiting(self) -> float:
        """Time average of waiting packets, the one in service not counted."""
        if self.places is not None:
            return float(np.dot(np.arange(self.places), self._in_system[1:]))
        if self.load >= 1:
            return math.inf
        variation = 1.0 if self.service == "M" else 0.0  # squared coefficient of variation of the service time
        return self.load**2 * (1 + variation) / (2 * (1 - self.load))

    @property
    def wait(self) -> float:
        """Mean wait of an accepted packet, in mean service times (Little's law)."""
        return self.waiting / self.utilisation

    @cached_property
    def _in_system(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """P(n packets in the system), n = 0..places."""
        assert self.places is not None
        if self.service == "M":
            weights = self.load ** np.arange(self.places + 1)
            return np.asarray(weights / weights.sum())
        # Departure epochs: the chain of what a departing packet leaves behind, 0..places - 1.
        arrivals = np.array([math.exp(-self.load) * self.load**n / math.factorial(n) for n in range(self.places)])
        left = np.zeros(self.places)
        left[0] = 1.0
        for n in range(self.places - 1):
            # Balance of flow up across n: left[n + 1] a0 = left[n] - left[0] a[n] - sum of left[j] a[n + 1 - j].
            inner = sum(left[j] * arrivals[n + 1 - j] for j in range(1, n + 1))
            left[n + 1] = (left[n] - left[0] * arrivals[n] - inner) / arrivals[0]
        left /= left.sum()
        # An arbitrary instant sees left[n] / (left[0] + load); the rest is the probability of a full system.
        scale = left[0] + self.load
        return np.append(left / scale, 1 - 1 / scale)

    def scenario(self, duration_s: float) -> Scenario:
        """The same queue as a scenario; the first tenth is not measured."""
        packet: Any = {"exponential": f"{MEAN_BYTES} B"} if self.service == "M" else f"{MEAN_BYTES} B"
        link: dict[str, Any] = {"rate": f"{RATE_BPS / 1e6:g} Mbit/s", "delay": "1 ms"}
        if self.places is not None:
            link["queue"] = {"kind": "droptail", "limit": f"{self.places - 1} packets"}
        traffic = {"kind": "poisson", "rate": f"{self.load * RATE_BPS / 1e6:.9g} Mbit/s", "packet": packet}
        return Scenario(
            {
                "title": self.name,
                "duration": f"{duration_s} s",
                "warmup": f"{duration_s / 10} s",
                "links": {"bottleneck": link},
                "groups": {"users": {"users": 1, "path": ["bottleneck"], "traffic": traffic}},
            }
        )


MODELS = (
    Model("M", 0.5),
    Model("M", 0.8),
    Model("D", 0.5),
    Model("D", 0.8),
    Model("M", 0.9, 10),
    Model("D", 0.9, 10),
    Model("D", 1.0, 25),
    Model("D", 1.75, 25),
)


@dataclass(frozen=True)
class TheoryRow:
    """One metric of one queue: the formula's value beside the interval over seeds."""

    model: str
    metric: str
    theory: float
    measured: Interval

    @property
    def inside(self) -> bool:
        """Whether the formula's value lies in the interval."""
        return self.measured.lo <= self.theory <= self.measured.hi


def _loss(record: Any) -> float:
    link = record.json["links"]["bottleneck"]
    return float(sum(link["drops"].values())) / float(link["arrived_packets"])


def compare(model: Model, seeds: Sequence[int], duration_s: float, level: float = 0.95) -> list[TheoryRow]:
    """Run the queue with every seed and put each metric beside its formula."""
    scenario = model.scenario(duration_s)
    records = [scenario.run(seed) for seed in seeds]
    service_s = MEAN_BYTES * 8 / RATE_BPS
    exact = {
        "utilisation": model.utilisation,
        "queue_packets_mean": model.waiting,
        "queue_delay_s_mean": model.wait * service_s,
    }
    rows = []
    for metric, value in exact.items():
        values = [float(record.metric(f"links.bottleneck.{metric}") or 0.0) for record in records]
        rows.append(TheoryRow(model.name, metric, value, mean_interval(values, level)))
    if model.places is not None:
        rows.append(TheoryRow(model.name, "loss", model.loss, mean_interval([_loss(r) for r in records], level)))
    return rows
