"""Marking probability against utilisation: a study that any scenario with a marker can be put through.

`marking_study` sweeps how many connections there are; what else the scenario says stays as it is: any marker, any
congestion control, mixtures of weights. `marking_curve` reads the finished table: for each number of connections the
link's utilisation, the share of arriving packets that it marked, and the queueing delay, with intervals.

>>> study = marking_study(scenario, flows=(2, 4, 8, 16))  # doctest: +SKIP
>>> marking_curve(study.run()).frame()  # doctest: +SKIP

The figures 8 to 10 of Siris, Courcoubetis, Margetis 2002 are made of it, and so are the measured curves of
`evenflow.theory`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import stats
from ..errors import UsageError, unknown
from ..run.study import Point, Study
from ..scenario import paths, registry
from ..scenario.scenario import Scenario
from ..scenario.sweep import Label

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ..run.study import Run, Table

FLOWS = (2, 4, 6, 8, 12, 16, 20, 26, 32, 40, 50)
"""Numbers of connections that take a link of 10 Mbit/s and 200 ms from a light load to a heavy one."""
N = "n"
"""The label of the number of connections."""
REPLICATIONS = 10


def marking_study(
    scenario: Scenario,
    *,
    flows: Sequence[int] = FLOWS,
    groups: Iterable[str] | None = None,
    replications: int = REPLICATIONS,
    labels: Mapping[str, Label] | None = None,
) -> Study:
    """A scenario with few to many connections.

    The groups keep their shares of the connections: a mixture of 5 and 5 becomes one of 10 and 10 at `n` = 20. Where a
    share is no whole number, the largest remainders are rounded up, and no group is left without a connection. A group
    of one user with several flows gets more flows, any other more users.

    Args:
        scenario: with one kind of TCP traffic in each of these groups.
        flows: numbers of connections of these groups together; each point carries its number as the label `n`.
        groups: which ones; default: all that send TCP traffic. The others stay as they are.
        replications: seeds 1…replications for every point.
        labels: further labels of the points, to tell them from those of other studies (`study.points` may be joined).

    Raises:
        UsageError: an unknown group, one without TCP traffic or with several kinds, or fewer connections than groups.
    """
    shares = _shares(scenario, groups)
    if not flows:
        raise UsageError("A marking study needs at least one number of connections.")
    points = [Point({**(labels or {}), N: n}, _scaled(scenario, shares, n)) for n in flows]
    return Study(points, range(1, replications + 1))


@dataclass(frozen=True)
class _Share:
    group: str
    path: str
    """What is scaled: users, or flows of the one user."""
    per: int
    """Connections in one unit of it."""
    now: int
    """Connections that the scenario has."""


def _shares(scenario: Scenario, groups: Iterable[str] | None) -> list[_Share]:
    tree = scenario.tree
    known: Mapping[str, Any] = tree.get("groups", {})
    found: list[_Share] = []
    for name in known if groups is None else groups:
        if name not in known:
            raise unknown("group", name, known)
        traffic = known[name].get("traffic")
        listed = isinstance(traffic, list)
        kinds = traffic if isinstance(traffic, list) else [traffic]
        bulk = [k for k in kinds if registry.has(k, "endless") and not registry.has(k, "datagrams")]
        if not bulk and groups is None:
            continue
        if len(kinds) != 1 or not bulk:
            raise UsageError(f"groups.{name}: a marking study scales groups that send one kind of traffic, bulk.")
        users, each = int(known[name].get("users", 1)), int(bulk[0].get("flows", 1))
        if users == 1 and each > 1:
            at = ("groups", name, "traffic", *((0,) if listed else ()), "flows")
            found.append(_Share(name, paths.render(at), 1, each))
        else:
            found.append(_Share(name, paths.render(("groups", name, "users")), each, users * each))
    if not found:
        raise UsageError("A marking study needs a group that sends bulk traffic; this scenario has none.")
    return found


def _scaled(scenario: Scenario, shares: Sequence[_Share], n: int) -> Scenario:
    smallest = sum(s.per for s in shares)
    if n < smallest:
        raise UsageError(f"{n} connections: {len(shares)} groups need at least {smallest}.")
    total = sum(s.now for s in shares)
    exact = [n * s.now / total / s.per for s in shares]
    units = [max(1, math.floor(e + 1e-9)) for e in exact]
    order = sorted(range(len(shares)), key=lambda i: exact[i] - units[i], reverse=True)
    for i in order * 2:
        if sum(u * s.per for u, s in zip(units, shares, strict=True)) + shares[i].per <= n:
            units[i] += 1
    made = sum(u * s.per for u, s in zip(units, shares, strict=True))
    if made != n:
        raise UsageError(
            f"{n} connections cannot be made of groups whose users have {', '.join(str(s.per) for s in shares)} flows; "
            f"{made} can."
        )
    return scenario.with_settings({s.path: u for s, u in zip(shares, units, strict=True)})


def probability(link: str) -> Callable[[Run], float | None]:
    """A metric of runs: the share of the packets arriving at a link in the window that it marked."""

    def measure(run: Run) -> float | None:
        found = run.json["links"][link]
        return sum(found["marks"].values()) / found["arrived_packets"] if found["arrived_packets"] else None

    return measure


@dataclass(frozen=True)
class Band:
    """Means and Student-t intervals of one quantity: arrays of shape (k,)."""

    mean: NDArray[np.float64]
    lo: NDArray[np.float64]
    hi: NDArray[np.float64]


@dataclass(frozen=True)
class MarkingPoints:
    """Marking probability against utilisation as measured, in ascending order of the number of connections.

    Attributes:
        link: which link.
        flows: numbers of connections, shape (k,).
        utilisation: share of time in use.
        probability: marked over arrived packets.
        delay_s: mean queueing delay in s.
        level: of the intervals.
    """

    link: str
    flows: NDArray[np.int64]
    utilisation: Band
    probability: Band
    delay_s: Band
    level: float

    def frame(self) -> pl.DataFrame:
        """One row for each number of connections: `n`, and mean, lo and hi of each quantity."""
        import polars as pl

        columns: dict[str, Any] = {N: self.flows}
        for name, band in (
            ("utilisation", self.utilisation),
            ("probability", self.probability),
            ("delay_s", self.delay_s),
        ):
            columns |= {name: band.mean, f"{name}_lo": band.lo, f"{name}_hi": band.hi}
        return pl.DataFrame(columns)

    def draw(self, ax: Axes, *, label: str | None = None, index: int | None = None, dashes: str | None = None) -> None:
        """Draw probability over utilisation, each point with the intervals of both."""
        import numpy as np

        from ..show.plots import COLOURS, MARKERS

        number = sum(1 for line in ax.get_lines() if line.get_gid() == "mean") if index is None else index
        colour = COLOURS[number % len(COLOURS)]
        x, y = self.utilisation, self.probability

        def reach(band: Band) -> NDArray[np.float64]:
            away = np.array([band.mean - band.lo, band.hi - band.mean])
            return np.where(np.isfinite(away), np.maximum(away, 0.0), 0.0)

        ax.plot(
            x.mean,
            y.mean,
            dashes or "-",
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            label=label,
            gid="mean",
        )
        ax.errorbar(
            x.mean, y.mean, xerr=reach(x), yerr=reach(y), fmt="none", ecolor=colour, elinewidth=0.8, capsize=1.5
        )


def marking_curve(
    table: Table,
    link: str | None = None,
    where: Mapping[str, Label] | None = None,
    *,
    level: float = stats.LEVEL,
) -> MarkingPoints:
    """Read a marking study.

    Args:
        table: finished runs with the label `n`.
        link: which; default: the one that marks, where there is one.
        where: other labels that single out one study of several.
        level: of the intervals.

    Raises:
        UsageError: no such link, none that marks, or several.
        KeyError: no runs with these labels, or several studies match.
    """
    import numpy as np

    chosen = table.where(where) if where else table
    name = _marker(chosen, link)

    def band(metric: str | Callable[[Run], float | None]) -> Band:
        curve = chosen.curve(metric, N, level=level)
        return Band(curve.mean, curve.lo, curve.hi)

    at = paths.render(("links", name))
    flows = chosen.curve(f"{at}.utilisation", N).x
    return MarkingPoints(
        link=name,
        flows=flows.astype(np.int64),
        utilisation=band(f"{at}.utilisation"),
        probability=band(probability(name)),
        delay_s=band(f"{at}.queue_delay_s_mean"),
        level=level,
    )


def _marker(table: Table, link: str | None) -> str:
    links = table.runs[0].json["links"]
    if link is not None:
        if link not in links:
            raise unknown("link", link, links)
        return link
    marking: list[str] = [
        name for name in links if any(any(run.json["links"][name]["marks"].values()) for run in table)
    ]
    if len(marking) != 1:
        told = f"{', '.join(marking)} do" if marking else "none does"
        raise UsageError(f"Which link? One that marks was looked for, and {told}; say link=….")
    return marking[0]
