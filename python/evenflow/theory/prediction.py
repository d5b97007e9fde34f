"""A prediction: two columns of the fluid model's equilibrium, whether it settles, and a run beside it.

`ef.theory(scenario)` makes one; `Prediction.compared(table)` puts finished runs of the scenario beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import stats
from ..errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run.store import Store
    from ..run.study import Run, Table
    from ..scenario.scenario import Scenario
    from .dynamics import Trajectory
    from .equilibrium import Equilibrium
    from .markers import Marker, Wanted
    from .model import Fluid, Link, Route
    from .stability import Stability

PURE, CORRECTED = "pure", "corrected"
COLUMNS = (PURE, CORRECTED)


@dataclass(frozen=True)
class Prediction:
    """What the fluid model says of a scenario, and, once `compared`, what runs of it found.

    Attributes:
        scenario: what was predicted.
        fluid: its routes and links.
        pure, corrected: the equilibrium in its two columns (docs/theory.md).
        stability: whether it settles, judged at the pure column's prices; None: no verdict, and `no_verdict` says why.
        warnings: what the reader must know.
        table: runs of the same scenario, or None.
        level: of their intervals.
        composed: whether the corrected column takes marks of several links on one packet as one.
    """

    scenario: Scenario
    fluid: Fluid
    pure: Equilibrium
    corrected: Equilibrium
    stability: Stability | None = None
    no_verdict: str = ""
    warnings: tuple[str, ...] = ()
    table: Table | None = None
    level: float = stats.LEVEL
    composed: bool = False

    # numbers

    def equilibrium(self, column: str = CORRECTED) -> Equilibrium:
        """One column. UsageError for a name that is neither "pure" nor "corrected"."""
        if column not in COLUMNS:
            raise UsageError(f"column “{column}”: there are pure and corrected.")
        return self.pure if column == PURE else self.corrected

    def rate_pps(self, route: str, column: str = CORRECTED) -> float | None:
        """Rate of one connection in packets/s; None: no prediction. KeyError for an unknown route."""
        self.fluid.route(route)
        return self.equilibrium(column).routes[route].rate_pps

    def rate_bps(self, route: str, column: str = CORRECTED) -> float | None:
        """Rate of one connection in bit/s, headers included, as a record's `throughput_bps`; None: no prediction."""
        found = self.rate_pps(route, column)
        return None if found is None else found * 8 * self.fluid.route(route).packet_bytes

    def ratio(self, over: str, under: str, column: str = CORRECTED) -> float | None:
        """Rate of one connection of a route over that of another; None: no prediction."""
        a, b = self.rate_bps(over, column), self.rate_bps(under, column)
        return None if a is None or b is None else a / b

    def price(self, link: str, column: str = CORRECTED) -> float | None:
        """Marking probability of a link; None: no prediction. KeyError for an unknown link."""
        self.fluid.link(link)
        return self.equilibrium(column).links[link].price

    def utilisation(self, link: str, column: str = CORRECTED) -> float | None:
        """Load of a link as a share of its rate; None: no prediction. KeyError for an unknown link."""
        self.fluid.link(link)
        return self.equilibrium(column).links[link].utilisation

    # beside runs

    def compared(self, table: Table, *, level: float = stats.LEVEL) -> Prediction:
        """The same prediction with finished runs of the scenario beside it.

        Raises:
            UsageError: the runs are of another scenario, or of several.
        """
        if {run.json.get("scenario_hash") for run in table} != {self.scenario.hash}:
            raise UsageError("These runs are not of the scenario that was predicted.")
        lost = sorted(
            name for name in self.scenario.tree["groups"] if any((run.metric(_g(name, "losses")) or 0) for run in table)
        )
        more = (f"The runs lost packets of {', '.join(lost)}; the model has no losses.",) if lost else ()
        return replace(self, table=table, level=level, warnings=(*self.warnings, *more))

    def simulated_route(self, route: str) -> dict[str, stats.Interval] | None:
        """Of one connection in the runs: `rate_bps`, `rate_pps`, `window_packets`, `price`; None without runs.

        `price` is the share of the group's delivered packets that arrived with a mark. None too for a group with
        several kinds of traffic, whose numbers a record has only together.
        """
        found = self.fluid.route(route)
        if self.table is None or not found.alone:
            return None

        def marked(run: Run) -> float | None:
            marks, packets = run.metric(_g(found.group, "marks")), run.metric(_g(found.group, "delivered_packets"))
            return marks / packets if marks is not None and packets else None

        def rate(run: Run) -> float | None:
            each = run.metric(_g(found.group, "throughput_bps"))
            return None if each is None else each / found.each

        def window(run: Run) -> float | None:
            return run.metric(_g(found.group, "window_packets_mean"))

        size = 8 * found.packet_bytes
        bits = self._interval(rate)
        scaled = stats.Interval(bits.mean / size, bits.lo / size, bits.hi / size, bits.n, bits.sd / size)
        measured = {"rate_bps": bits, "rate_pps": scaled, "price": self._interval(marked)}
        return measured | ({"window_packets": self._interval(window)} if found.control is not None else {})

    def simulated_link(self, link: str) -> dict[str, stats.Interval] | None:
        """Of a link in the runs: `utilisation`, `price` (marked over arrived packets), `queue_delay_s`; or None."""
        found = self.fluid.link(link)
        if self.table is None or not found.whole:
            return None

        def table(run: Run) -> Mapping[str, Any]:
            whole: Mapping[str, Any] = run.json["links"][found.component]
            return whole["reverse"] if found.name.startswith("-") else whole

        def marked(run: Run) -> float | None:
            t = table(run)
            return sum(t["marks"].values()) / t["arrived_packets"] if t["arrived_packets"] else None

        return {
            "utilisation": self._interval(lambda run: table(run)["utilisation"]),
            "price": self._interval(marked),
            "queue_delay_s": self._interval(lambda run: table(run)["queue_delay_s_mean"]),
        }

    def difference(self, route: str, column: str = CORRECTED) -> float | None:
        """Predicted over simulated rate, less 1; None where there is no prediction or no run."""
        measured, predicted = self.simulated_route(route), self.rate_bps(route, column)
        if measured is None or predicted is None or not measured["rate_bps"].mean:
            return None
        return predicted / measured["rate_bps"].mean - 1

    def _interval(self, metric: Any) -> stats.Interval:
        assert self.table is not None
        values = [metric(run) for run in self.table]
        return stats.mean_interval([math.nan if v is None else float(v) for v in values], self.level)

    # out

    def to_json(self) -> dict[str, Any]:
        """The document of `evenflow theory --json`: plain data; undefined = null."""
        document: dict[str, Any] = {
            "scenario_hash": self.scenario.hash,
            "routes": {route.name: self._route_json(route) for route in self.fluid.routes},
            "links": {link.name: self._link_json(link) for link in self.fluid.links},
            "stability": self._stability_json(),
            "composed": self.composed,
            "warnings": list(self.warnings),
        }
        if self.table is not None:
            document["seeds"] = [run.seed for run in self.table]
        return document

    def _stability_json(self) -> dict[str, Any]:
        if self.stability is None:
            return {"verdict": "no verdict", "verdict_averaged": "no verdict", "why": self.no_verdict, "routes": []}
        return {**self.stability.to_json(), "why": ""}

    def _route_json(self, route: Route) -> dict[str, Any]:
        made: dict[str, Any] = {
            "group": route.group,
            "flows": route.flows,
            "links": list(route.links),
            "rtt_s": route.rtt_s,
            "packet_bytes": route.packet_bytes,
            "control": None if route.control is None else route.control.kind,
            "weight": None if route.control is None else route.control.weight,
        }
        for column in COLUMNS:
            state = self.equilibrium(column).routes[route.name]
            made[column] = {
                "rate_bps": self.rate_bps(route.name, column),
                "rate_pps": state.rate_pps,
                "window_packets": state.window_packets,
                "price": state.price,
            }
        made["simulated"] = _intervals(self.simulated_route(route.name))
        made["difference"] = {column: self.difference(route.name, column) for column in COLUMNS}
        return made

    def _link_json(self, link: Link) -> dict[str, Any]:
        made: dict[str, Any] = {
            "rate_bps": link.rate_bps,
            "copies": link.copies,
            "marking": None if link.marker is None else link.marker.told,
        }
        for column in COLUMNS:
            state = self.equilibrium(column).links[link.name]
            made[column] = {"utilisation": state.utilisation, "price": state.price, "saturated": state.saturated}
            if column == CORRECTED:
                made[column]["queue_delay_s"] = state.delay_s
        made["simulated"] = _intervals(self.simulated_link(link.name))
        return made

    def figure(self, table: Table | None = None) -> Figure:
        """Prediction and simulation side by side: rates of the routes, and prices and loads of the links that mark.

        Args:
            table: runs of the scenario; default: those of `compared`, else none.
        """
        from .plots import overlay

        return overlay(self if table is None else self.compared(table))

    def trajectory(
        self,
        start_pps: Mapping[str, float] | float | None = None,
        duration_s: float = 60.0,
        *,
        delays: bool = True,
        column: str = PURE,
    ) -> Trajectory:
        """How rates get from a start to their equilibrium, by Kelly's delay-differential equations.

        Args:
            start_pps: rate of one connection of each route in packets/s, held until time 0; one number for all;
                a route that is not named, and by default all: a packet a round trip.
            duration_s: how long.
            delays: whether feedback takes a round-trip time, or none.
            column: whose prices choose the branch of a measured curve.

        Returns:
            Rates of whole routes (all connections together) in packets/s, and prices, in the order of `moving`.

        Raises:
            UsageError: the scenario has windows that Kelly's equations have not (MulTCP, NewReno), or a link without
                a prediction; no such route, or a rate that is not above 0.
        """
        from .settling import follow

        return follow(self, start_pps, duration_s, delays=delays, column=column)

    def moving(self, column: str = PURE) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the routes and of the links of `trajectory`, in its order."""
        from .settling import moving

        return moving(self.fluid, self.equilibrium(column))


def _g(group: str, metric: str) -> str:
    from ..scenario import paths

    return paths.render(("groups", group, metric))


def _intervals(found: Mapping[str, stats.Interval] | None) -> dict[str, Any] | None:
    if found is None:
        return None

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {name: {"mean": number(i.mean), "ci95": [number(i.lo), number(i.hi)], "n": i.n} for name, i in found.items()}


def predict(
    scenario: Scenario,
    *,
    composed: bool = False,
    measure: bool = True,
    store: Store | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> Prediction:
    """Predict a scenario: see `evenflow.theory`.

    Raises:
        ScenarioError: not valid, or with something that the model has not; every problem at once.
        UsageError: a curve is not known, and `measure` is false.
    """
    from . import curves
    from .equilibrium import equilibrium
    from .model import fluid
    from .settling import verdict

    def find(wanted: Wanted) -> Marker:
        return curves.find(wanted, may_measure=measure, store=store, jobs=jobs, progress=progress)

    model = fluid(scenario, find)
    pure, corrected = equilibrium(model), equilibrium(model, corrected=True, composed=composed)
    warnings = [*model.warnings]
    for link in model.links:
        told = link.marker.told if link.marker is not None else {}
        if told.get("same_engine") is False:
            warnings.append(
                f"{link.name}: its curve {told['measured']} was measured by another engine, {told['engine']}."
            )
    warnings += [w for w in pure.warnings if w in corrected.warnings]
    warnings += [f"Pure column: {w}" for w in pure.warnings if w not in corrected.warnings]
    warnings += [f"Corrected column: {w}" for w in corrected.warnings if w not in pure.warnings]
    stability, why = verdict(model, pure)
    said = tuple(dict.fromkeys(warnings))
    return Prediction(scenario, model, pure, corrected, stability, why, said, composed=composed)
