"""The running Linux kernel as a peer: its own TCP through the drop-tail bottleneck of linux/dumbbell.c.

A run takes as long as it simulates, and what it finds is kept like the results of the other simulators. Three runs go
side by side. A run whose packets left late, or that lost packets outside its queue, is repeated and then given up:
`InvalidError`. Both sides' congestion windows are read every 10 ms and go through the same function, `falls`. Random
losses are before the queue there and behind the transmitter here, which shows in the utilisation alone.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import platform
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenflow import Record, Scenario
from peers import CACHE, NotComparableError, quantity

HERE = Path(__file__).resolve().parent
RUNS = 3
SIDE_BY_SIDE = 3
TRIES = 3
SAMPLE = 0.01  # s, between two looks at a window

# A packet lasts 1.2 ms at 10 Mbit/s. Lateness delays a packet; it never changes the rate (virtual time).
LATE_P99 = 0.5e-3  # s
LATE_P999 = 5e-3  # s

STILL = 1e-9  # RED's weight with which its average stands still

CONGESTION_CONTROL = {"cubic": "cubic", "newreno": "reno", "bbr1": "bbr"}


class InvalidError(RuntimeError):
    """The machine was too busy for a run to mean anything, three times."""


@dataclass(frozen=True)
class Flows:
    """One group: its flows start at uniform times in [0, start_max_s]."""

    name: str
    congestion_control: str
    flows: int
    start_max_s: float


@dataclass(frozen=True)
class Dumbbell:
    """What both sides run. Rate in bit/s, times in s, limits in waiting packets."""

    groups: tuple[Flows, ...]
    rate_bps: float
    delay_s: float
    limit: int
    mark_above: int
    loss: float
    duration_s: float
    warmup_s: float
    window: int = 0
    """Bytes: no larger receive window is told; 0: as the receiver says."""

    @staticmethod
    def from_scenario(scenario: Scenario) -> Dumbbell:
        """Translate a scenario; raises `NotComparableError` where that is not possible."""
        tree = scenario.tree
        stages = tree.get("stages", {})
        if set(tree["links"]) != {"bottleneck"} or not set(stages) <= {"tuner"}:
            raise NotComparableError("expected the link `bottleneck` and at most the stage `tuner`")
        tuner = stages.get("tuner", {"kind": "rewriter", "max_window": "0 B"})
        if set(tuner) != {"kind", "max_window"} or tuner["kind"] != "rewriter":
            raise NotComparableError("stages.tuner: expected a rewriter with max_window alone")
        link = tree["links"]["bottleneck"]
        if link.get("reverse") != {"delay": link["delay"]}:
            raise NotComparableError("links.bottleneck.reverse: expected the same delay and no rate")
        queue = dict(link["queue"])
        limit = int(quantity(queue.pop("limit")))
        kind = queue.pop("kind", "droptail")
        mark_above = 0
        if kind == "red" and queue.get("action") == "mark" and queue.get("weight", 1) <= STILL:
            # An average that never moves leaves of RED the threshold on the queue itself.
            mark_above = int(quantity(queue["mark_all_above"]))
        elif kind != "droptail" or queue:
            raise NotComparableError("links.bottleneck.queue: expected drop-tail or a marking threshold")
        groups: list[Flows] = []
        for name, group in tree["groups"].items():
            tcp, traffic = group["tcp"], group["traffic"]
            control = CONGESTION_CONTROL.get(tcp["congestion_control"])
            if tcp["stack"] != "linux" or control is None or traffic["kind"] != "bulk" or group.get("users", 1) != 1:
                raise NotComparableError(f"groups.{name}: expected one user with bulk flows on the stack linux")
            start = traffic.get("start", {"uniform": ["0 s", "0 s"]})["uniform"]
            groups.append(Flows(name, control, traffic.get("flows", 1), quantity(start[1])))
        return Dumbbell(
            groups=tuple(groups),
            rate_bps=quantity(link["rate"]),
            delay_s=quantity(link["delay"]),
            limit=limit,
            mark_above=mark_above,
            loss=link.get("loss", 0.0),
            duration_s=quantity(tree["duration"]),
            warmup_s=quantity(tree["warmup"]),
            window=int(quantity(tuner["max_window"])),
        )


class Linux:
    """TCP of the kernel this runs on."""

    name = "Linux"

    def __init__(self) -> None:
        self.source = HERE / "linux" / "dumbbell.c"
        self.compiler = shutil.which("cc")

    def missing(self, controls: Sequence[str] = ("cubic", "newreno")) -> str | None:
        """Why the kernel cannot be asked here, with what mends it; None if it can."""
        if platform.system() != "Linux":
            return f"this is {platform.system()}"
        if not self.compiler:
            return "no C compiler (sudo apt-get install gcc libc6-dev)"
        for control in controls:
            probe = [self.binary(), f"--group=a:{CONGESTION_CONTROL[control]}:0", "--duration=0.1"]
            done = subprocess.run(probe, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                mend = "run as root, or with /dev/net/tun and user namespaces open to you"
                return f"{done.stderr.strip() or done.returncode} ({mend}; sudo modprobe -a tun tcp_cubic tcp_bbr)"
        return None

    def describe(self) -> str:
        return (
            f"TCP of Linux {platform.release()} through linux/dumbbell.c, initial window, buffers and timers as the "
            f"kernel has them; {RUNS} runs a point in real time"
        )

    def binary(self) -> Path:
        """The program, built once per source."""
        key = hashlib.sha256(self.source.read_bytes()).hexdigest()[:16]
        target = CACHE / f"linux-dumbbell-{key}"
        if not target.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            part = target.with_suffix(f".part{os.getpid()}")
            command = [str(self.compiler), "-std=gnu11", "-O2", "-o", str(part), str(self.source)]
            build = subprocess.run(command, capture_output=True, text=True, check=False)
            if build.returncode != 0:
                raise RuntimeError(f"{self.compiler} could not build {self.source}:\n{build.stderr[-4000:]}")
            part.replace(target)
        return target

    def arguments(self, dumbbell: Dumbbell, seed: int) -> list[str]:
        """The command line, without the program and without files."""
        d = dumbbell
        draws = random.Random(seed)
        groups = []
        for group in d.groups:
            starts = ",".join(f"{draws.uniform(0, group.start_max_s):.6f}" for _ in range(group.flows))
            groups.append(f"--group={group.name}:{group.congestion_control}:{starts}")
        options = {
            "rate": f"{d.rate_bps:.0f}",
            "delay": repr(d.delay_s),
            "limit": d.limit,
            "mark-above": d.mark_above,
            "ecn": int(d.mark_above > 0),
            "loss": repr(d.loss),
            "window": d.window,
            "duration": repr(d.duration_s),
            "warmup": repr(d.warmup_s),
            "seed": seed,
            "interval": repr(SAMPLE),
        }
        return [*groups, *(f"--{key}={value}" for key, value in options.items())]

    def run(self, dumbbell: Dumbbell, seed: int, *, fresh: bool = False) -> dict[str, float]:
        """The metrics of one run, kept under the program and its arguments and the kernel's release."""
        arguments = self.arguments(dumbbell, seed)
        parts = [self.source.read_bytes(), platform.release().encode(), *(part.encode() for part in arguments)]
        path = CACHE / "records" / f"linux-{hashlib.sha256(b'/'.join(parts)).hexdigest()[:24]}.json"
        if not fresh and path.exists():
            return metrics_of_kernel(json.loads(path.read_text(encoding="utf-8")), dumbbell)
        late = ""
        for _ in range(TRIES):
            record = self._once(arguments, len(dumbbell.groups) == 1 and dumbbell.groups[0].flows == 1)
            emulator = record["emulator"]
            late = (
                f"99 % of packets less than {1e3 * emulator['late_p99_s']:.2f} ms late, 99.9 % less than "
                f"{1e3 * emulator['late_p999_s']:.2f} ms, {emulator['device_drops']} lost outside the queue"
            )
            good = emulator["late_p99_s"] <= LATE_P99 and emulator["late_p999_s"] <= LATE_P999
            if good and emulator["device_drops"] == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(f".part{os.getpid()}")
                part.write_text(json.dumps(record), encoding="utf-8")
                part.replace(path)
                return metrics_of_kernel(record, dumbbell)
        raise InvalidError(f"the machine is too busy for real time: {late}")

    def _once(self, arguments: Sequence[str], windows: bool) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(folder) / "samples.csv"
            command = [str(self.binary()), *arguments, *([f"--samples={samples}"] if windows else [])]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"dumbbell ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
            record: dict[str, Any] = json.loads(done.stdout)
            if windows:
                with samples.open(encoding="utf-8", newline="") as file:
                    rows = list(csv.DictReader(file))
                record["window"] = {
                    "time_s": [float(row["time_s"]) for row in rows],
                    "packets": [int(row["cwnd"]) for row in rows],
                }
            return record

    def metrics(self, dumbbell: Dumbbell, *, fresh: bool = False) -> list[dict[str, float]]:
        """`RUNS` runs, three at a time."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(lambda seed: self.run(dumbbell, seed, fresh=fresh), range(1, RUNS + 1)))


def falls(times: Sequence[float], windows: Sequence[float]) -> list[tuple[float, float]]:
    """Reductions of a sampled congestion window: (when it began, the window before), for each fall by over 10 %."""
    found: list[tuple[float, float]] = []
    top, top_at, bottom, falling = 0.0, 0.0, math.inf, False
    for time, window in zip(times, windows, strict=True):
        if falling:
            bottom = min(bottom, window)
            if window < bottom + 1:
                continue
            falling, top = False, 0.0
        if window > top:
            top, top_at = window, time
        elif window == top:
            top_at = time
        elif window < 0.9 * top:
            found.append((top_at, top))
            falling, bottom = True, window
    return found


def _windows(times: Sequence[float], windows: Sequence[float], dumbbell: Dumbbell) -> dict[str, float]:
    """What is compared of one flow's window."""
    all_falls = falls(times, windows)
    measured = [fall for fall in all_falls if fall[0] > dumbbell.warmup_s]
    found = {"reductions": float(len(measured))}
    if measured:
        found["window before a reduction (packets)"] = _mean([window for _, window in measured])
    if all_falls:
        found["first reduction (s)"], found["window before the first (packets)"] = all_falls[0]
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _drawn(found: dict[str, float], dumbbell: Dumbbell) -> dict[str, float]:
    """Without what a link that loses at random decides by its first draw."""
    return {name: value for name, value in found.items() if not (dumbbell.loss and "first" in name)}


def metrics_of_kernel(record: Mapping[str, Any], dumbbell: Dumbbell) -> dict[str, float]:
    """The compared metrics of a record of linux/dumbbell.c."""
    if dumbbell.window:
        return _held_back(record, "sent_packets", dumbbell)
    link = record["links"]["bottleneck"]
    found = _shared(record, link, sum(link["drops"].values()), dumbbell)
    for group in dumbbell.groups:
        flows = record["groups"][group.name]["flows"]
        found[f"window {group.name} (packets)"] = _mean([flow["cwnd_mean"] for flow in flows])
    if "window" in record:
        [flow] = record["groups"][dumbbell.groups[0].name]["flows"]
        opened = flow["opened_s"]  # a process takes a millisecond to begin
        if flow["first_loss_s"] > 0:
            found["first loss (s)"] = flow["first_loss_s"] - opened
        times = [time - opened for time in record["window"]["time_s"]]
        found |= _windows(times, record["window"]["packets"], dumbbell)
    return _drawn(found, dumbbell)


def metrics_of_ours(record: Record, dumbbell: Dumbbell) -> dict[str, float]:
    """The same of one of ours."""
    tree = record.json
    if dumbbell.window:
        return _held_back(tree, "delivered_packets", dumbbell)
    link = tree["links"]["bottleneck"]
    found = _shared(tree, link, sum(link["drops"].values()), dumbbell)
    for group in dumbbell.groups:
        found[f"window {group.name} (packets)"] = tree["groups"][group.name]["window_packets_mean"]
    if len(dumbbell.groups) == 1 and dumbbell.groups[0].flows == 1:
        drops = record.arrays("events.drop.flow")[0]
        if drops.size:
            found["first loss (s)"] = float(drops[0])
        [name] = [name for name in record.series_names if name.endswith(".window")]
        times, windows = record.arrays(name)
        found |= _windows(times.tolist(), windows.tolist(), dumbbell)
    return _drawn(found, dumbbell)


def _held_back(record: Mapping[str, Any], count: str, dumbbell: Dumbbell) -> dict[str, float]:
    """What is compared where a receive window holds one flow back."""
    group = record["groups"][dumbbell.groups[0].name]
    seconds = dumbbell.duration_s - dumbbell.warmup_s
    return {
        "goodput (Mbit/s)": group["goodput_bps"] / 1e6,
        "payload of a segment (B)": group["goodput_bps"] * seconds / 8 / group[count],
    }


def _shared(record: Mapping[str, Any], link: Mapping[str, Any], drops: int, dumbbell: Dumbbell) -> dict[str, float]:
    groups = {group.name: record["groups"][group.name] for group in dumbbell.groups}
    found = {f"goodput {name} (Mbit/s)": group["goodput_bps"] / 1e6 for name, group in groups.items()}
    for name, group in groups.items():
        found[f"retransmitted {name} (%)"] = 100 * group["retransmits"] / group["sent_packets"]
    found["loss (%)"] = 100 * drops / link["arrived_packets"]
    found["mean queue (packets)"] = link["queue_packets_mean"]
    found["utilisation"] = link["utilisation"]
    if dumbbell.mark_above:
        marks = link["marked_packets"] if "marked_packets" in link else sum(link["marks"].values())
        found["marked (%)"] = 100 * marks / link["arrived_packets"]
    return found


WINDOWS = {
    "20 ms": (2_048, 5_120, 14_336, 28_672, 99_328, 199_680),
    "40 ms": (2_048, 3_072, 4_096, 5_120, 8_192, 14_336, 28_672, 49_152, 99_328, 199_680, 399_360),
    "100 ms": (2_048, 7_168, 49_152, 399_360),
}
"""Receive windows in bytes, by round-trip time: whole units of 1024, which is how the kernel scales them."""


def windows() -> Iterator[tuple[str, dict[str, str | int], Scenario]]:
    """A connection whose window is rewritten on the way: name, label, scenario."""
    base = Scenario.load(HERE / "scenarios" / "linux-window.toml")
    for rtt, sizes in WINDOWS.items():
        delay = f"{quantity(rtt) / 2 * 1e3:g} ms"
        path = base.set("links.bottleneck.delay", delay).set("links.bottleneck.reverse.delay", delay)
        for size in sizes:
            yield "linux-window", {"RTT": rtt, "window": size}, path.set("stages.tuner.max_window", f"{size} B")


def path(scenario: Scenario, rtt_ms: int, limit: int) -> Scenario:
    """The scenario with a round trip, and a limit in packets."""
    delay = f"{rtt_ms / 2} ms"
    changed = scenario.set("links.bottleneck.delay", delay).set("links.bottleneck.reverse.delay", delay)
    return changed.set("links.bottleneck.queue.limit", f"{limit} packets")


def bbr() -> Iterator[tuple[str, dict[str, str | int], Scenario]]:
    """BBRv1 alone, and one flow beside one CUBIC flow: name, label, scenario."""
    one = Scenario.load(HERE / "scenarios" / "linux.toml").set("groups.flow.tcp.congestion_control", "bbr1")
    pair = Scenario.load(HERE / "scenarios" / "linux-share.toml").set("groups.reno.tcp.congestion_control", "bbr1")
    tree = pair.set("duration", "60 s").set("warmup", "20 s").tree
    tree["groups"]["bbr"] = tree["groups"].pop("reno")
    for rtt in (20, 100):
        for share in (0.5, 1.0, 4.0):
            limit = round(share * rtt / 1.2)
            yield "linux-bbr", {"RTT": f"{rtt} ms", "limit": limit}, path(one, rtt, limit)
    for share in (0.5, 1.0, 4.0, 16.0):
        limit = round(share * 40 / 1.2)
        yield "linux-bbr-share", {"RTT": "40 ms", "limit": limit}, path(Scenario(tree), 40, limit)


def points() -> Iterator[tuple[str, dict[str, str | int], Scenario]]:
    """Every comparison: name, label, scenario."""
    one = Scenario.load(HERE / "scenarios" / "linux.toml")
    pair = Scenario.load(HERE / "scenarios" / "linux-share.toml")

    for control in ("cubic", "newreno"):
        flow = one.set("groups.flow.tcp.congestion_control", control)
        for rtt in (20, 50, 100):
            for share in (0.5, 1.0, 2.0):
                limit = round(share * rtt / 1.2)
                yield "linux", {"cc": control, "RTT": f"{rtt} ms", "limit": limit}, path(flow, rtt, limit)
        yield "linux", {"cc": control, "RTT": "5 ms", "limit": 24}, path(flow, 5, 24)
    for rtt in (20, 100):
        for flows in (1, 4):
            both = path(pair, rtt, round(rtt / 1.2))
            for group in ("cubic", "reno"):
                both = both.set(f"groups.{group}.traffic.flows", flows)
            yield "linux-share", {"flows": f"{flows}+{flows}", "RTT": f"{rtt} ms"}, both
    for control in ("cubic", "newreno"):
        flow = one.set("groups.flow.tcp.congestion_control", control)
        for loss in (0.001, 0.01):
            lossy = path(flow, 50, 200).set("links.bottleneck.loss", loss)
            yield "linux-loss", {"cc": control, "loss": str(loss)}, lossy
        threshold = {
            "kind": "red",
            "limit": "100 packets",
            "min_threshold": "20 packets",
            "max_threshold": "60 packets",
            "mark_all_above": "20 packets",
            "weight": STILL,
            "action": "mark",
        }
        marked = path(flow, 40, 100).set("groups.flow.tcp.ecn", "classic").set("links.bottleneck.queue", threshold)
        yield "linux-ecn", {"cc": control, "RTT": "40 ms", "marked above": 20}, marked
