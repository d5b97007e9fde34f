"""`make bench`: how fast Evenflow is, and ns-2 and ns-3 on the same work in the same invocation.

The works are the scenarios in benches/works. All three simulators get the same topology (four link crossings for a
packet and its acknowledgement), flows, rates and buffers. Every data packet is acknowledged, and hosts have a random
processing time. The unit is bottleneck packets per CPU-second; packet-hops would favour simulators with more hops.
Each speed has loss, useful packets and the shares of flows next to it.
The cost of each mechanism is in mechanisms.py, that of policing in networks.py, that of the papers in ledgers.py.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import ledgers
import mechanisms
import networks
from matplotlib.figure import Figure
from measuring import Spread, bench_run_binary, instructions_per_packet, say, table
from peers import MSS_BYTES, ROOT, Dumbbell, Finished, NotComparableError, Ns2, Ns3, measure, quantity

WORKS = {
    "W1": "w1-abc.toml",
    "W4": "w4-450.toml",
    "W3": "w3-1000.toml",
    "W2": "w2-red.toml",
    "W5": "w5-flows.toml",
    "W6": "w6-conex.toml",
    "W7": "w7-homes.toml",
}
# Works with dynamically created flows: shares are those of users. Other simulators have no such dumbbell; ns-2 has a
# separate script.
OPENS = frozenset({"W5", "W7"})
TURNOVER = "turnover.toml"
CHILD = Path(__file__).with_name("evenflow_run.py")
SEED = 1
# Bottleneck packets a CPU-second, least and hoped for: NewReno behind drop-tail, and (W2) CUBIC with SACK, RED, ECN.
FLOOR_PACKETS_PER_S = {"W1": 4.0e6, "W4": 4.0e6, "W3": 4.0e6, "W2": 3.5e6, "W5": 3.5e6, "W6": 2.0e6, "W7": 0.2e6}
AIM_PACKETS_PER_S = {"W1": 5.5e6, "W4": 5.5e6, "W3": 5.5e6}
MOST_INSTRUCTIONS = {"W1": 2000, "W4": 2000, "W3": 2000, "W2": 3150, "W5": 3300, "W6": 5000, "W7": 20000}
MOST_BYTES_PER_FLOW = 1024
MOST_STARTUP_S = 5e-3
MOST_COST_RATIO = {1000: 1.5, 10_000: 3.0}

# Two durations of each work; the difference of their instructions leaves out set-up and, in W1, most of the starts.
CALLGRIND_DURATIONS_S = {
    "W1": (20.0, 40.0),
    "W4": (5.0, 10.0),
    "W3": (2.0, 3.0),
    "W2": (5.0, 10.0),
    "W5": (5.0, 10.0),
    "W6": (2.0, 3.0),
    "W7": (6.0, 9.0),
}


@dataclass(frozen=True)
class Instead:
    """Substitutes where a simulator has no counterpart of a work: TCP options, RED's variant, and their description."""

    tcp: dict[str, Any]
    variant: str
    said: str


_CLASSIC = {"ecn": "classic", "sack": True, "byte_counting": False, "slow_start": "standard"}
INSTEAD = {
    ("W2", "ns-2"): Instead(
        {
            **_CLASSIC,
            "stack": "ns2-linux",
            "congestion_control": {"kind": "cubic", "beta": 0.8},
            "initial_window": "2 packets",
            "min_rto": "200 ms",
            "mss": "1450 B",
            "header": "50 B",
        },
        "ns2",
        "classic ECN feedback, not accurate; CUBIC is Agent/TCP/Linux's, with beta 0.8 and no HyStart++",
    ),
    ("W2", "ns-3"): Instead(
        {**_CLASSIC, "initial_window": "10 packets", "min_rto": "1 s", "mss": "1446 B", "header": "54 B"},
        "ns3",
        "classic ECN feedback, not accurate; no HyStart++; segments of 1446 B",
    ),
}


@dataclass
class Row:
    """One simulator on one work. CPU in s; `run` is the event loop alone, `process` everything from start to exit."""

    work: str
    simulator: str
    repeats: int
    duration_s: float
    process_cpu_s: Spread
    run_cpu_s: Spread
    setup_cpu_s: float
    packets: int
    packets_per_cpu_s: float
    packets_per_run_cpu_s: float
    hops_per_run_cpu_s: float
    events_per_packet: float | None
    peak_bytes: int | None
    loss: float
    useful: float
    jain: float
    least_share: float
    most_share: float


def flow_shares(goodputs: Sequence[float]) -> tuple[float, float, float]:
    """Jain's index, and the least and the largest share of a flow as a multiple of the mean share."""
    total, squares = sum(goodputs), sum(value * value for value in goodputs)
    if total == 0:
        return 0.0, 0.0, 0.0
    mean = total / len(goodputs)
    return total * total / (len(goodputs) * squares), min(goodputs) / mean, max(goodputs) / mean


def make_row(
    work: str,
    simulator: str,
    duration_s: float,
    mss: int,
    finished: Sequence[Finished],
    run_cpu_s: Sequence[float],
    setup_cpu_s: float,
    goodputs: Sequence[float],
) -> Row:
    record = finished[-1].record
    bottleneck = record["links"]["bottleneck"]
    packets = int(bottleneck["delivered_packets"])
    drops = int(bottleneck.get("dropped_packets", sum(bottleneck.get("drops", {}).values())))
    # A delivered packet crosses two links and so does its acknowledgement; a dropped one has crossed the first.
    hops = record.get("packet_hops", 4 * packets + drops)
    process, run = Spread.of([one.cpu_s for one in finished]), Spread.of(run_cpu_s)
    useful_packets = sum(goodputs) * duration_s / 8 / mss
    jain, least, most = flow_shares(goodputs)
    return Row(
        work=work,
        simulator=simulator,
        repeats=len(finished),
        duration_s=duration_s,
        process_cpu_s=process,
        run_cpu_s=run,
        setup_cpu_s=setup_cpu_s,
        packets=packets,
        packets_per_cpu_s=packets / process.median,
        packets_per_run_cpu_s=packets / run.median,
        hops_per_run_cpu_s=hops / run.median,
        events_per_packet=record["events"] / packets if "events" in record else None,
        peak_bytes=finished[-1].peak_bytes,
        loss=drops / int(bottleneck["arrived_packets"]),
        useful=useful_packets / packets,
        jain=jain,
        least_share=least,
        most_share=most,
    )


# --- Evenflow ------------------------------------------------------------------------------------------------------


def evenflow(tree: dict[str, Any], repeats: int = 1, python: str | Path = sys.executable) -> Finished:
    """Run a scenario in a fresh interpreter, which pays for its own start."""
    job = json.dumps({"tree": tree, "seed": SEED, "repeats": repeats})
    return measure([python, CHILD], stdin=job)


def read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return tomllib.load(file)


@dataclass
class Pair:
    """CPU time of this version divided by that of another one, and whether both have the same record."""

    work: str
    cpu_ratio: Spread
    same_record: bool


def other_version(spec: str) -> Path:
    """The interpreter of an environment with another version: a wheel, or a commit, which is built once.

    Raises:
        RuntimeError: it is neither, or pip could not install it.
    """
    wanted, name = spec, "wheel"
    if not spec.endswith(".whl"):
        command = ["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", f"{spec}^{{commit}}"]
        name = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        if not name:
            raise RuntimeError(f"--against {spec}: neither a wheel (*.whl) nor a commit of this repository")
        wanted = f"git+{ROOT.as_uri()}@{name}"
    home = ROOT / "out" / "bench" / name
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if name == "wheel" or not (home / "installed").exists():
        say(f"installing {spec} ...")
        venv.create(home, with_pip=True, clear=True)
        pip = subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], capture_output=True, text=True)
        if pip.returncode != 0:
            raise RuntimeError(f"--against {spec}: pip could not install it: {pip.stderr.strip()[-500:]}")
        (home / "installed").touch()
    return python


def against(spec: str, quick: bool) -> list[Pair]:
    """Pairs of runs of every work and family, this version and the other in turn."""
    python = other_version(spec)
    files = {work: (ROOT / "benches" / "works" / file, "bottleneck") for work, file in WORKS.items()}
    files |= {family.name: (ledgers.FOLDER / family.file, family.link) for family in ledgers.FAMILIES}
    rows = []
    for name, (path, link) in files.items():
        tree, ratios, same = read(path), [], True
        for _ in range(3 if quick else 7):
            mine, other = (evenflow(tree, python=one).record for one in (sys.executable, python))
            per_packet = [one["cpu_s"] / one["links"][link]["delivered_packets"] for one in (mine, other)]
            ratios.append(per_packet[0] / per_packet[1])
            same &= mine["record_hash"] == other.get("record_hash")
        rows.append(Pair(name, Spread.of(ratios), same))
        say(f"  {name}: {rows[-1].cpu_ratio.text()}")
    return rows


def evenflow_row(work: str, tree: dict[str, Any], repeats: int) -> Row:
    """Timed runs as the scenario stands, then one run that also counts what each flow received."""
    duration_s = quantity(tree["duration"])
    finished = [evenflow(tree) for _ in range(repeats)]
    run_cpu = [float(one.record["cpu_s"]) for one in finished]
    if work in OPENS:
        record = finished[-1].record
        users = [float(rate) for group in record["groups"].values() for rate in group["users_goodput_bps"]]
        setup = statistics.median(one.cpu_s - cpu for one, cpu in zip(finished, run_cpu, strict=True))
        return make_row(work, "evenflow", duration_s, record["mss_bytes"], finished, run_cpu, setup, users)
    flows = sum(group["users"] * group["traffic"]["flows"] for group in tree["groups"].values())
    counted = dict(tree)
    counted["record"] = {
        "series": [
            {"of": f"groups.{name}.users[*].flows[*].received_bytes", "every": tree["duration"]}
            for name in tree["groups"]
        ]
    }
    record = evenflow(counted).record
    goodputs = [8 * value / duration_s for value in record["series_sums"].values()]
    if len(goodputs) != flows:
        raise RuntimeError(f"{work}: expected {flows} flows in the record, found {len(goodputs)}")
    setup = statistics.median(one.cpu_s - cpu for one, cpu in zip(finished, run_cpu, strict=True))
    return make_row(work, "evenflow", duration_s, record["mss_bytes"], finished, run_cpu, setup, goodputs)


def growth_tree(flows: int, duration_s: float) -> dict[str, Any]:
    """W3 for any number of flows: 1 Mbit/s, 1.667 packets of buffer and a tenth of a host a flow, round trip 20 ms."""
    tree = load("W3")
    packet_ms = 12.0 / flows
    tree["title"] = f"W3 for {flows} flows"
    tree["duration"] = f"{duration_s} s"
    tree["links"]["bottleneck"]["rate"] = f"{flows} Mbit/s"
    tree["links"]["bottleneck"]["queue"]["limit"] = f"{round(flows * 5 / 3)} packets"
    tree["groups"]["all"]["users"] = flows // 10
    tree["groups"]["all"]["processing"] = {"uniform": ["0 ms", f"{packet_ms:.9f} ms"]}
    return tree


@dataclass
class Growth:
    """Cost of a bottleneck packet in s of event-loop CPU, by the number of flows."""

    flows: int
    packets: int
    cpu_per_packet_s: Spread
    peak_bytes: int | None


def growth(repeats: int, quick: bool) -> list[Growth]:
    rows = []
    for flows in (20, 450, 1000, 10_000, *([] if quick else [100_000])):
        packets = 2e5 if quick else 8e5
        duration = max(10.0 if not quick else 3.0, packets / (flows * 1e6 / 12000))
        finished = [evenflow(growth_tree(flows, duration)) for _ in range(repeats)]
        delivered = int(finished[0].record["links"]["bottleneck"]["delivered_packets"])
        cost = Spread.of([float(one.record["cpu_s"]) / delivered for one in finished])
        rows.append(Growth(flows, delivered, cost, finished[0].peak_bytes))
        say(f"  {flows} flows: {cost.median * 1e9:.0f} ns a packet")
    return rows


def growth_figure(rows: Sequence[Growth]) -> Path:
    """Draw the cost of a packet over the number of flows, median and range of the runs; returns the file."""
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    costs = [row.cpu_per_packet_s for row in rows]
    ranges = [[1e9 * (cost.median - cost.low) for cost in costs], [1e9 * (cost.high - cost.median) for cost in costs]]
    axes.errorbar([row.flows for row in rows], [1e9 * cost.median for cost in costs], ranges, fmt="o-", capsize=3)
    axes.set(xscale="log", xlabel="flows", ylabel="CPU time per packet (ns)", ylim=(0, None))
    path = ROOT / "out" / "bench" / "flows.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


@dataclass
class Memory:
    """Bytes a flow: `idle` before any packet, `busy` with windows, retransmissions and all packets in flight."""

    idle_per_flow: float
    busy_per_flow: float
    in_flight_per_flow: float


def memory_per_flow(quick: bool) -> Memory | None:
    """The difference of two sizes, so that the interpreter and everything shared cancels."""
    small, large = 10_000, 50_000
    peaks: dict[str, list[int]] = {}
    for label, duration in (("idle", 0.001), ("busy", 1.5 if quick else 3.0)):
        for flows in (small, large):
            peak = evenflow(growth_tree(flows, duration)).peak_bytes
            if peak is None:
                return None
            peaks.setdefault(label, []).append(peak)
    # Bandwidth-delay product and full buffer, the most that can be under way, in packets a flow.
    in_flight = 1e6 * 0.02 / 12000 + 5 / 3
    idle, busy = ((sizes[1] - sizes[0]) / (large - small) for sizes in (peaks["idle"], peaks["busy"]))
    return Memory(idle, busy, in_flight)


def startup(works: Iterable[str]) -> dict[str, Spread]:
    """Time from a scenario's text to the record of its first millisecond, in a running interpreter, by work."""
    found = {}
    for work in works:
        tree = load(work)
        tree["duration"] = "1 ms"
        walls = evenflow(tree, repeats=50).record["run_wall_s"]
        found[work] = Spread.of(walls[1:])
    return found


@dataclass
class Turnover:
    """Memory of a run in which flows come and go: `flows` in all, `alive` of them at a time."""

    flows: int
    alive: float
    peak_bytes: int | None


def turnover(quick: bool) -> list[Turnover]:
    """10^4 flows of one segment at a time, in runs of growing length. Memory of closed flows would show."""
    rows = []
    for duration in (2, 11) if quick else (2, 11, 101):
        tree = {**read(ROOT / "benches" / "works" / TURNOVER), "duration": f"{duration} s"}
        done = evenflow(tree)
        transfers = done.record["groups"]["users"]["transfers"]
        rows.append(Turnover(int(transfers["started"]), float(transfers["in_progress_mean"]), done.peak_bytes))
        say(f"  {rows[-1].flows} flows: {mib(done.peak_bytes)} MiB")
    return rows


# --- ns-2 and ns-3 -------------------------------------------------------------------------------------------------


def for_peer(work: str, peer: str, tree: dict[str, Any]) -> dict[str, Any]:
    """The work as this simulator can run it; INSTEAD has what that changes."""
    instead = INSTEAD.get((work, peer))
    if instead is None:
        return tree
    bottleneck = tree["links"]["bottleneck"]
    queue = {**bottleneck["queue"], "variant": instead.variant}
    groups = {name: {**group, "tcp": {**group["tcp"], **instead.tcp}} for name, group in tree["groups"].items()}
    return {**tree, "groups": groups, "links": {**tree["links"], "bottleneck": {**bottleneck, "queue": queue}}}


def peer_row(peer: Ns2 | Ns3, work: str, tree: dict[str, Any], repeats: int, fraction: float) -> Row:
    """`fraction` of the work's duration, where the whole would take minutes."""
    if work in OPENS and isinstance(peer, Ns2):
        return ns2_flows_row(peer, work, tree, repeats)
    dumbbell = Dumbbell.from_tree(for_peer(work, peer.name, tree))
    dumbbell = replace(dumbbell, duration_s=dumbbell.duration_s * fraction)
    finished = [measure(peer.command(dumbbell, SEED)) for _ in range(repeats)]
    run_cpu = [float(one.record["run_cpu_s"]) for one in finished]
    setup = statistics.median(float(one.record["setup_cpu_s"]) for one in finished)
    mss = MSS_BYTES[peer.name] if dumbbell.stack.profile == "ns3.26" else dumbbell.stack.mss
    goodputs = finished[-1].record["flows_goodput_bps"]
    return make_row(work, peer.name, dumbbell.duration_s, mss, finished, run_cpu, setup, goodputs)


def ns2_flows_row(ns2: Ns2, work: str, tree: dict[str, Any], repeats: int) -> Row:
    """A work with dynamically created flows; goodputs are those of users."""
    finished = [measure(ns2.flows_command(tree, SEED)) for _ in range(repeats)]
    run_cpu = [float(one.record["run_cpu_s"]) for one in finished]
    setup = statistics.median(float(one.record["setup_cpu_s"]) for one in finished)
    goodputs = finished[-1].record["flows_goodput_bps"]
    return make_row(work, ns2.name, quantity(tree["duration"]), MSS_BYTES["ns-2"], finished, run_cpu, setup, goodputs)


# --- the report ----------------------------------------------------------------------------------------------------


def load(work: str) -> dict[str, Any]:
    return read(ROOT / "benches" / "works" / WORKS[work])


def mib(size: int | None) -> str:
    return "–" if size is None else f"{size / 2**20:.0f}"


def speed_table(rows: Sequence[Row]) -> str:
    header = [
        "work",
        "simulator",
        "runs",
        "CPU s of the process (min / median / max)",
        "of the event loop",
        "bottleneck packets",
        "k packets / CPU-s: process",
        "**event loop**",
        "k hops / CPU-s",
        "events per packet",
        "peak MiB",
    ]
    lines = [
        [
            row.work,
            row.simulator,
            str(row.repeats),
            row.process_cpu_s.text(),
            row.run_cpu_s.text(digits=3),
            str(row.packets),
            f"{row.packets_per_cpu_s / 1e3:.0f}",
            f"**{row.packets_per_run_cpu_s / 1e3:.0f}**",
            f"{row.hops_per_run_cpu_s / 1e3:.0f}",
            "–" if row.events_per_packet is None else f"{row.events_per_packet:.2f}",
            mib(row.peak_bytes),
        ]
        for row in rows
    ]
    return table(header, lines)


def behaviour_table(rows: Sequence[Row]) -> str:
    header = ["work", "simulator", "simulated s", "loss", "useful packets", "Jain", "least share", "largest share"]
    lines = [
        [
            row.work,
            row.simulator,
            f"{row.duration_s:g}",
            f"{row.loss:.1%}",
            f"{row.useful:.2%}",
            f"{row.jain:.3f}",
            f"{row.least_share:.2f}",
            f"{row.most_share:.2f}",
        ]
        for row in rows
    ]
    return table(header, lines)


def ratio_table(rows: Sequence[Row]) -> str:
    """How many times faster than each peer, by the whole process and by the event loop alone."""
    ours = {row.work: row for row in rows if row.simulator == "evenflow"}
    lines = []
    for row in rows:
        if row.simulator == "evenflow" or row.work not in ours:
            continue
        mine = ours[row.work]
        process = mine.packets_per_cpu_s / row.packets_per_cpu_s
        run = mine.packets_per_run_cpu_s / row.packets_per_run_cpu_s
        lines.append([row.work, row.simulator, f"{process:.1f}", f"{run:.1f}"])
    header = ["work", "Evenflow faster than", "by the whole process", "by the event loop"]
    return table(header, lines) if lines else "No other simulator ran."


def verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def targets(result: Result) -> list[str]:
    lines = []
    for row in result.rows:
        if row.simulator == "evenflow":
            speed, floor, aim = (
                row.packets_per_run_cpu_s,
                FLOOR_PACKETS_PER_S[row.work],
                AIM_PACKETS_PER_S.get(row.work),
            )
            lines.append(
                f"{row.work}: {speed / 1e6:.2f} million bottleneck packets a CPU-second; "
                f"floor {floor / 1e6:g} {verdict(speed >= floor)}"
                + ("" if aim is None else f", aim {aim / 1e6:g} {verdict(speed >= aim)}")
            )
    for work, count in result.instructions.items():
        most = MOST_INSTRUCTIONS[work]
        lines.append(f"{work}: {count:.0f} instructions a packet; at most {most} {verdict(count <= most)}")
    for size in result.growth:
        if size.flows in MOST_COST_RATIO:
            ratio = size.cpu_per_packet_s.median / result.growth[0].cpu_per_packet_s.median
            most = MOST_COST_RATIO[size.flows]
            met = verdict(ratio <= most)
            lines.append(f"{size.flows} flows: {ratio:.2f} times the cost of 20 flows; at most {most:g} {met}")
    if result.memory is not None:
        idle, busy = result.memory.idle_per_flow, result.memory.busy_per_flow
        lines.append(
            f"memory: {idle:.0f} B a flow before it sends, {busy:.0f} B with up to "
            f"{result.memory.in_flight_per_flow:.1f} packets under way; "
            f"at most 1024 apart from packets in flight {verdict(idle <= MOST_BYTES_PER_FLOW)}"
        )
    for work, spread in result.startup.items():
        lines.append(
            f"{work}: start-up of a run {spread.text(1e3)} ms (min / median / max); "
            f"at most 5 ms {verdict(spread.median <= MOST_STARTUP_S)}"
        )
    return lines


@dataclass
class Result:
    """Everything that was measured, as it goes into the JSON file."""

    machine: str
    builds: dict[str, str]
    skipped: dict[str, str]
    instead: dict[str, str] = field(default_factory=dict)
    calibration_s: list[float] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    startup: dict[str, Spread] = field(default_factory=dict)
    memory: Memory | None = None
    growth: list[Growth] = field(default_factory=list)
    turnover: list[Turnover] = field(default_factory=list)
    instructions: dict[str, float] = field(default_factory=dict)
    mechanisms: mechanisms.Costs | None = None
    networks: networks.Costs | None = None
    ledgers: list[ledgers.Cost] = field(default_factory=list)
    against: list[Pair] = field(default_factory=list)


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
        model = found.group(1) if found else model
    except OSError:
        pass
    system = f"{platform.system()} {platform.release()}"
    return f"{model}, {os.cpu_count()} CPUs, {system}, Python {platform.python_version()}"


def calibrate() -> float:
    """CPU seconds of a fixed loop: where they differ within one invocation, the machine was disturbed."""
    started = time.process_time()
    total = 0
    for i in range(1_000_000):
        total += i & 7
    return time.process_time() - started


def report(result: Result) -> str:
    low, high = min(result.calibration_s), max(result.calibration_s)
    parts = [
        "# Evenflow beside ns-2 and ns-3",
        f"Measured on {result.machine}; load average {os.getloadavg()[0]:.1f} at the end; a fixed loop took "
        f"{low * 1e3:.0f} to {high * 1e3:.0f} ms between the measurements.",
        "\n".join(f"- {name}: {build}" for name, build in result.builds.items())
        + "".join(f"\n- {name} skipped: {reason}" for name, reason in result.skipped.items())
        + "".join(f"\n- {name} runs it with a difference: {said}" for name, said in result.instead.items()),
    ]
    if result.rows:
        parts += works_sections(result)
    if result.mechanisms is not None:
        parts += mechanisms.section(result.mechanisms)
    if result.networks is not None:
        parts += networks.section(result.networks)
    if result.ledgers:
        parts += ledgers.section(result.ledgers)
    if result.against:
        lines = [[row.work, row.cpu_ratio.text(), "yes" if row.same_record else "no"] for row in result.against]
        parts += [
            "## Compared with another version",
            "CPU time of the event loop per packet, this version divided by the other, in alternating runs.",
            table(["work", "CPU time ratio (min / median / max)", "same record"], lines),
        ]
    return "\n\n".join(parts)


def works_sections(result: Result) -> list[str]:
    """The report's part about the works: paragraphs of Markdown."""
    parts = [
        "All simulators do the same work. A packet and its ACK cross four links, and every packet is acknowledged. "
        "Flows, rates and buffers are those of benches/works. Hosts delay each packet by a random time of up to one "
        "bottleneck transmission time. CPU seconds are user + system. *Process* is everything from start to exit. "
        "*Event loop* is the time from the first event to the last, measured by each program.",
        "## Speed",
        speed_table(result.rows),
        ratio_table(result.rows),
        "## Behaviour",
        "*Loss* is drops divided by arrivals at the bottleneck. *Useful packets* are the share of packets leaving the "
        "bottleneck that deliver new data in order. Shares are a flow's goodput divided by the mean.",
        behaviour_table(result.rows),
    ]
    if result.growth:
        base = result.growth[0].cpu_per_packet_s.median
        lines = [
            [
                str(row.flows),
                str(row.packets),
                f"{row.cpu_per_packet_s.median * 1e9:.0f}",
                f"{row.cpu_per_packet_s.median / base:.2f}",
                mib(row.peak_bytes),
            ]
            for row in result.growth
        ]
        parts += [
            "## Growth with the number of flows (Evenflow, W3 scaled)",
            table(
                ["flows", "bottleneck packets", "ns a packet (event loop)", "by that of the first", "peak MiB"], lines
            ),
        ]
    if result.turnover:
        lines = [[str(row.flows), f"{row.alive:.0f}", mib(row.peak_bytes)] for row in result.turnover]
        parts += [
            "## Memory of flows that come and go (Evenflow)",
            table(["flows in all", "transfers at a time, mean", "peak MiB"], lines),
        ]
    return [*parts, "## Targets", "\n".join(f"- {line}" for line in targets(result))]


def tables_wanted(arguments: argparse.Namespace) -> list[str]:
    """The tables to measure: all but the skipped ones, or only those that an option names."""
    named = {
        "works": arguments.work,
        "mechanisms": arguments.mechanism,
        "networks": arguments.network,
        "ledgers": arguments.ledgers,
    }
    every = not any(named.values()) and arguments.against is None
    return [name for name, own in named.items() if name not in arguments.skip and (every or own)]


def bench(arguments: argparse.Namespace) -> Result:
    wanted = tables_wanted(arguments)
    swaps = mechanisms.chosen(mechanisms.swaps(), arguments.mechanism or ()) if "mechanisms" in wanted else []
    pairs = networks.chosen(arguments.network or ()) if "networks" in wanted else []
    probe = evenflow({**load("W1"), "duration": "1 ms"}).record
    if probe["build_profile"] != "release":
        raise SystemExit(
            f"bench.py: the engine is a {probe['build_profile']} build, whose speed says nothing; use `make setup`."
        )
    builds = {"Evenflow": f"{probe['version']}, engine {probe['engine_id']}, {probe['build_profile']} build"}
    result = Result(machine(), builds, {})
    result.calibration_s.append(calibrate())
    built = bench_run_binary() if wanted else "not needed"
    if wanted and isinstance(built, str):
        result.skipped["instructions a packet"] = built
    binary = built if isinstance(built, Path) else None
    if "works" in wanted:
        bench_works(result, arguments, binary)
    if "mechanisms" in wanted:
        say("mechanisms ...")
        result.mechanisms = mechanisms.costs(swaps, binary, arguments.quick)
        result.calibration_s.append(calibrate())
    if "networks" in wanted:
        say("networks ...")
        result.networks = networks.costs(pairs, binary, arguments.quick)
        result.calibration_s.append(calibrate())
    if "ledgers" in wanted:
        say("results tables ...")
        result.ledgers = ledgers.costs(lambda path: evenflow(read(path)).record, binary, 1 if arguments.quick else 5)
        result.calibration_s.append(calibrate())
    if arguments.against is not None:
        result.builds["the other version"] = arguments.against
        result.against = against(arguments.against, arguments.quick)
        result.calibration_s.append(calibrate())
    return result


def gate(write: bool) -> int:
    """Compare the instructions per packet of all works and families with benches/instructions.toml, or write it.

    Returns:
        1 if a count is more than 1 % above its entry.
    """
    file = ROOT / "benches" / "instructions.toml"
    if shutil.which("rustc") is None:
        print("skipped: rustc was not found")
        return 0
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()
    built_on = f"{compiler}, {' '.join(platform.libc_ver())}, {machine().split(',')[0]}"
    known = read(file)
    if not write and known["built_on"] != built_on:
        print(f"skipped: the counts are of {known['built_on']}, and this is {built_on}")
        return 0
    binary = bench_run_binary()
    if isinstance(binary, str):
        print(f"skipped: {binary}")
        return 0
    works = ROOT / "benches" / "works"
    jobs = {work: (works / file, CALLGRIND_DURATIONS_S[work], "bottleneck") for work, file in WORKS.items()}
    jobs |= {each.name: (ledgers.FOLDER / each.file, each.durations_s, each.link) for each in ledgers.FAMILIES}

    def count(job: tuple[Path, tuple[float, float], str]) -> int:
        path, durations_s, link = job
        return round(instructions_per_packet(binary, path, durations_s, SEED, link))

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        counts = dict(zip(jobs, pool.map(count, jobs.values()), strict=True))
    if write:
        lines = [f'"{name}" = {number}' for name, number in counts.items()]
        text = f'# `bench.py --gate write`: instructions per packet.\nbuilt_on = "{built_on}"\n\n[instructions]\n'
        file.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")
    entries = known["instructions"]
    rows = [[name, str(entries.get(name, "–")), str(number)] for name, number in counts.items()]
    print(table(["work", "entry", "now"], rows))
    over = [] if write else [name for name, number in counts.items() if number > 1.01 * entries[name]]
    if over:
        print(f"More than 1 % above benches/instructions.toml: {', '.join(over)}. If intended: bench.py --gate write")
    return int(bool(over))


def bench_works(result: Result, arguments: argparse.Namespace, binary: Path | None) -> None:
    """The works, on every simulator there is; adds to `result`."""
    quick: bool = arguments.quick
    chosen: list[str] = arguments.work or list(WORKS)
    peers: list[tuple[Ns2 | Ns3, int, Callable[[str], float]]] = []
    builds, skipped = result.builds, result.skipped
    ns2, ns3 = Ns2(), Ns3()
    if "ns-2" not in arguments.skip:
        peers.append((ns2, 1 if quick else 3, lambda _: 1.0))
    if "ns-3" not in arguments.skip:
        # ns-3 needs a minute and more for W4 and W3: once, and a tenth of it with --quick.
        peers.append((ns3, 1, lambda _: 0.1 if quick else 1.0))
    for work in chosen:
        tree = load(work)
        say(f"{work}: Evenflow ...")
        result.rows.append(evenflow_row(work, tree, 3 if quick else 7))
        for peer, repeats, fraction in peers:
            reason = peer.missing()
            if reason is not None:
                skipped[peer.name] = reason
                continue
            say(f"{work}: {peer.name} ...")
            builds[peer.name] = peer.describe()
            try:
                result.rows.append(peer_row(peer, work, tree, repeats, fraction(work)))
            except NotComparableError as error:
                skipped[f"{peer.name} on {work}"] = str(error)
                continue
            if (work, peer.name) in INSTEAD:
                result.instead[f"{peer.name} on {work}"] = INSTEAD[work, peer.name].said
        result.calibration_s.append(calibrate())
    say("start-up, memory and growth ...")
    result.startup = startup(chosen)
    result.memory = memory_per_flow(quick)
    result.growth = growth(1 if quick else 3, quick)
    say(f"written: {growth_figure(result.growth)}")
    result.turnover = turnover(quick)
    result.calibration_s.append(calibrate())
    if binary is not None:
        for work in chosen:
            say(f"{work}: counting instructions ...")
            path = ROOT / "benches" / "works" / WORKS[work]
            result.instructions[work] = instructions_per_packet(binary, path, CALLGRIND_DURATIONS_S[work], SEED)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and a tenth of each work on ns-3")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to FILE")
    parser.add_argument("--work", action="append", choices=WORKS, help="this work, and no mechanisms (may be repeated)")
    parser.add_argument(
        "--mechanism",
        action="append",
        metavar="NAME",
        help="this mechanism's cost, or those of a kind such as queue, and no works (may be repeated)",
    )
    parser.add_argument(
        "--network",
        action="append",
        metavar="NAME",
        help="only the cost of policing this network, w2 or chain (may be repeated)",
    )
    parser.add_argument("--ledgers", action="store_true", help="only the cost of the papers' results tables")
    parser.add_argument("--against", metavar="VERSION", help="pairs of runs with a wheel or a commit, and no table")
    parser.add_argument(
        "--gate",
        nargs="?",
        choices=("check", "write"),
        const="check",
        help="only compare instructions per packet with benches/instructions.toml (1 if 1 % above), or write it",
    )
    parser.add_argument(
        "--skip",
        action="append",
        choices=("ns-2", "ns-3", "works", "mechanisms", "networks", "ledgers"),
        default=[],
        help="leave a simulator or a table out",
    )
    arguments = parser.parse_args()
    try:
        if arguments.gate is not None:
            raise SystemExit(gate(arguments.gate == "write"))
        result = bench(arguments)
    except (RuntimeError, ValueError, FileNotFoundError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"bench.py: {error}") from None
    print(report(result))
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
        say(f"written: {arguments.json}")


if __name__ == "__main__":
    main()
