"""From a prediction to Kelly's equations: whether its equilibrium is stable, and how rates get there.

The connections of a route move alike, so that their rates add up to one rate with as many times the weight. What the
equations have not (MulTCP and NewReno, whose willingness follows their rate; REM, whose price is
a memory; a measured load that falls where its price grows) gets no verdict, and says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError, unknown
from .curves import MarkingCurve
from .dynamics import Marking, System, Trajectory, trajectory
from .markers import ConstantProbability, LoadBased, Marker, Rem
from .model import Fluid, Link, Route, Wtp
from .stability import Linearised, Stability, judge

if TYPE_CHECKING:
    from .equilibrium import Equilibrium
    from .prediction import Prediction

Floats = NDArray[np.float64]


def verdict(fluid: Fluid, equilibrium: Equilibrium) -> tuple[Stability | None, str]:
    """Whether an equilibrium is stable, or why there is no verdict ("" where there is one).

    Routes without a prediction are left out; so are links that do not mark.
    """
    routes, links, why = _parts(fluid, equilibrium)
    if why:
        return None, why
    prices, slopes = [], []
    for link in links:
        state = equilibrium.links[link.name]
        falls = _falls(link, equilibrium)
        if falls:
            return None, falls
        prices.append(state.price)
        slopes.append(_slope(link, equilibrium) / link.capacity_pps)
    per_connection = np.array([equilibrium.routes[r.name].rate_pps for r in routes], dtype=np.float64)
    counts = np.array([r.flows for r in routes], dtype=np.float64)
    system = Linearised(
        routing=_routing(links, routes),
        rates=per_connection * counts,
        gains=_gains(routes),
        delays=np.array([r.rtt_s for r in routes]),
        prices=np.array(prices),
        slopes=np.array(slopes),
        averaging=np.array([link.marker.lag_s for link in links if link.marker is not None]),
        names=tuple(r.name for r in routes),
    )
    return judge(system), ""


def follow(
    prediction: Prediction,
    start_pps: Mapping[str, float] | float | None,
    duration_s: float,
    *,
    delays: bool,
    column: str,
) -> Trajectory:
    """See `Prediction.trajectory`."""
    fluid, equilibrium = prediction.fluid, prediction.equilibrium(column)
    routes, links, why = _parts(fluid, equilibrium)
    why = why or next((told for link in links if (told := _falls(link, equilibrium))), "")
    if why:
        raise UsageError(f"No trajectory: {why}.")
    counts = np.array([r.flows for r in routes], dtype=np.float64)
    times = np.array([r.rtt_s for r in routes])
    least = np.array([r.control.least for r in routes if r.control is not None]) / times
    if start_pps is None:
        start = least
    elif isinstance(start_pps, Mapping):
        names = [r.name for r in routes]
        wrong = [str(unknown("route to start", name, names)) for name in start_pps if name not in names]
        if wrong:
            raise UsageError("\n".join(wrong))
        start = np.array([float(start_pps.get(r.name, rate)) for r, rate in zip(routes, least, strict=True)])
    else:
        start = np.full(len(routes), float(start_pps))
    if not (np.isfinite(start) & (start > 0)).all():
        raise UsageError("A trajectory starts from rates above 0 packets/s.")
    system = System(
        _routing(links, routes),
        tuple(_marking(fluid, link, equilibrium) for link in links),
        gains=_gains(routes),
        weights=np.array([r.control.weight for r in routes if r.control is not None]) * counts / times,
        delays=times if delays else None,
        floor=float((least * counts).min()),
    )
    return trajectory(system, start * counts, duration_s)


def moving(fluid: Fluid, equilibrium: Equilibrium) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the routes and links of `follow`'s trajectory, in its order."""
    routes, links, _ = _parts(fluid, equilibrium)
    return tuple(r.name for r in routes), tuple(k.name for k in links)


def _parts(fluid: Fluid, equilibrium: Equilibrium) -> tuple[list[Route], list[Link], str]:
    """Routes that answer prices, the links that make them, and what stands in the way."""
    routes = [r for r in fluid.routes if r.control is not None and equilibrium.routes[r.name].rate_pps is not None]
    crossed = {name for r in routes for name in r.links}
    links = [k for k in fluid.links if k.marker is not None and k.name in crossed]
    if not routes or not links:
        return routes, links, "no window has a predicted rate and a price to answer"
    other = sorted({r.control.kind for r in routes if r.control is not None and not isinstance(r.control, Wtp)})
    if other:
        return routes, links, f"Kelly's equations are of willingness to pay, not of {', '.join(other)}"
    if any(r.control is not None and not r.control.marked_increase for r in routes):
        return routes, links, 'Kelly\'s equations have the increase of marked ACKs (marked_ack = "increase")'
    priced = [k.name for k in links if isinstance(k.marker, Rem)]
    if priced:
        return routes, links, f"the price of {', '.join(priced)} (rem) is a memory, no function of the load"
    if len({r.packet_bytes for r in routes}) > 1:
        return routes, links, "packets have several sizes"
    return routes, links, ""


def _routing(links: list[Link], routes: list[Route]) -> Floats:
    return np.array([[float(k.name in r.links) for r in routes] for k in links])


def _gains(routes: list[Route]) -> Floats:
    """k = kb / (T w_d) (Siris et al. 2002, equation 5)."""
    return np.array([r.control.gain / (r.rtt_s * r.control.decrease) for r in routes if r.control is not None])


def _falls(link: Link, equilibrium: Equilibrium) -> str:
    """Why Kelly's equations have no such link, or ""."""
    if _slope(link, equilibrium) >= 0:
        return ""
    return f"the measured load of {link.name} falls, or stands, while its price grows"


def _slope(link: Link, equilibrium: Equilibrium) -> float:
    marker: Marker | None = link.marker
    price, load = equilibrium.links[link.name].price, equilibrium.links[link.name].utilisation
    assert price is not None
    assert load is not None
    if isinstance(marker, ConstantProbability) or marker is None:
        return 0.0
    if isinstance(marker, MarkingCurve):
        return marker.slope_at(price) if price > 0 else 0.0
    return float(marker.slope(load))


def _marking(fluid: Fluid, link: Link, equilibrium: Equilibrium) -> Marking:
    """A marker over packets/s of the windows, on top of what crosses it at a fixed rate."""
    marker = link.marker
    assert marker is not None
    capacity = link.capacity_pps
    fixed = sum(
        r.flows * (r.rate_pps or 0.0) * r.packet_bytes / link.packet_bytes
        for r in fluid.crossing(link.name)
        if r.control is None
    )
    if isinstance(marker, LoadBased) and not fixed and marker.capacity == 1:
        return Marking.load_based(capacity, marker.target, marker.gain)
    if isinstance(marker, MarkingCurve):
        price, slope = marker.around(equilibrium.links[link.name].price)
        return Marking(lambda y: price((y + fixed) / capacity), lambda y: slope((y + fixed) / capacity) / capacity)
    return Marking(
        lambda y: marker.price((y + fixed) / capacity), lambda y: marker.slope((y + fixed) / capacity) / capacity
    )
