"""A link's price as a function of its load: closed forms, and the interface that measured curves have too.

`load` is arrivals over the link's rate, a share; `price` the share of packets that are marked. The equilibrium needs
the load at a price, its integral, and the queueing delay; trajectories and stability need the price at a load and its
slope.

Sources: Siris, Courcoubetis, Margetis 2002, section 4.3 (load-based); Athuraliya, Li, Low, Yin 2001 (REM).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Marker(Protocol):
    """What the model asks of a marker. Arrays in, arrays of the same shape out."""

    @property
    def kind(self) -> str:
        """The queue's kind in the scenario."""

    @property
    def has_queue(self) -> bool:
        """Whether it predicts a queueing delay."""

    @property
    def first(self) -> float:
        """The least price it is known at; between 0 and that nothing is known of its load."""

    @property
    def top(self) -> float:
        """The largest price it can reach, or is known at."""

    @property
    def increasing(self) -> bool:
        """Whether its load grows with its price, so that the equilibrium is unique."""

    @property
    def lag_s(self) -> float:
        """By how much its own averaging is late, in s."""

    @property
    def told(self) -> dict[str, Any]:
        """For people and JSON: the closed form, or the measured curve's file and hash."""

    def price(self, load: ArrayLike) -> Floats:
        """Marking probability at a load."""

    def slope(self, load: ArrayLike) -> Floats:
        """Derivative of the price by the load."""

    def load(self, price: ArrayLike) -> Floats:
        """Load at a price between 0 and `top`; at 0 the largest load that costs nothing."""

    def area(self, price: ArrayLike) -> Floats:
        """Integral of the load over prices from 0."""

    def delay(self, price: float) -> float:
        """Mean queueing delay at a price in s; 0 where the closed form has no queue."""


@dataclass(frozen=True)
class LoadBased:
    """p = min(gain (load - target), 1) (Siris et al. 2002, section 4.3). Does not look at the queue.

    Attributes:
        target, gain: its parameters.
        capacity: the rate that it takes for a load of 1, over the link's.
        lag_s: half the interval of averaging, and half that for which a price holds.
    """

    target: float
    gain: float
    capacity: float = 1.0
    lag_s: float = 0.0
    kind: ClassVar[str] = "load-based"
    first: float = 0.0
    increasing: bool = True
    has_queue: ClassVar[bool] = False

    @staticmethod
    def read(queue: Mapping[str, Any], rate_bps: float, packet_bytes: float) -> Marker:
        """From a canonical queue table."""
        capacity = _number(queue["capacity"]) / rate_bps if queue.get("capacity") is not None else 1.0
        interval = _number(queue["interval"])
        held = interval / 10 if queue["window"] == "sliding" else interval  # a sliding one moves by a tenth
        return LoadBased(_number(queue["target"]), _number(queue["gain"]), capacity, (interval + held) / 2)

    @property
    def top(self) -> float:
        """The price at a load of 1: the link cannot carry more, and the marker does not see the queue."""
        return min(max(self.gain * (1 / self.capacity - self.target), 0.0), 1.0)

    @property
    def told(self) -> dict[str, Any]:
        """The closed form."""
        return {"kind": self.kind, "form": f"p = min({self.gain:g} (load - {self.target:g}), 1)", "top": self.top}

    def price(self, load: ArrayLike) -> Floats:
        """Marking probability at a load."""
        return np.clip(self.gain * (np.asarray(load, dtype=np.float64) / self.capacity - self.target), 0.0, 1.0)

    def slope(self, load: ArrayLike) -> Floats:
        """gain between target and certainty, 0 outside."""
        p = self.gain * (np.asarray(load, dtype=np.float64) / self.capacity - self.target)
        return np.where((p > 0) & (p < 1), self.gain / self.capacity, 0.0)

    def load(self, price: ArrayLike) -> Floats:
        """target + price / gain."""
        return np.asarray(self.capacity * (self.target + np.asarray(price, dtype=np.float64) / self.gain))

    def area(self, price: ArrayLike) -> Floats:
        """target p + p² / (2 gain)."""
        p = np.asarray(price, dtype=np.float64)
        return np.asarray(self.capacity * (self.target * p + p * p / (2 * self.gain)))

    def delay(self, price: float) -> float:
        """No queue in the closed form."""
        return 0.0


@dataclass(frozen=True)
class ConstantProbability:
    """The same price at any load: given, not found."""

    probability: float
    lag_s: float = 0.0
    kind: ClassVar[str] = "constant-probability"
    first: float = 0.0
    increasing: bool = True
    has_queue: ClassVar[bool] = False

    @staticmethod
    def read(queue: Mapping[str, Any], rate_bps: float, packet_bytes: float) -> Marker:
        """From a canonical queue table."""
        return ConstantProbability(_number(queue["probability"]))

    @property
    def top(self) -> float:
        """Its probability."""
        return self.probability

    @property
    def told(self) -> dict[str, Any]:
        """The closed form."""
        return {"kind": self.kind, "form": f"p = {self.probability:g} at any load", "top": self.top}

    def price(self, load: ArrayLike) -> Floats:
        """The probability."""
        return np.full_like(np.asarray(load, dtype=np.float64), self.probability)

    def slope(self, load: ArrayLike) -> Floats:
        """0."""
        return np.zeros_like(np.asarray(load, dtype=np.float64))

    def load(self, price: ArrayLike) -> Floats:
        """Up to 1: any load has this price."""
        return np.ones_like(np.asarray(price, dtype=np.float64))

    def area(self, price: ArrayLike) -> Floats:
        """The price: the load is up to 1."""
        return np.asarray(price, dtype=np.float64)

    def delay(self, price: float) -> float:
        """No queue in the closed form."""
        return 0.0


@dataclass(frozen=True)
class Rem:
    """Random exponential marking: at rest the load is 1 and the queue its target, whatever the price.

    Attributes:
        target_s: time the target backlog takes on the link, in s.
        base: phi of p = 1 - phi^(-P).
    """

    target_s: float
    base: float
    lag_s: float = 0.0
    kind: ClassVar[str] = "rem"
    first: float = 0.0
    increasing: bool = True
    has_queue: ClassVar[bool] = True

    @staticmethod
    def read(queue: Mapping[str, Any], rate_bps: float, packet_bytes: float) -> Marker:
        """From a canonical queue table; its target is a backlog of packets of this size."""
        return Rem(_number(queue["target"]) * 8 * packet_bytes / rate_bps, _number(queue["base"]))

    @property
    def top(self) -> float:
        """All but certainty."""
        return 1.0 - 1e-9

    @property
    def told(self) -> dict[str, Any]:
        """The closed form."""
        form = f"load = 1 and a queue of {self.target_s * 1e3:.3g} ms at any price; p = 1 - {self.base:g}^(-P)"
        return {"kind": self.kind, "form": form, "top": self.top}

    def price(self, load: ArrayLike) -> Floats:
        """0 below a load of 1; there it is what the windows make it, and no function of the load."""
        rho = np.asarray(load, dtype=np.float64)
        return np.where(rho < 1, 0.0, np.nan)

    def slope(self, load: ArrayLike) -> Floats:
        """0 below a load of 1, there infinite."""
        rho = np.asarray(load, dtype=np.float64)
        return np.where(rho < 1, 0.0, np.inf)

    def load(self, price: ArrayLike) -> Floats:
        """1."""
        return np.ones_like(np.asarray(price, dtype=np.float64))

    def area(self, price: ArrayLike) -> Floats:
        """The price."""
        return np.asarray(price, dtype=np.float64)

    def delay(self, price: float) -> float:
        """Of its target backlog."""
        return self.target_s if price > 0 else 0.0


FORMS = {form.kind: form for form in (LoadBased, ConstantProbability, Rem)}
"""The markers whose price has a closed form, by the queue's kind."""


def _number(quantity: Any) -> float:
    return float(quantity.split()[0]) if isinstance(quantity, str) else float(quantity)


@dataclass(frozen=True)
class Wanted:
    """What a measured curve is of: everything that makes one curve another. All of it plain data.

    Attributes:
        queue: the canonical queue table.
        rate_bps, packet_bytes, rtt_s: of the link, its packets and the connections (propagation there and back).
        tcp: what makes the connections: see `control_key`.
    """

    queue: Mapping[str, Any]
    rate_bps: float
    packet_bytes: float
    rtt_s: float
    tcp: Mapping[str, Any]

    @staticmethod
    def of(
        queue: Mapping[str, Any], rate_bps: float, packet_bytes: float, rtt_s: float, tcp: Mapping[str, Any]
    ) -> Wanted:
        """From canonical tables; round trips to the microsecond, packets to the byte."""
        kept = {name: value for name, value in queue.items() if name != "scheduler"}
        return Wanted(kept, round(rate_bps), round(packet_bytes), round(rtt_s, 6), control_key(tcp))

    def to_json(self) -> dict[str, Any]:
        """Plain data, the same for the same curve."""
        return {
            "queue": dict(self.queue),
            "rate_bps": self.rate_bps,
            "packet_bytes": self.packet_bytes,
            "rtt_s": self.rtt_s,
            "tcp": dict(self.tcp),
        }

    @property
    def key(self) -> str:
        """Eight hex digits that tell curves apart."""
        import hashlib

        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """A file name for people, without suffix: "red-wtp-10Mbps-200ms-1a2b3c4d"."""
        rate = f"{self.rate_bps / 1e6:g}Mbps"
        control = self.tcp["congestion_control"]["kind"]
        return f"{self.queue['kind']}-{control}-{rate}-{self.rtt_s * 1e3:g}ms-{self.key}"


def control_key(tcp: Mapping[str, Any]) -> dict[str, Any]:
    """What of a canonical TCP table makes a curve, at weight 1.

    Where the weight stands does not matter at weight 1: proportional increase and inverse decrease are then one control
    (Siris et al. 2002, equations 4 and 6), so that they share their curves.
    """
    control = dict(tcp["congestion_control"])
    for name in ("form", "increase_weight", "decrease_weight", "weight", "max_window"):
        control.pop(name, None)
    if control.get("marked_ack") == "increase":
        del control["marked_ack"]  # measured before there was a choice: the curves keep their names
    kept = {name: tcp[name] for name in ("stack", "header", "ecn", "ack_every", "byte_counting")}
    return {**kept, "congestion_control": control}


def finite(value: float) -> float | None:
    """For JSON: null where there is no number."""
    return value if math.isfinite(value) else None
