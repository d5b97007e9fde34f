"""Measured prices: where no closed form is known, the load at a price is what runs on one link say.

A curve is measured on a single link with connections of equal weight 1, from few to many, so that the price rises;
never on the scenario that is predicted. It depends on the marker and its parameters, the link's rate, packet size,
round-trip time and congestion control (`markers.Wanted`), and is kept as a JSON file with all of these, the engine that
made it, and a hash. `find` looks in the package's folder `curves`, then in the store's folder `curves`, then measures.

That connections with other weights, or over several links, are as bursty as those it was measured with is an assumption
of the model.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import EvenflowError, UsageError
from ..scenario.scenario import Scenario
from .markers import Marker, Wanted

if TYPE_CHECKING:
    from ..run.store import Store

Floats = NDArray[np.float64]
OfLoad = Callable[[Floats], Floats]

SHIPPED = Path(__file__).parent / "curves"
FLOWS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 26, 32, 40, 50, 64, 80, 100)
"""Connections of weight 1: at a product of rate and round trip of 250 packets, prices from 0.004 to 0.4."""
SEEDS = 5
DURATION = "180 s"
WARMUP = "60 s"
START = ("0 s", "5 s")
"""Runs as in Siris et al. 2002, section 5."""
ACCESS = "100 Mbit/s"
"""A link of its own for each user, which spaces packets (Siris et al. 2002, section 5, leaves it open)."""
SLOPE_POINTS = 5
"""Neighbours through which a slope is fitted: single pairs of measured points are too noisy for a derivative."""


@dataclass(frozen=True)
class MarkingCurve:
    """A measured price, as a `markers.Marker`.

    Between measured points the load is interpolated over the price, keeping its shape (PCHIP); outside them nothing is
    known. At price 0 the load is at most that of the lowest measured price.

    Attributes:
        wanted: what it is of.
        flows: numbers of connections, shape (k,).
        prices, loads, delays_s: means over seeds, ascending in price.
        bands: of each quantity the interval's lower and upper ends, shape (2, k): "price", "load", "delay_s".
        engine: the engine that made it.
        sha256: of the file's content.
        file: where it was found; None if it was not kept.
    """

    wanted: Wanted
    flows: NDArray[np.int64]
    prices: Floats
    loads: Floats
    delays_s: Floats
    bands: Mapping[str, Floats]
    engine: str
    sha256: str
    file: Path | None = None
    has_queue: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        """The queue's kind."""
        return str(self.wanted.queue["kind"])

    @property
    def first(self) -> float:
        """The least price measured."""
        return float(self.prices[0])

    @property
    def top(self) -> float:
        """The largest price measured."""
        return float(self.prices[-1])

    @property
    def increasing(self) -> bool:
        """Whether the load nowhere falls by more than the intervals of its neighbours explain."""
        lo, hi = self.bands["load"]
        return bool(np.all(hi[1:] >= lo[:-1]))

    @property
    def lag_s(self) -> float:
        """RED's moving average: 1 / (w_q packets/s), the mean age of what is in it; others have none."""
        weight = self.wanted.queue.get("weight")
        if weight is None:
            return 0.0
        return 8 * self.wanted.packet_bytes / (float(weight) * self.wanted.rate_bps)

    @property
    def told(self) -> dict[str, Any]:
        """File, hash and the range of prices."""
        from .. import _core

        return {
            "kind": self.kind,
            "measured": self.file.name if self.file is not None else self.wanted.name,
            "sha256": self.sha256,
            "engine": self.engine,
            "same_engine": self.engine == _core.ENGINE_ID,
            "rtt_s": self.wanted.rtt_s,
            "first": self.first,
            "top": self.top,
            "increasing": self.increasing,
        }

    @cached_property
    def _load(self) -> Any:
        from scipy.interpolate import PchipInterpolator

        return PchipInterpolator(self.prices, self.loads)

    @cached_property
    def _area(self) -> Any:
        return self._load.antiderivative()

    def branch(self, price: float | None) -> tuple[Floats, Floats]:
        """Loads and prices of the stretch around a price over which the load grows with the price; None: the longest.

        Where the load falls by more than the intervals explain a new stretch begins.
        """
        lo, hi = self.bands["load"]
        cuts = [0, *(np.flatnonzero(hi[1:] < lo[:-1]) + 1), len(self.prices)]
        stretches = list(itertools.pairwise(cuts))
        if price is None:
            a, b = max(stretches, key=lambda s: s[1] - s[0])
        else:
            at = int(np.clip(np.searchsorted(self.prices, price), 0, len(self.prices) - 1))
            a, b = next(s for s in stretches if s[0] <= at < s[1])
        return np.maximum.accumulate(self.loads[a:b]), self.prices[a:b]

    def load(self, price: ArrayLike) -> Floats:
        """Load at a price; below the first measured one that one's."""
        return np.asarray(self._load(np.clip(price, self.first, self.top)))

    def area(self, price: ArrayLike) -> Floats:
        """Integral of the load over prices from 0."""
        p = np.asarray(price, dtype=np.float64)
        inside = np.clip(p, self.first, self.top)
        below = np.minimum(p, self.first) * self.loads[0]
        return np.asarray(below + self._area(inside) - self._area(self.first))

    def price(self, load: ArrayLike) -> Floats:
        """Price at a load along `branch(None)`: see `around`."""
        return self.around(None)[0](np.asarray(load, dtype=np.float64))

    def slope(self, load: ArrayLike) -> Floats:
        """Derivative of the price by the load along `branch(None)`: see `around`."""
        return self.around(None)[1](np.asarray(load, dtype=np.float64))

    def around(self, price: float | None) -> tuple[OfLoad, OfLoad]:
        """Price and its slope as functions of the load, along `branch(price)`.

        A straight line leads up to the branch from no price at no load; above it the price stays at its end. The slope
        is that of a straight line through the nearest measured points.
        """
        loads, prices = self.branch(price)
        at = np.concatenate([[0.0], loads + 1e-12 * np.arange(1, len(loads) + 1)])
        of = np.concatenate([[0.0], prices])

        def slope(load: Floats) -> Floats:
            fitted = np.vectorize(lambda x: _fitted_slope(loads, prices, float(x)), otypes=[np.float64])(load)
            before = of[1] / at[1]
            return np.where(load < at[1], before, np.where(load > at[-1], 0.0, fitted))

        return lambda load: np.interp(load, at, of), slope

    def slope_at(self, price: float) -> float:
        """`slope` on the stretch around a price; NaN where that has fewer than three points."""
        loads, prices = self.branch(price)
        return _fitted_slope(loads, prices, float(self.load(price)))

    def delay(self, price: float) -> float:
        """Mean queueing delay at a price in s; 0 where nothing is marked."""
        if price <= 0:
            return 0.0
        return float(np.interp(price, self.prices, self.delays_s))

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        return {**_content(self), "sha256": self.sha256}


def _fitted_slope(loads: Floats, prices: Floats, at: float) -> float:
    if len(loads) < 3 or np.ptp(loads) == 0:
        return float("nan")
    near = np.argsort(np.abs(loads - at), kind="stable")[:SLOPE_POINTS]
    if np.ptp(loads[near]) == 0:
        return float("nan")
    return float(np.polyfit(loads[near], prices[near], 1)[0])


def _content(curve: MarkingCurve) -> dict[str, Any]:
    columns = {
        "n": curve.flows.tolist(),
        "price": curve.prices.tolist(),
        "load": curve.loads.tolist(),
        "delay_s": curve.delays_s.tolist(),
    }
    ends = {
        f"{name}_{end}": curve.bands[name][i].tolist() for name in curve.bands for i, end in enumerate(("lo", "hi"))
    }
    return {
        "what": "marking probability against utilisation, one link, equal connections of weight 1",
        "of": curve.wanted.to_json(),
        "runs": {"seeds": SEEDS, "duration": DURATION, "warmup": WARMUP, "start": list(START), "access": ACCESS},
        "engine": curve.engine,
        "points": {**columns, **ends},
    }


def _sha256(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def scenario(wanted: Wanted) -> Scenario:
    """The single link with one connection of weight 1 that `marking.marking_study` then multiplies."""
    header = int(float(str(wanted.tcp["header"]).split()[0]))
    tcp = {**wanted.tcp, "mss": f"{wanted.packet_bytes:.0f} B", "header": f"{header} B"}
    tcp["mss"] = f"{wanted.packet_bytes - header:.0f} B"
    user = {
        "users": 1,
        "path": ["access", "bottleneck"],
        "traffic": {"kind": "bulk", "start": {"uniform": list(START)}},
        "tcp": tcp,
    }
    rate = f"{wanted.rate_bps:.0f} bit/s"
    links = {
        "access": {"rate": ACCESS, "delay": "0 s", "per": "user"},
        "bottleneck": {"rate": rate, "delay": f"{wanted.rtt_s / 2!r} s", "queue": dict(wanted.queue)},
    }
    return Scenario({"duration": DURATION, "warmup": WARMUP, "links": links, "groups": {"windows": user}})


def measure(
    wanted: Wanted,
    *,
    flows: Sequence[int] = FLOWS,
    store: Store | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> MarkingCurve:
    """Measure a curve: `flows` connections, 5 seeds each.

    Raises:
        UsageError: it marks nothing, so that it has no curve.
    """
    from ..run.study import run_study
    from .marking import marking_curve, marking_study

    study = marking_study(scenario(wanted), flows=flows, replications=SEEDS)
    table = run_study(study, store=store, jobs=jobs, progress=progress, what=f"measuring {wanted.queue['kind']}")
    found = marking_curve(table, "bottleneck")
    marked = found.probability.mean > 0
    order = np.flatnonzero(marked)[np.argsort(found.probability.mean[marked], kind="stable")]
    if len(order) < 3:
        raise UsageError(
            f"A queue of kind {wanted.queue['kind']} with these parameters marked no packet. The link has "
            f"{wanted.rate_bps / 1e6:g} Mbit/s and {flows[0]} to {flows[-1]} connections of weight 1. Without marks "
            "there is no price to predict with; let the queue mark earlier."
        )
    prices = found.probability.mean[order]
    distinct = order[np.concatenate([[True], np.diff(prices) > 0])]
    bands = {
        "price": np.array([found.probability.lo[distinct], found.probability.hi[distinct]]),
        "load": np.array([found.utilisation.lo[distinct], found.utilisation.hi[distinct]]),
        "delay_s": np.array([found.delay_s.lo[distinct], found.delay_s.hi[distinct]]),
    }
    (engine,) = table.engines
    made = MarkingCurve(
        wanted,
        found.flows[distinct],
        found.probability.mean[distinct],
        found.utilisation.mean[distinct],
        found.delay_s.mean[distinct],
        bands,
        engine,
        "",
    )
    from dataclasses import replace

    return replace(made, sha256=_sha256(_content(made)))


def save(curve: MarkingCurve, folder: Path) -> MarkingCurve:
    """Write a curve into a folder, under its name; returns it with the file."""
    from dataclasses import replace

    from ..run.files import write_whole

    path = folder / f"{curve.wanted.name}.json"
    write_whole(path, (json.dumps(curve.to_json(), indent=1, ensure_ascii=False) + "\n").encode())
    return replace(curve, file=path)


def load(path: Path) -> MarkingCurve:
    """Read a curve.

    Raises:
        EvenflowError: not a curve, or not what was written.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        sha256 = content.pop("sha256")
        points = {name: np.array(values) for name, values in content["points"].items()}
        wanted = Wanted(**content["of"])
        bands = {n: np.array([points[f"{n}_lo"], points[f"{n}_hi"]]) for n in ("price", "load", "delay_s")}
        curve = MarkingCurve(
            wanted,
            points["n"],
            points["price"],
            points["load"],
            points["delay_s"],
            bands,
            content["engine"],
            sha256,
            path,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvenflowError(f"{path} is not a measured curve ({type(error).__name__}); remove it.") from None
    if _sha256(content) != sha256:
        raise EvenflowError(f"{path} is not what was written: its hash differs. Remove it, and it is measured again.")
    return curve


def store_folder() -> Path:
    """Where measured curves are kept: the folder `curves` of the store."""
    from ..run.store import default_folder

    return default_folder() / "curves"


def find(
    wanted: Wanted,
    *,
    may_measure: bool = True,
    store: Store | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> Marker:
    """The curve of a marker: shipped, kept in the store, or measured now and kept there.

    A curve of the store by another engine than this one is measured again; a shipped one is used, and the prediction
    says so.

    Raises:
        UsageError: it is not known and `may_measure` is false.
    """
    from .. import _core

    for folder in (SHIPPED, store_folder() if store is None else store.folder / "curves"):
        path = folder / f"{wanted.name}.json"
        if not path.is_file():
            continue
        try:
            found = load(path)
        except EvenflowError as error:
            if folder == SHIPPED or not may_measure:
                raise
            logging.getLogger("evenflow").warning("%s", error)
            continue
        if folder == SHIPPED or not may_measure or found.engine == _core.ENGINE_ID:
            return found
    if not may_measure:
        raise UsageError(
            f"The price of {wanted.queue['kind']} has no closed form, and its curve {wanted.name} was not measured "
            "yet; allow measuring it (measure=True)."
        )
    made = measure(wanted, store=store, jobs=jobs, progress=progress)
    return save(made, store_folder() if store is None else store.folder / "curves")
