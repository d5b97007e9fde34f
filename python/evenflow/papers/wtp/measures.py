"""The paper's metrics read from finished runs, one value a seed.

R: throughput of a connection of the high weight over one of the low (Figs. 3a to 7); M: the same of received marks
(Figs. 3b, 4b); Wr: the same of mean windows. p: marked arrivals over arrivals at a link; ρ: its busy share; queueing
delay: waiting time before transmission, ms (Table 2). All of [60, 180] s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from evenflow.lab import Floats, Measure, Vocabulary, in_words, of_arrived, over, plain, scaled

from .network import LINK

if TYPE_CHECKING:
    from evenflow.study import Label, Run

    from .choices import Options

OfGroup: TypeAlias = "Callable[[str, Run], float | None]"


def throughput(group: str, run: Run) -> float | None:
    """Mean throughput of a connection of the group, bit/s."""
    return run.metric(f"groups.{group}.throughput_bps")


def tagged(group: str, run: Run) -> float | None:
    """Throughput of the group's first connection, bit/s."""
    found = run.json["groups"][group]["flows_throughput_bps"]
    return float(found[0]) if found else None


def marks(group: str, run: Run) -> float | None:
    """Mean number of marks that a connection of the group received."""
    group_json = run.json["groups"][group]
    return float(group_json["marks"]) / float(group_json["users"])


def window(group: str, run: Run) -> float | None:
    """Mean congestion window of the group, packets."""
    return run.metric(f"groups.{group}.window_packets_mean")


def at_floor(group: str, run: Run) -> float | None:
    """Share of the time that the group's windows stood at their floor of one packet."""
    return run.metric(f"groups.{group}.window_at_floor")


def group_probability(group: str, run: Run) -> float | None:
    """Share of the group's packets that arrived with a mark: the price it saw on its whole path."""
    found = run.json["groups"][group]
    return float(found["marks"]) / float(found["delivered_packets"]) if found["delivered_packets"] else None


def _quotient(measure: OfGroup, above: str, below: str) -> Measure:
    return lambda run: over(measure(above, run), measure(below, run))


def throughput_ratio(o: Options, above: str = "heavy", below: str = "light") -> Measure:
    """R of one run; of the classes' means or of one connection each, as the option `ratio` says."""
    return _quotient(tagged if o.ratio == "tagged" else throughput, above, below)


def long_class(run: Run) -> str:
    """The class that crosses every link of a chain: ``both`` of two, ``all`` of three."""
    return "all" if "all" in run.json["groups"] else "both"


def long_ratio(o: Options) -> Measure:
    """R of Figs. 5 to 7: a connection over all links to one over R1–R2 alone."""

    def ratio(run: Run) -> float | None:
        return throughput_ratio(o, long_class(run), "one")(run)

    return ratio


def marks_ratio(above: str = "heavy", below: str = "light") -> Measure:
    """M of one run."""
    return _quotient(marks, above, below)


def window_ratio(above: str = "heavy", below: str = "light") -> Measure:
    """Wr of one run."""
    return _quotient(window, above, below)


def probability(run: Run, link: str = LINK) -> float | None:
    """p: share of the packets arriving at a link that it marked."""
    return of_arrived(run.json["links"][link], "marks")


def probability_at(link: str) -> Measure:
    """p of a named link."""
    return partial(probability, link=link)


def utilisation(run: Run, link: str = LINK) -> float | None:
    """ρ: busy share of a link, 0 to 1."""
    return run.metric(f"links.{link}.utilisation")


def delay_ms(what: str, run: Run, link: str = LINK) -> float | None:
    """Queueing delay at a link, ms; `what` is mean, max, sd or p99."""
    return scaled(run.metric(f"links.{link}.queue_delay_s_{what}"), 1e3)


def losses(run: Run) -> float:
    """Data packets dropped anywhere, all groups."""
    return float(sum(group["losses"] for group in run.json["groups"].values()))


_WORDS: Vocabulary = {
    "marker": str,
    "form": str,
    "topology": str,
    "control": str,
    "population": lambda v: f"population {v}",
    "base_weight": lambda v: f"base weight {plain(v)}",
    "r": lambda v: f"r = {plain(v)}",
    "w": lambda v: f"weight {plain(v)}",
    "n": lambda v: f"{plain(v)} connections",
    "rtt_ms": lambda v: f"RTT {plain(v)} ms",
    "rtt12_ms": lambda v: f"RTT of R1–R2 {plain(v)} ms",
    "theta": lambda v: f"θ = {plain(v)}",
    "buffer": lambda v: f"B = {plain(v)} packets",
}


def words(**labels: Label) -> str:
    """Labels as a reader says them: "VQ, r = 10"."""
    return in_words(_WORDS, labels)


# --- Numbers in notes -----------------------------------------------------------------------------------------------


def ratio(values: Floats | float) -> str:
    """The mean of a ratio near 1, to three decimals."""
    found = np.asarray(values, dtype=np.float64)
    return "undefined" if np.isnan(found).all() else f"{float(np.nanmean(found)):.3f}"


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %"
