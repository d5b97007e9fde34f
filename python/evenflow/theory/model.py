"""What the fluid model keeps of a scenario: routes of like connections, links with a marker, round-trip times.

Rates are in packets/s of the route's own packet size, loads are shares of a link's rate, prices are marking
probabilities. A route's price is the sum of its links' (Kelly, Maulloo, Tan 1998), which for small probabilities is the
share of its packets that arrive marked.

Not here: losses. A queue that drops, a control that only answers losses, finite transfers and random loss are refused,
all of them at once.

Sources: Siris, Courcoubetis, Margetis 2002, sections 2 and 3 (windows of willingness-to-pay and MulTCP); Kelly 2000
(the fluid model with delay).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ScenarioError, nearest
from ..scenario import paths, registry
from ..scenario.outline import mean_of
from . import markers

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .markers import Marker

Reaction = Literal["every-mark", "once-per-rtt"]
Floats = NDArray[np.float64]

HALF_PACKET = 0.5
"""A window is sent in whole packets: the mean of its integer part is half a packet less."""


@dataclass(frozen=True)
class Control:
    """How a window answers marks, in the mean.

    Attributes:
        increase: packets added a round trip: willingness-to-pay's increase weight, MulTCP's N, NewReno's 1 (1/2 with
            delayed ACKs counted one by one).
        decrease: willingness-to-pay: its decrease weight. Others: the share of the window that an event takes,
            1/(2N).
        gain: willingness-to-pay's gain a round trip; 1 for others.
        reaction: whether each mark counts, or those of one window as one event.
        least, most: bounds of the window in packets.
        marked_increase: willingness-to-pay: whether an ACK that carries a mark adds to the window as well.
    """

    kind: ClassVar[str]
    increase: float = 1.0
    decrease: float = 1.0
    gain: float = 1.0
    reaction: Reaction = "every-mark"
    least: float = 1.0
    most: float = math.inf
    marked_increase: bool = True

    @staticmethod
    def wtp(
        increase: float = 1.0,
        decrease: float = 1.0,
        gain: float = 0.5,
        *,
        least: float = 1.0,
        most: float = math.inf,
        marked_increase: bool = True,
    ) -> Control:
        """Willingness to pay (Siris et al. 2002, section 3)."""
        return Wtp(increase, decrease, gain, "every-mark", least, most, marked_increase)

    @staticmethod
    def multcp(
        n: float = 1.0, reaction: Reaction = "once-per-rtt", *, least: float = 1.0, most: float = math.inf
    ) -> Control:
        """MulTCP (Crowcroft, Oechslin 1998): N packets a round trip are added, an event takes 1/(2N)."""
        return MulTcp(n, 1 / (2 * n), 1.0, reaction, least, most)

    @staticmethod
    def newreno(growth: float = 1.0, *, least: float = 1.0, most: float = math.inf) -> Control:
        """NewReno with ECN, which takes the marks of a window as one loss (RFC 3168 section 6.1.2)."""
        return NewReno(growth, 0.5, 1.0, "once-per-rtt", least, most)

    @classmethod
    def read(cls, tcp: Mapping[str, Any], weight: float, most: float) -> Control:
        """From a canonical TCP table, a user's weight and the largest window."""
        raise NotImplementedError

    @property
    def weight(self) -> float:
        """Willingness to pay in marks a round trip, or MulTCP's N (1 for NewReno)."""
        return self.increase

    @property
    def _squared(self) -> float:
        """Increase over decrease: the square of the window times the price, where prices are small (2 N²)."""
        return self.increase / self.decrease

    def window(self, price: ArrayLike) -> Floats:
        """Mean window in packets at a path price.

        MulTCP, every mark: N √(2/p) (section 2's double decrease). Once a round trip: a cycle is a window, whose marks
        count as one, and 1/p packets more, in which N packets a round trip grow what 1/(2N) of the window takes:
        W² = 2N² (W + 1/p) (docs/theory.md has what else was tried).
        """
        p = np.asarray(price, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.clip(self._free_window(p), self.least, self.most)

    def _free_window(self, p: Floats) -> Floats:
        if self.reaction == "every-mark":
            return np.asarray(np.sqrt(self._squared / p))
        a = self._squared / 2
        return np.asarray(a + np.sqrt(a * a + self._squared / p))

    def price(self, window: float) -> float:
        """The path price at which the window, were it not bounded, has this mean; infinite where no price is enough."""
        if self.reaction == "every-mark":
            return self._squared / (window * window)
        if window <= self._squared:
            return math.inf
        return self._squared / (window * (window - self._squared))

    def area(self, price: ArrayLike) -> Floats:
        """The integral of `window` over the path price, up to a constant: what the dual problem is made of."""
        p = np.asarray(price, dtype=np.float64)
        at_most, at_least = self.price(self.most), self.price(self.least)
        inside = np.clip(p, at_most, at_least)
        found = self._free_area(inside)
        below, above = np.minimum(p - inside, 0.0), np.maximum(p - inside, 0.0)
        return found + self.least * above + (self.most * below if math.isfinite(self.most) else 0.0)

    def _free_area(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            b = self._squared
            if self.reaction == "every-mark":
                return 2 * np.sqrt(b * p)
            a = b / 2
            return a * p + np.sqrt(p * (a * a * p + b)) + b / a * np.arcsinh(a * np.sqrt(p / b))

    def drift(self, window: ArrayLike, price: ArrayLike) -> Floats:
        """Mean change of the window in packets a round trip; zero at `window(price)`."""
        w, p = np.asarray(window, dtype=np.float64), np.asarray(price, dtype=np.float64)
        if self.reaction == "every-mark":
            return np.asarray(self.increase - p * w * w * self.decrease)
        return np.asarray(self.increase - self.decrease * w * (w * p / (1 + w * p)))


class Wtp(Control):
    """Willingness to pay (Siris et al. 2002, section 3)."""

    kind: ClassVar[str] = "wtp"

    @classmethod
    def read(cls, tcp: Mapping[str, Any], weight: float, most: float) -> Control:
        """The weights are where its form has them."""
        table = tcp["congestion_control"]
        if table.get("max_window") is not None:
            most = min(most, mean_of(table["max_window"]))
        pair = {
            "proportional-increase": (weight, 1.0),
            "inverse-decrease": (1.0, weight),
            "general": (table.get("increase_weight", 1.0), table.get("decrease_weight", 1.0)),
        }[table["form"]]
        increase, decrease = (mean_of(one) for one in pair)
        least, adds = mean_of(table["min_window"]), table["marked_ack"] == "increase"
        return Control.wtp(increase, decrease, mean_of(table["gain"]), least=least, most=most, marked_increase=adds)

    @property
    def weight(self) -> float:
        """Willingness to pay in marks a round trip."""
        return self.increase * self.decrease

    def _free_window(self, p: Floats) -> Floats:
        """w_i w_d / p (Siris et al. 2002, section 3); (1 - p) times that where only unmarked ACKs add."""
        return np.asarray(self.weight / p if self.marked_increase else self.weight / p - self.weight)

    def price(self, window: float) -> float:
        """The path price at which the unbounded window has this mean."""
        return self.weight / (window if self.marked_increase else window + self.weight)

    def _free_area(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.weight * (np.log(p) if self.marked_increase else np.log(p) - p))

    def drift(self, window: ArrayLike, price: ArrayLike) -> Floats:
        """Gain (w_i - W p / w_d) (Siris et al. 2002, equation 5); w_i (1 - p) where only unmarked ACKs add."""
        w, p = np.asarray(window, dtype=np.float64), np.asarray(price, dtype=np.float64)
        added = self.increase if self.marked_increase else self.increase * (1 - p)
        return np.asarray(self.gain * (added - w * p / self.decrease))


class MulTcp(Control):
    """MulTCP (Crowcroft, Oechslin 1998)."""

    kind: ClassVar[str] = "multcp"

    @classmethod
    def read(cls, tcp: Mapping[str, Any], weight: float, most: float) -> Control:
        """N is its own weight, or the group's."""
        table = tcp["congestion_control"]
        return Control.multcp(mean_of(table.get("weight", weight)), table["react"], most=most)


class NewReno(Control):
    """NewReno with ECN."""

    kind: ClassVar[str] = "newreno"

    @classmethod
    def read(cls, tcp: Mapping[str, Any], weight: float, most: float) -> Control:
        """Delayed ACKs that are counted one by one slow its growth."""
        counted_singly = not tcp["byte_counting"] and int(tcp["ack_every"]) > 1
        return Control.newreno(1 / int(tcp["ack_every"]) if counted_singly else 1.0, most=most)

    @property
    def weight(self) -> float:
        """It has none."""
        return 1.0


CONTROLS: Mapping[str, type[Control]] = {control.kind: control for control in (Wtp, MulTcp, NewReno)}


def _markers() -> list[str]:
    """The queues that the model has: closed forms, then those whose curve is measured."""
    acting = [
        table["kind"]
        for table in registry.schema()["mechanisms"]
        if table["room"] == "queue" and any(param["name"] == "action" for param in table["params"])
    ]
    return list(dict.fromkeys([*markers.FORMS, *acting]))


@dataclass(frozen=True)
class Route:
    """Like connections along one path.

    Attributes:
        name: the group; with a number, as in the file, where a group sends several kinds of traffic.
        group: the group.
        flows: how many connections (or sources), all users together.
        links: names of `Fluid.links` that data crosses, in order.
        rtt_s: propagation there and back, in s; means where delays are drawn.
        packet_bytes: size of a data packet.
        control: how the window answers prices; None for a source with a fixed rate.
        rate_pps: that rate of each source in packets/s; None for a window.
        sending_s: time one packet and its ACK take on the wires of the path, in s; counts in the corrected column.
        each: sources of one user, for comparison with a run.
        alone: whether the group sends nothing else, so that a run's numbers of the group are this route's.
    """

    name: str
    group: str
    flows: int
    links: tuple[str, ...]
    rtt_s: float
    packet_bytes: float
    control: Control | None = None
    rate_pps: float | None = None
    sending_s: float = 0.0
    each: int = 1
    alone: bool = True


@dataclass(frozen=True)
class Link:
    """A transmitter that routes share.

    Copies of a link that are alike ("per = user") are one link with as many times the rate.

    Attributes:
        name: as in the file; "-NAME" for the reverse direction, "NAME[group]" for the copies of one group of several.
        component: the link's name in the file.
        rate_bps: of one copy, in bit/s.
        marker: its price as a function of load, or None where it does not mark.
        copies: how many alike.
        packet_bytes: mean packet size of the windows that cross it.
        whole: whether a run's numbers of `component` (or of its reverse direction) are this link's.
    """

    name: str
    component: str
    rate_bps: float
    marker: Marker | None = None
    copies: int = 1
    packet_bytes: float = 1500.0
    whole: bool = True

    @property
    def capacity_pps(self) -> float:
        """Packets of `packet_bytes` that all copies carry together, in packets/s."""
        return self.rate_bps * self.copies / (8 * self.packet_bytes)


@dataclass(frozen=True)
class Fluid:
    """Routes over links."""

    routes: tuple[Route, ...]
    links: tuple[Link, ...]
    warnings: tuple[str, ...] = field(default=())

    def route(self, name: str) -> Route:
        """A route by name. KeyError where there is none."""
        return next(iter([r for r in self.routes if r.name == name] or [_absent("route", name)]))

    def link(self, name: str) -> Link:
        """A link by name. KeyError where there is none."""
        return next(iter([k for k in self.links if k.name == name] or [_absent("link", name)]))

    def crossing(self, link: str) -> tuple[Route, ...]:
        """The routes over a link."""
        return tuple(route for route in self.routes if link in route.links)

    @property
    def incidence(self) -> Floats:
        """1 where route r crosses link j, shape (links, routes)."""
        crossed = [[float(k.name in r.links) for r in self.routes] for k in self.links]
        return np.array(crossed, dtype=np.float64).reshape(len(self.links), len(self.routes))

    @property
    def loads(self) -> Floats:
        """Load that one packet/s of *every* connection of route r puts on link j, shape (links, routes)."""
        sizes = np.array([r.flows * r.packet_bytes * 8 for r in self.routes])
        rates = np.array([k.rate_bps * k.copies for k in self.links])
        found: Floats = self.incidence * sizes / rates[:, None]
        return found


def _absent(what: str, name: str) -> Any:
    raise KeyError(f"no {what} “{name}”")


# From a scenario.

Curves = Callable[["markers.Wanted"], "Marker"]
"""Finds, or measures, the curve of a marker whose price has no closed form."""


def fluid(scenario: Scenario, curves: Curves | None = None) -> Fluid:
    """What the fluid model keeps of a scenario.

    Args:
        scenario: is validated first.
        curves: finds the measured curve of a RED or virtual queue; default: `curves.find`, which measures it where it
            is not known yet.

    Raises:
        ScenarioError: with everything that the model has not, each with its path, the reason and what it has instead.
    """
    return _Reader(scenario).read(curves)


@dataclass
class _Group:
    """One kind of traffic of one group, before its links are known."""

    route: Route
    tcp: Mapping[str, Any] | None
    legs: list[tuple[str, bool]]
    marked_paths: tuple[str, str]


class _Reader:
    """Reads a canonical scenario; `problems` are what the model has not."""

    def __init__(self, scenario: Scenario) -> None:
        import json

        self.scenario = scenario
        self.written = scenario.tree
        self.tree: dict[str, Any] = json.loads(scenario.core.canonical)
        self.problems: list[tuple[str, str]] = []
        self.warnings: list[str] = []

    def read(self, curves: Curves | None) -> Fluid:
        found = [g for name in self.written["groups"] for g in self._group(name)]
        crossed = self._crossed(found)
        for component, reverse in {(c, r) for c, r, _ in crossed}:
            self._check_link(component, reverse)
        if not self.problems:
            links = [self._link(key, groups, found, curves) for key, groups in crossed.items()]
        if self.problems:
            order = {
                f"{kind}.{name}": (k, n)
                for k, kind in enumerate(("links", "groups", "stages"))
                for n, name in enumerate(self.written.get(kind, {}))
            }
            self.problems.sort(key=lambda e: order.get(".".join(e[0].split(".")[:2]), (9, 0)))
            raise ScenarioError(list(dict.fromkeys(self.problems)), self.scenario.source)
        names = {key: link.name for key, link in zip(crossed, links, strict=True)}
        routes = tuple(_with_links(g.route, tuple(names[key] for key in self._keys(g) if key in names)) for g in found)
        return Fluid(routes, tuple(links), tuple(dict.fromkeys(self.warnings)))

    # groups

    def _group(self, name: str) -> list[_Group]:
        group = self.tree["groups"][name]
        legs = [(leg.removeprefix("-"), leg.startswith("-")) for leg in group["path"]]
        stages = [leg for leg, _ in legs if leg in self.tree["stages"]]
        if stages:
            self.warnings.append(f"Stages are not in the model: {', '.join(stages)}.")
        legs = [leg for leg in legs if leg[0] in self.tree["links"]]
        found = []
        for index, traffic in enumerate(group["traffic"]):
            made = self._traffic(name, group, index, traffic, legs)
            if made is not None:
                found.append(made)
        return found

    def _traffic(
        self, name: str, group: Mapping[str, Any], index: int, traffic: Mapping[str, Any], legs: list[tuple[str, bool]]
    ) -> _Group | None:
        alone = len(group["traffic"]) == 1
        at = paths.render(("groups", name, "traffic")) + ("" if alone and not self._is_list(name) else f"[{index}]")
        kind = traffic["kind"]
        users = int(group["users"])
        route_name = name if alone else f"{name}[{index}]"
        endless = registry.has(kind, "endless") and not registry.has(kind, "replies")
        if endless and registry.has(kind, "datagrams"):
            size = mean_of(traffic["packet"])
            rate = mean_of(traffic["rate"]) / (8 * size)
            there, _ = self._delays(legs)
            route = Route(route_name, name, users, (), there, size, rate_pps=rate, alone=alone)
            return _Group(route, None, legs, (f"{at}.ecn_capable", "" if traffic["ecn_capable"] else "not capable"))
        if not endless:
            self.problems.append(
                (f"{at}.kind", f"the model has no “{kind}”: only traffic without end (nearest: bulk, cbr, poisson).")
            )
            return None
        tcp = traffic["tcp"]
        place = self._tcp_place(name, index)
        size = mean_of(tcp["mss"]) + mean_of(tcp["header"])
        flows = int(traffic["flows"])
        rtt, sending = self._delays(legs, size, mean_of(tcp["header"]))
        rtt += mean_of(group.get("processing", "0 s"))
        if rtt <= 0:
            why = "takes no time; rates here are windows over round trips (nearest: a delay on one of its links)."
            self.problems.append((paths.render(("groups", name, "path")), why))
        control = self._control(tcp, group["weight"], place, name)
        if control is None or rtt <= 0:
            return None
        route = Route(route_name, name, users * flows, (), rtt, size, control, None, sending, flows, alone)
        return _Group(route, tcp, legs, (f"{place}.ecn", "off" if tcp["ecn"] == "off" else ""))

    def _is_list(self, name: str) -> bool:
        return isinstance(self.written["groups"][name].get("traffic"), (list, tuple))

    def _tcp_place(self, name: str, index: int) -> str:
        traffic = self.written["groups"][name].get("traffic")
        if isinstance(traffic, list) and isinstance(traffic[index], Mapping) and "tcp" in traffic[index]:
            return paths.render(("groups", name, "traffic", index, "tcp"))
        if isinstance(traffic, Mapping) and "tcp" in traffic:
            return paths.render(("groups", name, "traffic", "tcp"))
        return paths.render(("groups", name, "tcp"))

    def _delays(self, legs: Sequence[tuple[str, bool]], data: float = 0.0, ack: float = 0.0) -> tuple[float, float]:
        """Propagation there and back, and the time one data packet and one ACK take on the wires, in s."""
        there = sending = 0.0
        for name, against in legs:
            link = self.tree["links"][name]
            reverse = link.get("reverse", {})
            there += mean_of(link["delay"]) + mean_of(reverse.get("delay", link["delay"]))
            onward, back = link.get("rate"), reverse.get("rate", link.get("rate"))
            if against:
                onward, back = back, onward
            for size, rate in ((data, onward), (ack, back)):
                if rate is not None and not _is_steps(rate):
                    sending += 8 * size / mean_of(rate)
        return there, sending

    def _control(self, tcp: Mapping[str, Any], weight: Any, place: str, name: str) -> Control | None:
        kind = tcp["congestion_control"]["kind"]
        if kind not in CONTROLS:
            guess = nearest(kind, CONTROLS) or registry.default("congestion-control")
            self.problems.append(
                (
                    f"{place}.congestion_control",
                    f"the model has no window for “{kind}”, only for {', '.join(CONTROLS)} (nearest: {guess}).",
                )
            )
            return None
        if isinstance(weight, Mapping):
            self.warnings.append(f"groups.{name}.weight is drawn for each user; the model has its mean.")
        w = mean_of(weight)
        most = mean_of(tcp["max_window"]) / mean_of(tcp["mss"])
        return CONTROLS[kind].read(tcp, w, most if most < 1e8 else math.inf)

    # links

    def _keys(self, group: _Group) -> list[tuple[str, bool, str]]:
        """(component, reverse direction, group where it has copies of its own) of the links with a rate."""
        keys = []
        for name, against in group.legs:
            link = self.tree["links"][name]
            table = link.get("reverse", link) if against else link
            if table.get("rate", link.get("rate")) is None:
                continue
            keys.append((name, against, "" if link.get("per") is None else group.route.group))
        return keys

    def _crossed(self, found: Sequence[_Group]) -> dict[tuple[str, bool, str], list[str]]:
        crossed: dict[tuple[str, bool, str], list[str]] = {}
        for group in found:
            for key in self._keys(group):
                crossed.setdefault(key, []).append(group.route.name)
        order = list(self.written["links"])
        return dict(sorted(crossed.items(), key=lambda item: order.index(item[0][0])))

    def _table(self, component: str, reverse: bool) -> tuple[Mapping[str, Any], Any, str]:
        """Queue table, rate and path in the file of one direction of a link."""
        link = self.tree["links"][component]
        if not reverse:
            return link.get("queue", {}), link["rate"], paths.render(("links", component))
        back = link.get("reverse", {})
        return back.get("queue", {}), back.get("rate", link["rate"]), paths.render(("links", component, "reverse"))

    def _check_link(self, component: str, reverse: bool) -> None:
        queue, rate, at = self._table(component, reverse)
        link = self.tree["links"][component]
        if _is_steps(rate):
            self.problems.append((f"{at}.rate", "changes; the model has one rate. Set it to the one in question."))
        if link.get("loss") is not None:
            self.problems.append(
                (
                    f"{paths.render(('links', component))}.loss",
                    "random losses are not in the model (nearest: a queue of kind constant-probability).",
                )
            )
        kind = queue.get("kind", registry.default("queue"))
        scheduler = queue.get("scheduler", {}).get("kind", fifo := registry.default("scheduler"))
        if scheduler != fifo:
            self.problems.append(
                (f"{at}.queue.scheduler", f"“{scheduler}” shares by itself; the model has first in, first out (fifo).")
            )
        if registry.has(kind, "drops_tail"):
            return
        known = _markers()
        if kind not in known:
            guess = nearest(kind, known) or known[0]
            self.problems.append(
                (
                    f"{at}.queue.kind",
                    f"“{kind}” is no marker that the model has; it has {', '.join(known)} (nearest: {guess}).",
                )
            )
            return
        if queue["action"] == "drop":
            self.problems.append(
                (f"{at}.queue.action", "“drop”: the model has marks, no losses (nearest: mark-everything).")
            )
        if queue.get("limit") is not None:
            self.warnings.append(f"{at}.queue.limit drops what does not fit; the model has no losses and no limit.")
        if isinstance(rate, Mapping) and not _is_steps(rate):
            self.problems.append(
                (f"{at}.rate", "is drawn for each copy; a link that marks needs one rate in the model.")
            )

    def _link(
        self,
        key: tuple[str, bool, str],
        names: Sequence[str],
        found: Sequence[_Group],
        curves: Curves | None,
    ) -> Link:
        component, reverse, group = key
        queue, rate, at = self._table(component, reverse)
        users = [g for g in found if g.route.name in names]
        several = group and any(
            (g.route.group != group and (component, reverse) == (k[0], k[1])) for g in found for k in self._keys(g)
        )
        name = ("-" if reverse else "") + component + (f"[{group}]" if several else "")
        copies = self._copies(self.tree["links"][component].get("per"), users)
        windows = [g for g in users if g.route.control is not None]
        sizes = [g.route.packet_bytes for g in (windows or users)]
        counts = [g.route.flows for g in (windows or users)]
        size = float(np.average(sizes, weights=counts))
        kind = queue.get("kind", "")
        marker: Marker | None = None
        if kind in _markers():
            acks = [
                g.route.name for g in found if g.tcp is not None and (component, not reverse, group) in self._keys(g)
            ]
            if acks:
                self.warnings.append(
                    f"ACKs of {', '.join(acks)} cross {name} too; the model counts data alone, a run's price both."
                )
            for g in users:
                where, why = g.marked_paths
                if why == "off":
                    self.problems.append((where, f"is “off”, so senders do not receive the marks of {name}."))
                elif why and queue["action"] == "mark":
                    self.problems.append(
                        (where, f"is false, so that {name} drops what it picks (nearest: action mark-everything).")
                    )
            if len(set(sizes)) > 1 and kind not in markers.FORMS:
                self.warnings.append(f"Packets of several sizes cross {name}; its curve has their mean, {size:.0f} B.")
            if kind in markers.FORMS:
                marker = markers.FORMS[kind].read(queue, mean_of(rate), size)
            elif windows and not self.problems:
                marker = self._curve(name, queue, mean_of(rate), size, windows, curves)
            elif not self.problems:
                self.problems.append(
                    (f"{at}.queue.kind", f"“{kind}” has a price for windows only, and none crosses {name}.")
                )
        elif isinstance(rate, Mapping):
            self.warnings.append(f"links.{component}.rate is drawn for each copy; the model has its mean.")
        return Link(name, component, mean_of(rate), marker, copies, size, not several)

    def _copies(self, per: str | None, users: Sequence[_Group]) -> int:
        if per is None or per == "group":
            return 1
        people = int(self.tree["groups"][users[0].route.group]["users"])
        if per == "user":
            return people
        if per == "flow":
            return sum(g.route.flows for g in users)
        return math.ceil(people / int(per.split()[0]))

    def _curve(
        self,
        name: str,
        queue: Mapping[str, Any],
        rate: float,
        size: float,
        windows: Sequence[_Group],
        curves: Curves | None,
    ) -> Marker:
        flows = [g.route.flows for g in windows]
        rtt = float(np.average([g.route.rtt_s for g in windows], weights=flows))
        most = max(windows, key=lambda g: g.route.flows)
        assert most.tcp is not None
        if registry.has(queue, "marks_in_runs") and any(_once(g.route.control) for g in windows):
            self.warnings.append(
                f"{name} marks packets in runs, and windows react once per round trip. They react less than the "
                "share of marks suggests. Expect this prediction to be far off."
            )
        used = {markers.control_key(g.tcp)["congestion_control"]["kind"] for g in windows if g.tcp is not None}
        if len(used) > 1:
            kind = most.route.control.kind if most.route.control is not None else ""
            self.warnings.append(
                f"Several congestion controls cross {name}; its curve is that of {kind}, which most flows use."
            )
        wanted = markers.Wanted.of(queue, rate, size, rtt, most.tcp)
        if curves is None:
            from .curves import find

            curves = find
        return curves(wanted)


def _once(control: Control | None) -> bool:
    return control is not None and control.reaction == "once-per-rtt"


def _with_links(route: Route, links: tuple[str, ...]) -> Route:
    from dataclasses import replace

    return replace(route, links=links)


def _is_steps(rate: Any) -> bool:
    return isinstance(rate, Mapping) and "steps" in rate
