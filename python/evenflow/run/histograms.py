"""Distributions of delays over packets: histograms with fixed logarithmic bins, which add over runs.

delays = ef.run("examples/scenarios/call.toml").delays("groups.call")
delays.quantile(0.99)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, nearest
from ..scenario import paths, registry
from ..scenario.outline import Outline
from ..words import counted, time_span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..scenario.scenario import Scenario

_ALL = re.compile(r"links\..+\.queue\.delay|groups\..+\.(delay|rtt|transfers\.(completion|first_byte))")
USERS = ".users.delay"
"""End of a name with a histogram for each user."""
RESPONSIVENESS, OUTCOME = "responsiveness_rpm", "quality_of_outcome"
"""Metrics that a record has with the distribution of round trips, and with that of delays."""
PERCENTILES = ("p5", "p50", "p95", "p99")


@dataclass(frozen=True, repr=False)
class Histogram:
    """Counts of delays in bins. Arrays of shape (k,): the non-empty bins, ascending.

    Attributes:
        low_s, high_s: edges of each bin in s. A bin is at most 0.8 % wide; queueing delay 6.3 %, transfers 0.4 %.
        count: packets, round trips or transfers in each bin.
    """

    low_s: NDArray[np.float64]
    high_s: NDArray[np.float64]
    count: NDArray[np.float64]

    def __repr__(self) -> str:
        if not self.total:
            return "<Histogram of no packets>"
        p50, p99 = (time_span(one) for one in self.quantile([0.5, 0.99]))
        return f"<Histogram of {counted(self.total, 'packet')}: p50 {p50}, p99 {p99}>"

    @staticmethod
    def of(tree: Mapping[str, Any]) -> list[Histogram]:
        """The histograms in a record: one, or one for each user."""
        import numpy as np

        low, high, counts = (np.array(tree[name], dtype=np.float64) for name in ("low_s", "high_s", "count"))
        each = [counts] if counts.ndim == 1 else list(counts)
        return [Histogram(low[n > 0], high[n > 0], n[n > 0]) for n in each]

    @staticmethod
    def merged(several: Iterable[Histogram]) -> Histogram:
        """The histogram over the packets of several runs, users or groups."""
        import numpy as np

        found = list(several) or [Histogram(np.zeros(0), np.zeros(0), np.zeros(0))]
        low, index = np.unique(np.concatenate([h.low_s for h in found]), return_inverse=True)
        high, count = np.zeros(len(low)), np.zeros(len(low))
        high[index] = np.concatenate([h.high_s for h in found])
        np.add.at(count, index, np.concatenate([h.count for h in found]))
        return Histogram(low, high, count)

    @property
    def total(self) -> int:
        """How many packets it counts."""
        return int(self.count.sum())

    def quantile(self, q: float | Sequence[float]) -> Any:
        """The delay in s that a share `q` of packets does not exceed, interpolated in its bin.

        Args:
            q: a share from 0 to 1, or several.

        Returns:
            A float, or an array of the shape of `q`; NaN without packets.

        Raises:
            UsageError: a share outside 0 to 1.
        """
        import numpy as np

        wanted = np.asarray(q, dtype=np.float64)
        if not np.all((wanted >= 0) & (wanted <= 1)):
            raise UsageError(f"quantile {q}: write a share from 0 to 1, such as 0.95.")
        if not self.total:
            found = np.full(wanted.shape, np.nan)
        else:
            above = np.cumsum(self.count)
            at = np.minimum(np.searchsorted(above, wanted * above[-1]), len(above) - 1)
            inside = np.clip(1 - (above[at] - wanted * above[-1]) / self.count[at], 0, 1)
            found = self.low_s[at] + inside * (self.high_s[at] - self.low_s[at])
        return float(found) if found.ndim == 0 else found

    def mean(self, up_to: float = 1.0) -> float:
        """The mean delay in s of the shortest share `up_to` of packets, as if delays were uniform in their bins.

        NaN without packets.
        """
        import numpy as np

        if not self.total:
            return float("nan")
        wanted = up_to * self.count.sum()
        taken = np.clip(wanted - (np.cumsum(self.count) - self.count), 0, self.count)
        middle = self.low_s + (self.high_s - self.low_s) * taken / self.count / 2
        return float((taken * middle).sum() / wanted)

    def cdf(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The distribution function: delays in s, and the share of packets at or below each, from 0 to 1.

        Both have shape (m,): the edges of all bins, ascending. Between two edges the function is linear.
        """
        import numpy as np

        edges = np.unique(np.concatenate([self.low_s, self.high_s]))
        below = np.concatenate([[0.0], np.cumsum(self.count)])
        return edges, below[np.searchsorted(self.high_s, edges, side="right")] / max(1.0, below[-1])


def names(scenario: Scenario) -> list[str]:
    """The distributions that a run of a scenario can record: "groups.call.delay", "links.line.queue.delay", …."""
    tree = Outline(scenario).tree
    found: list[str] = []
    groups = tree.get("groups", {})
    for name, group in groups.items():
        at = paths.render(("groups", name))
        tcp = any("tcp" in one for one in group["traffic"])
        found += [f"{at}.delay", *([f"{at}.rtt"] if tcp else []), f"{at}{USERS}"]
        classes = sorted({str(one["class"]) for one in group["traffic"]})
        if len(classes) > 1:
            found += [f"{at}.classes.{paths.render((one,))}.delay" for one in classes]
        if any(not _lasts(one) or "until" in one for one in group["traffic"]):
            found += [f"{at}.transfers.{what}" for what in ("completion", "first_byte")]
    for name, link in tree.get("links", {}).items():
        if "rate" not in link:
            continue
        at = paths.render(("links", name))
        sent = {str(one["class"]) for group in groups.values() if name in group["path"] for one in group["traffic"]}
        found.append(f"{at}.queue.delay")
        found += [f"{at}.classes.{paths.render((one,))}.queue.delay" for one in sorted(sent)]
    return found


def metrics_behind(name: str) -> list[str]:
    """The metrics that a record has only with a distribution: percentiles of a class and of each user, and scores."""
    group = name.startswith("groups.") and ".classes." not in name
    if name.endswith(".rtt"):
        return [f"{name.removesuffix('.rtt')}.{RESPONSIVENESS}"]
    if group and name.endswith(".delay") and not name.endswith(USERS):
        return [f"{name.removesuffix('.delay')}.{OUTCOME}"]
    if name.endswith(USERS):
        return [f"{name.removesuffix(USERS)}.users_delay_s_{p}" for p in PERCENTILES[1:]]
    if name.startswith("links.") and ".classes." in name:
        return [f"{name.removesuffix('.queue.delay')}.queue_delay_s_{p}" for p in (*PERCENTILES, "max")]
    return []


def _lasts(traffic: Mapping[str, Any]) -> bool:
    """Whether traffic has no transfers: endless flows, and datagrams without replies."""
    silent = registry.has(traffic, "datagrams") and not registry.has(traffic, "replies")
    return registry.has(traffic, "lasts") or silent


def is_one(name: str) -> bool:
    """Whether a name is that of a distribution over packets."""
    return _ALL.fullmatch(name) is not None


def sampled(name: str) -> str:
    """The sample of a distribution, in words."""
    return "transfers" if ".transfers." in name else "round trips" if name.endswith(".rtt") else "packets"


def full_name(of: str) -> str:
    """The distribution of delay that a group, link or class has: "groups.call" -> "groups.call.delay"."""
    if is_one(of):
        return of
    return f"{of}.queue.delay" if of.startswith("links.") else f"{of}.delay"


def recorded(json: Mapping[str, Any]) -> list[str]:
    """The distributions over packets in a record."""
    return [name for name in json.get("histograms") or {} if is_one(name)]


def of_record(json: Mapping[str, Any], name: str) -> list[Histogram]:
    """A distribution of a record: one histogram, or with `users` one for each user.

    Raises:
        UsageError: not recorded.
    """
    known = json.get("histograms") or {}
    if name not in known:
        raise not_recorded(name, json)
    return Histogram.of(known[name])


def not_recorded(name: str, json: Mapping[str, Any]) -> UsageError:
    """The error of a record without this distribution."""
    guess = nearest(name, recorded(json))
    hint = f"Did you mean “{guess}”?" if guess else f'Add record.histograms = ["{name}"] to the scenario.'
    return UsageError(f"“{name}” was not recorded. {hint}")


def requested(scenario: Scenario, wanted: Iterable[str]) -> Scenario:
    """The scenario with these distributions recorded as well. This changes no other result of a run."""
    record = scenario.tree.get("record")
    already = list(record.get("histograms") or []) if isinstance(record, Mapping) else []
    more = [name for name in dict.fromkeys(wanted) if name not in already]
    return scenario.set("record.histograms", [*already, *more]) if more else scenario
