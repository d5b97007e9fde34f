"""ns-2 as a peer for willingness to pay: the case of Siris et al. 2002, figure 3, that did not come out as published.

ns-2 has no such control: ns2/wtp.tcl drives the window of its Agent/TCP by equation 4, ACK by ACK, on its own links and
queues. Of markers it has RED, and the virtual queue of Gibbens and Kelly as Queue/GK, which marks what leaves; the
paper's, which marks what arrives, is written in Tcl there. Scenarios are those of the paper's reproduction, translated
or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from evenflow_papers.wtp import network as scenarios
from evenflow_papers.wtp.network import Options
from peers import NotComparableError, Ns2, kept, quantity

SOURCE = Path(__file__).resolve().parent / "ns2" / "wtp.tcl"
NAME = "wtp-sharing"
SIDE_BY_SIDE = 2

MARKERS = {"busy-arrival": "arrivals", "busy-departure": "gk", "overflow": "overflow"}
"""What ns2/wtp.tcl calls the ways a virtual queue marks."""
WAITS = {"floyd": 0, "ns2": 1}
"""Queue/RED's `wait_` for RED's count rules."""


def _expect(table: Mapping[str, Any], expected: Mapping[str, Any], where: str) -> None:
    """Refuse what ns-2 cannot be told."""
    for key, value in expected.items():
        if table.get(key) != value:
            raise NotComparableError(f"{where}.{key}: expected {value!r}, found {table.get(key)!r}")


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if more := sorted(set(table) - known):
        raise NotComparableError(f"{where}: {', '.join(more)} cannot be said to ns-2")


def _marker(queue: Mapping[str, Any], packet: float) -> dict[str, Any]:
    if queue.get("kind") == "virtual-queue":
        _only(queue, {"kind", "rate_factor", "buffer_factor", "buffer", "mark"}, "queue")
        _expect(queue, {"buffer_factor": queue["rate_factor"]}, "queue")
        return {
            "marker": MARKERS[queue["mark"]],
            "theta": queue["rate_factor"],
            "buffer": f"{quantity(queue['buffer']):.0f}",
        }
    expected = {"kind": "red", "variant": "ns2", "gentle": True, "action": "mark-everything"}
    _expect(queue, expected, "queue")
    least, most = quantity(queue["min_threshold"]), quantity(queue["max_threshold"])
    _only(
        queue,
        {*expected, "spread", "min_threshold", "max_threshold", "max_probability", "weight", "mean_packet"},
        "queue",
    )
    if queue["spread"] not in WAITS or quantity(queue["mean_packet"]) != packet:
        raise NotComparableError("queue: ns-2 has the count rules floyd and ns2, and one packet size here")
    return {
        "marker": "red",
        "wait": WAITS[queue["spread"]],
        "least": f"{least:g}",
        "most": f"{most:g}",
        "probability": queue["max_probability"],
        "weight": queue["weight"],
    }


def _weights(group: Mapping[str, Any], where: str) -> tuple[float, float]:
    """Weights of increase and decrease (equations 4 to 6)."""
    control = group["tcp"]["congestion_control"]
    _expect(control, {"kind": "wtp", "start": "none"}, where)
    _only(control, {"kind", "start", "gain", "form"}, where)
    weight = float(group.get("weight", 1))
    if control["form"] == "proportional-increase":
        return weight, 1.0
    if control["form"] == "inverse-decrease":
        return 1.0, weight
    raise NotComparableError(f"{where}.form: expected one weight, found {control['form']!r}")


def arguments(scenario: Scenario, seed: int) -> list[str]:
    """What ns2/wtp.tcl is told; raises `NotComparableError` where it cannot be."""
    tree = scenario.tree
    _only(tree["links"], {"access", "bottleneck"}, "links")
    access, link = tree["links"]["access"], tree["links"]["bottleneck"]
    _expect(access, {"per": "user"}, "links.access")
    _only(access, {"rate", "delay", "per"}, "links.access")
    _only(link, {"rate", "delay", "queue"}, "links.bottleneck")
    groups, shared = [], set()
    for name, group in tree["groups"].items():
        where = f"groups.{name}"
        tcp = group["tcp"]
        _expect(group, {"path": ["access", "bottleneck"]}, where)
        _expect(tcp, {"ecn": "per-packet"}, f"{where}.tcp")
        _only(tcp, {"stack", "congestion_control", "ecn", "mss", "header"}, f"{where}.tcp")
        _expect(group["traffic"], {"kind": "bulk"}, f"{where}.traffic")
        _only(group["traffic"], {"kind", "start"}, f"{where}.traffic")
        first, last = group["traffic"]["start"]["uniform"]
        if quantity(first) != 0:
            raise NotComparableError(f"{where}.traffic.start: expected the first at 0 s")
        increase, decrease = _weights(group, f"{where}.tcp.congestion_control")
        groups.append(f"{name}:{group['users']}:{increase:g}:{decrease:g}")
        shared.add((tcp["congestion_control"]["gain"], quantity(tcp["mss"]), quantity(tcp["header"]), quantity(last)))
    if len(shared) != 1:
        raise NotComparableError("groups: expected one gain, packet size and range of starts")
    ((gain, mss, header, start_max),) = shared
    options = {
        "groups": ",".join(groups),
        **_marker(link["queue"], mss + header),
        "rate": f"{quantity(link['rate']):.0f}",
        "delay": repr(quantity(link["delay"])),
        "access_rate": f"{quantity(access['rate']):.0f}",
        "access_delay": repr(quantity(access["delay"])),
        "packet": f"{mss + header:.0f}",
        "header": f"{header:.0f}",
        "start_max": repr(start_max),
        "gain": gain,
        "duration": repr(quantity(tree["duration"])),
        "warmup": repr(quantity(tree["warmup"])),
        "seed": seed,
    }
    return [f"{key}={value}" for key, value in options.items()]


def runs_of_ns2(peer: Ns2, scenario: Scenario, seeds: Sequence[int], *, fresh: bool = False) -> list[dict[str, float]]:
    """The metrics of ns-2's runs, in seed order, kept like all others'; a run that was another control is left out."""

    def run(seed: int) -> dict[str, float] | None:
        command = [str(peer.binary), str(SOURCE), *arguments(scenario, seed)]
        try:
            return metrics_of_ns2(kept(SOURCE, command, fresh=fresh))
        except RefusedError as refused:
            print(f"ns-2's run with seed {seed} is left out: {refused}", flush=True)
            return None

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = [metrics for metrics in pool.map(run, seeds) if metrics is not None]
    if not found:
        raise RefusedError("every run of ns-2 was refused")
    return found


class RefusedError(RuntimeError):
    """A run of ns-2 in which a packet was lost, a connection stood still, or Agent/TCP changed a window by itself."""


def metrics_of_ns2(record: Mapping[str, Any]) -> dict[str, float]:
    """The compared metrics of a record of ns2/wtp.tcl.

    Raises `RefusedError` if a packet was lost or Agent/TCP changed a window by itself: then it was another control. A
    loss before the measurement shows as a connection that stands still ever after, for the control repairs nothing.
    """
    link = record["links"]["bottleneck"]
    if link["dropped_packets"] or record["windows_not_ours"]:
        raise RefusedError(f"{link['dropped_packets']} packets lost, {record['windows_not_ours']} windows changed")
    still = sum(group["flows_delivered_packets"].count(0) for group in record["groups"].values())
    if still:
        raise RefusedError(f"{still} connections stood still")
    heavy, light = (
        {
            "goodput": _mean(group["flows_delivered_packets"]),
            "marks": _mean(group["flows_marks"]),
            "window": _mean(group["flows_window_packets"]),
        }
        for group in (record["groups"]["heavy"], record["groups"]["light"])
    )
    return _compared(heavy, light) | {
        "utilisation": link["utilisation"],
        "marks per packet": link["marked_packets"] / link["seen_packets"],
        "mean queue (packets)": link["queue_packets_mean"],
    }


def metrics_of_ours(record: Record) -> dict[str, float]:
    """The same of one of ours."""
    link = record.json["links"]["bottleneck"]
    heavy, light = (
        {
            "goodput": group["delivered_packets"] / group["users"],
            "marks": group["marks"] / group["users"],
            "window": group["window_packets_mean"],
        }
        for group in (record.json["groups"]["heavy"], record.json["groups"]["light"])
    )
    return _compared(heavy, light) | {
        "utilisation": link["utilisation"],
        "marks per packet": sum(link["marks"].values()) / link["arrived_packets"],
        "mean queue (packets)": link["queue_packets_mean"],
    }


def _compared(heavy: Mapping[str, float], light: Mapping[str, float]) -> dict[str, float]:
    """R, the ratio of windows, and M/R, which is the ratio of the probabilities that a packet is marked."""
    shares = {key: heavy[key] / light[key] for key in heavy}
    return {
        "goodput heavy/light": shares["goodput"],
        "mean window heavy/light": shares["window"],
        "marks per packet heavy/light": shares["marks"] / shares["goodput"],
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def points() -> Iterator[tuple[dict[str, str | int], tuple[str, ...], Scenario]]:
    """Every comparison: label, mechanisms, scenario. The packet limit at which the paper's RED marks all is left out:
    Queue/RED has none."""
    plain = Options(red_limit="ignore")
    leaving, lost = replace(plain, vq_mark="busy-departure"), replace(plain, vq_mark="overflow")
    waiting = replace(plain, red_spread="ns2")
    virtual, red = ("virtual-queue", "wtp"), ("red", "wtp")

    def point(
        marker: str, o: Options, of: tuple[str, ...], population: str, r: int, form: str = scenarios.PI
    ) -> tuple[dict[str, str | int], tuple[str, ...], Scenario]:
        queue = scenarios.red(o) if "red" in of else scenarios.virtual_queue(o)
        groups = scenarios.pair(o, population, float(r), scenarios.wtp(o, form))
        label = {"marker": marker, "form": form, "population": population, "r": r}
        return label, of, scenarios.single_link(o, queue, groups)

    for population in ("A", "B"):
        for r in (6, 10):
            yield point("VQ", plain, virtual, population, r)
            yield point("VQ of what leaves", leaving, virtual, population, r)
            yield point("RED", plain, red, population, r)
            yield point("RED, wait", waiting, red, population, r)
    yield point("VQ of what is lost", lost, virtual, "A", 10)
    for marker, of in (("VQ", virtual), ("RED", red)):
        yield point(marker, plain, of, "A", 10, scenarios.IPD)
