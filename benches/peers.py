"""The other simulators: one dumbbell, translated from an Evenflow scenario into what ns-2 and ns-3 are told.

Every comparison starts from an Evenflow scenario file, so that the three simulators cannot drift apart. A scenario that
is no one-sided dumbbell (links `access` and `bottleneck`, drop-tail or RED, Poisson users or TCP with a congestion
control that the other has, as it ships it) is refused, not bent. So is a stack that a simulator has no counterpart of,
and, for every stack but `ns3.26`, a line of it that the scenario leaves to its profile: what is compared has to be
said.

CPU seconds are the kernel's for the whole process. Peak memory is what each program reads from /proc/self/status when
it has finished: what the kernel reports to a parent is at least the parent's own memory at the fork.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ns3_library import MissingError, Ns3Library, package_version

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "out" / "comparators"

PACKET_BYTES = 1500
RFC_MSS_BYTES = 1448
"""Payload of a full segment of the stack `rfc`."""
MSS_BYTES = {"evenflow": 1446, "ns-3": 1446, "ns-2": 1460}
NS3_HEADER_BYTES = 54  # TCP with timestamps 32, IP 20, PPP 2
NS2_HEADER_BYTES = {"newreno": 40, "sack1": 40, "linux": 50}  # Agent/TCP/Linux: 10 for the timestamps
UNLIMITED_PACKETS = 1_000_000

_UNITS = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "packets": 1.0,
    "packet": 1.0,
}


class NotComparableError(ValueError):
    """The scenario says something that the dumbbell of the other simulators cannot express."""


def quantity(text: str) -> float:
    """The SI value (s, bit/s, bytes, packets) of a quantity such as `"0.1 ms"`."""
    number, _, unit = text.partition(" ")
    if unit not in _UNITS:
        raise NotComparableError(f"cannot read the quantity {text!r}")
    return float(number) * _UNITS[unit]


def _uniform_from_zero(value: Any, what: str) -> float:
    """The upper end of `{uniform = ["0 s", ...]}`."""
    if isinstance(value, Mapping) and set(value) == {"uniform"} and quantity(value["uniform"][0]) == 0:
        return quantity(value["uniform"][1])
    raise NotComparableError(f'{what}: expected {{uniform = ["0 s", ...]}}, found {value!r}')


def _one(values: set[Any], what: str) -> Any:
    if len(values) != 1:
        raise NotComparableError(f"{what} has to be the same for all groups, found {sorted(map(str, values))}")
    return values.pop()


@dataclass(frozen=True)
class Red:
    """RED at the bottleneck, gentle, in packets: thresholds, probability at the upper one, weight of the average."""

    minimum: float
    maximum: float
    probability: float
    weight: float

    def __str__(self) -> str:
        return f"{self.minimum:g}:{self.maximum:g}:{self.probability:g}:{self.weight:g}"


# The options of a stack that the other simulators accept, with the values of the profile ns3.26.
_NS3_26: Mapping[str, Any] = {
    "sack": False,
    "initial_window": "1 packet",
    "ack_every": 2,
    "min_rto": "1 s",
    "max_window": "131072 B",
    "mss": "1446 B",
    "header": "54 B",
    "byte_counting": False,
    "slow_start": "standard",
}


@dataclass(frozen=True)
class Stack:
    """A TCP profile with its lines: segments, bytes and s."""

    profile: str
    sack: bool
    initial_window: int
    ack_every: int
    min_rto_s: float
    max_window: int
    mss: int
    header: int
    ecn: bool
    byte_counting: bool
    slow_start: str

    @staticmethod
    def from_table(tcp: Mapping[str, Any], where: str) -> Stack:
        """A group's `tcp`, its congestion control apart."""
        profile = tcp["stack"]
        ecn = tcp.get("ecn", "off")
        control = tcp.get("congestion_control", "newreno")
        if (control if isinstance(control, str) else control["kind"]) == "dctcp":
            # RFC 8257 section 3.2 signals single marks by ECN-echo, Evenflow by their number: equal for the sender.
            wanted = ("accurate",)
        else:
            wanted = ("off", "classic")
        if ecn not in wanted:
            raise NotComparableError(f"{where}.ecn: compared is {' or '.join(wanted)}")
        lines = dict(_NS3_26) if profile == "ns3.26" else {}
        lines |= {key: tcp[key] for key in _NS3_26 if key in tcp}
        unsaid = [key for key in _NS3_26 if key not in lines]
        if unsaid:
            raise NotComparableError(f"{where}: the stack {profile} is compared only with {', '.join(unsaid)} said")
        return Stack(
            profile=profile,
            sack=lines["sack"],
            initial_window=int(quantity(lines["initial_window"])),
            ack_every=lines["ack_every"],
            min_rto_s=quantity(lines["min_rto"]),
            max_window=int(quantity(lines["max_window"])),
            mss=int(quantity(lines["mss"])),
            header=int(quantity(lines["header"])),
            ecn=ecn != "off",
            byte_counting=lines["byte_counting"],
            slow_start=lines["slow_start"],
        )


def _limit(link: Mapping[str, Any], name: str) -> int:
    queue = link.get("queue")
    if queue is None:
        return UNLIMITED_PACKETS
    if queue.get("kind", "droptail") != "droptail" or set(queue) - {"kind", "limit"}:
        raise NotComparableError(f"links.{name}.queue: only drop-tail by packets is compared")
    return int(quantity(queue["limit"]))


def _red(queue: Mapping[str, Any] | None, ecn: bool) -> Red | None:
    """The bottleneck's RED; None where it is drop-tail."""
    if queue is None or queue.get("kind") != "red":
        return None
    shape = {"min_threshold", "max_threshold", "max_probability", "weight"}
    if set(queue) - {"kind", "limit", "action", "variant", *shape} or not shape <= set(queue):
        raise NotComparableError(f"links.bottleneck.queue: of RED exactly {', '.join(sorted(shape))} are compared")
    if (queue.get("action", "drop") == "mark") != ecn:
        raise NotComparableError("links.bottleneck.queue.action: compared are mark with ECN, and drop without")
    return Red(
        quantity(queue["min_threshold"]),
        quantity(queue["max_threshold"]),
        float(queue["max_probability"]),
        float(queue["weight"]),
    )


@dataclass(frozen=True)
class Group:
    """`users` users with `flows` bulk TCP flows each or, where `poisson_bps` is set, one Poisson UDP flow each.

    `beta` is what CUBIC multiplies its window by: the simulators' own, of which a scenario has to speak as well.
    `settings` are the control's other parameters: those that make it what a simulator ships (`NS2_CONTROLS`,
    `NS3_CONTROLS`).
    """

    name: str
    users: int
    flows: int
    poisson_bps: float | None = None
    control: str = "newreno"
    beta: float = 0.7
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        rest = f"poisson:{self.poisson_bps:.0f}" if self.poisson_bps is not None else str(self.flows)
        control = "" if self.control == "newreno" else f":{self.control}"
        return f"{self.name}:{self.users}:{rest}{control}"


NS2_CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "newreno": {},
    "cubic": {},
    "vegas": {"diff_over": "rtt"},
    "illinois": {},
    "compound": {"low_window": "0 packets", "tune_gamma": False},
}
"""Parameters that make a control equal to that of ns-2.35's Agent/TCP/Linux (Linux 2.6.22)."""

NS3_CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "newreno": {},
    "cubic": {},
    "vegas": {},
    "illinois": {},
    "ledbat": {"target": None},
    "dctcp": {},
}
"""The same for ns-3.37; None: any value, which ns-3 accepts."""


def _as_shipped(dumbbell: Dumbbell, controls: Mapping[str, Mapping[str, Any]], whose: str) -> None:
    for group in dumbbell.groups:
        if group.control not in controls:
            raise NotComparableError(f"groups.{group.name}.tcp: {whose} has no {group.control}")
        shipped, said = controls[group.control], dict(group.settings)
        if set(said) != set(shipped) or any(v is not None and said[key] != v for key, v in shipped.items()):
            raise NotComparableError(
                f"groups.{group.name}.tcp: {whose}'s {group.control} is {dict(shipped)}, not {said}"
            )


@dataclass(frozen=True)
class Dumbbell:
    """The network of all three simulators. Rates in bit/s, times in s, limits in waiting packets."""

    groups: tuple[Group, ...]
    access_bps: float
    access_delay_s: float
    access_limit: int
    rate_bps: float
    delay_s: float
    limit: int
    red: Red | None
    loss: float
    duration_s: float
    warmup_s: float
    start_max_s: float
    processing_s: float
    stack: Stack
    every_s: float

    @staticmethod
    def from_tree(tree: Mapping[str, Any]) -> Dumbbell:
        """Translate a scenario; raises `NotComparableError` where that is not possible."""
        links = tree["links"]
        if set(links) != {"access", "bottleneck"} or tree.get("stages"):
            raise NotComparableError("expected the links `access` and `bottleneck`, and no stages")
        groups: list[Group] = []
        starts: set[float] = set()
        processing: set[float] = set()
        stacks: set[Stack] = set()
        for name, group in tree["groups"].items():
            if group["path"] != ["access", "bottleneck"]:
                raise NotComparableError(f"groups.{name}.path: expected [access, bottleneck]")
            traffic = group["traffic"]
            users = group.get("users", 1)
            processing.add(_uniform_from_zero(group["processing"], "processing") if "processing" in group else 0.0)
            if traffic["kind"] == "poisson":
                if quantity(traffic.get("packet", "1500 B")) != PACKET_BYTES:
                    raise NotComparableError(f"groups.{name}: expected packets of {PACKET_BYTES} B")
                groups.append(Group(name, users, 1, quantity(traffic["rate"])))
            elif traffic["kind"] == "bulk":
                tcp = group["tcp"]
                control = tcp["congestion_control"]
                control = {"kind": control} if isinstance(control, str) else control
                kind, beta = control["kind"], float(control.get("beta", 0.7))
                settings = tuple(sorted((key, v) for key, v in control.items() if key not in ("kind", "beta")))
                groups.append(Group(name, users, traffic.get("flows", 1), None, kind, beta, settings))
                stacks.add(Stack.from_table(tcp, f"groups.{name}.tcp"))
            else:
                raise NotComparableError(f"groups.{name}.traffic: {traffic['kind']} is not compared")
            starts.add(_uniform_from_zero(traffic["start"], "start") if "start" in traffic else 0.0)
        access, bottleneck = links["access"], links["bottleneck"]
        stack = _one(stacks or {Stack.from_table({"stack": "ns3.26"}, "tcp")}, "tcp")
        red = _red(bottleneck.get("queue"), stack.ecn)
        return Dumbbell(
            groups=tuple(groups),
            access_bps=quantity(access["rate"]),
            access_delay_s=quantity(access["delay"]),
            access_limit=_limit(access, "access"),
            rate_bps=quantity(bottleneck["rate"]),
            delay_s=quantity(bottleneck["delay"]),
            limit=_limit(bottleneck, "bottleneck") if red is None else int(quantity(bottleneck["queue"]["limit"])),
            red=red,
            loss=float(bottleneck.get("loss", 0.0)),
            duration_s=quantity(tree["duration"]),
            warmup_s=quantity(tree.get("warmup", "0 s")),
            start_max_s=_one(starts, "start"),
            processing_s=_one(processing, "processing"),
            stack=stack,
            every_s=_one({quantity(s["every"]) for s in tree.get("record", {}).get("series", [])} or {0.0}, "every"),
        )

    @property
    def flows(self) -> int:
        return sum(group.users * group.flows for group in self.groups)


@dataclass(frozen=True)
class Finished:
    """One process that ended well: its last line of output, decoded, and what the kernel says it cost."""

    record: dict[str, Any]
    cpu_s: float
    wall_s: float
    peak_bytes: int | None


def measure(command: Sequence[str | Path], stdin: str = "") -> Finished:
    """Run a command that prints one JSON line; user + system CPU seconds are those of the whole process."""
    started = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as said,
        tempfile.TemporaryFile("w+") as bad,
    ):
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen([str(part) for part in command], stdin=given, stdout=said, stderr=bad)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        wall = time.perf_counter() - started
        said.seek(0)
        bad.seek(0)
        output, errors = said.read(), bad.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        detail = (errors or output).strip()[-2000:]
        raise RuntimeError(f"{Path(str(command[0])).name} ended with {process.returncode}: {detail}")
    # The last line with a document. ns-2's Agent/TCP/Linux writes through a separate buffer, which may split a line.
    record = json.loads(re.findall(r"\{.*\}$", output, re.MULTILINE)[-1])
    return Finished(record, usage.ru_utime + usage.ru_stime, wall, record.get("peak_bytes"))


def remembered(peer: Ns2 | Ns3, dumbbell: Dumbbell, seed: int, *, fresh: bool = False) -> dict[str, Any]:
    """The record of a run with counts by user, from the cache if the same program already ran it. Not for timing."""
    return kept(peer.source, peer.command(dumbbell, seed, users=True), fresh=fresh)


def kept(source: Path, command: Sequence[str], *, fresh: bool = False) -> dict[str, Any]:
    """The record that a command prints, from the cache if the same program (its `source`) already ran it."""
    text = source.read_bytes()
    beside = re.findall(rb"dirname \[info script\]\] (\S+)\]", text)
    texts = [text, *(source.with_name(name.decode()).read_bytes() for name in beside)]
    key = hashlib.sha256(b"\0".join([*texts, *(part.encode() for part in command)])).hexdigest()[:24]
    path = CACHE / "records" / f"{key}.json"
    if not fresh and path.exists():
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return record
    record = measure(command).record
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".part{os.getpid()}")
    part.write_text(json.dumps(record), encoding="utf-8")
    part.replace(path)
    return record


def _same_beta(dumbbell: Dumbbell, beta: float) -> None:
    if any(group.control == "cubic" and group.beta != beta for group in dumbbell.groups):
        raise NotComparableError(f"tcp.congestion_control.beta: the other simulator has {beta}")


class Ns2:
    """ns-2.35 as packaged by Debian and Ubuntu."""

    name = family = "ns-2"

    def __init__(self) -> None:
        self.binary = shutil.which("ns")
        self.source = ROOT / "benches" / "ns2" / "dumbbell.tcl"

    def missing(self) -> str | None:
        """Why ns-2 cannot run here, with the command that mends it; None if it can."""
        return None if self.binary else "ns-2 is not installed (sudo apt-get install ns2)"

    def describe(self) -> str:
        package = package_version("ns2")
        return f"{package} as packaged (asserts off), unneeded packet headers removed, one queue monitor"

    def command(self, dumbbell: Dumbbell, seed: int, *, users: bool = False) -> list[str]:
        """`users` has no effect: ns-2 counts what flows deliver in order, not whole packets by user."""
        d, stack = dumbbell, dumbbell.stack
        agent = self._agent(stack)
        _same_beta(d, 0.8)  # tcp_cubic of Linux before 2.6.25
        _as_shipped(d, NS2_CONTROLS, "ns-2")
        if agent != "linux" and any(group.control != "newreno" for group in d.groups):
            raise NotComparableError("tcp.congestion_control: ns-2 has others than NewReno in Agent/TCP/Linux alone")
        payload = stack.mss
        if stack.profile == "ns3.26":
            payload = MSS_BYTES["ns-2"]  # no counterpart has ns-3's headers: packets keep 1500 B
        elif stack.header != NS2_HEADER_BYTES[agent]:
            raise NotComparableError(f"tcp.header: ns-2's agent {agent} has {NS2_HEADER_BYTES[agent]} B")
        options = {
            "groups": ",".join(map(str, d.groups)),
            "access_rate": f"{d.access_bps:.0f}",
            "access_delay": repr(d.access_delay_s),
            "access_limit": d.access_limit,
            "rate": f"{d.rate_bps:.0f}",
            "delay": repr(d.delay_s),
            "limit": d.limit,
            "duration": repr(d.duration_s),
            "warmup": repr(d.warmup_s),
            "start_max": repr(d.start_max_s),
            "window": stack.max_window // stack.mss,
            "agent": agent,
            "payload": payload,
            "initial_window": stack.initial_window,
            "min_rto": repr(stack.min_rto_s),
            "ack_every": stack.ack_every,
            "ecn": int(stack.ecn),
            "red": d.red or "none",
            "loss": repr(d.loss),
            "every": repr(d.every_s),
            "processing": repr(d.processing_s),
            "seed": seed,
        }
        return [str(self.binary), str(self.source), *(f"{key}={value}" for key, value in options.items())]

    def flows_command(self, tree: Mapping[str, Any], seed: int) -> list[str]:
        """The same for dynamically created flows and datagrams: a work such as W5 (`ns2/flows.tcl`).

        Raises:
            NotComparableError: the scenario is of another form.
        """
        links, groups = tree["links"], dict(tree["groups"])
        cross = [name for name, group in groups.items() if group["traffic"]["kind"] == "cbr"]
        opened = {name: group["traffic"] for name, group in groups.items() if name not in cross}
        if len(cross) != 1 or any(traffic["kind"] != "short-flows" for traffic in opened.values()):
            raise NotComparableError("groups: expected short-flows, and datagrams of kind cbr in one group")
        [(_, process)] = tree["arrivals"].items()
        mean, shape = process["interval"]["gamma"]
        size = _one({quantity(traffic["size"]) for traffic in opened.values()}, "traffic.size")
        tcp = _one({json.dumps(groups[name]["tcp"], sort_keys=True) for name in opened}, "tcp")
        options = {
            "groups": ",".join(f"{n}:{groups[n]['users']}:{traffic['share']}" for n, traffic in opened.items()),
            "gap": quantity(mean),
            "shape": int(shape),
            "packets": round(size / RFC_MSS_BYTES),
            "initial_window": int(quantity(json.loads(tcp)["initial_window"])),
            "access_rate": quantity(links["access"]["rate"]),
            "access_delay": quantity(links["access"]["delay"]),
            "rate": quantity(links["bottleneck"]["rate"]),
            "delay": quantity(links["bottleneck"]["delay"]),
            "limit": _limit(links["bottleneck"], "bottleneck"),
            "cross": quantity(groups[cross[0]]["traffic"]["rate"]),
            "duration": quantity(tree["duration"]),
            "seed": seed,
        }
        script = self.source.with_name("flows.tcl")
        return [str(self.binary), str(script), *(f"{key}={value}" for key, value in options.items())]

    @staticmethod
    def _agent(stack: Stack) -> str:
        """Which of ns-2's TCP agents a stack is compared with."""
        if stack.slow_start != "standard":
            raise NotComparableError("tcp.slow_start: ns-2's is the standard one")
        if stack.profile == "ns2-linux" and stack.sack:
            return "linux"
        if stack.profile == "ns2":
            return "sack1" if stack.sack else "newreno"
        if stack.profile == "ns3.26" and not stack.sack:
            return "newreno"
        raise NotComparableError(f"tcp.stack: ns-2 has no counterpart of {stack.profile}, SACK {stack.sack}")


class Ns3:
    """ns-3 with our scenario program built against it: the packaged one, or that of a tree."""

    family = "ns-3"  # the name in scenarios, for all releases
    flags = ("-O3", "-DNDEBUG")

    def __init__(self, tree: Path | None = None) -> None:
        self.source = ROOT / "benches" / "ns3" / "dumbbell.cc"
        self.compiler = shutil.which("g++")
        self.tree = tree
        self.reason: str | None = None
        self.library: Ns3Library | None = None
        try:
            self.library = Ns3Library.of_tree(tree) if tree is not None else Ns3Library.packaged_one()
        except MissingError as error:
            self.reason = str(error)

    @property
    def name(self) -> str:
        return self.library.name if self.library is not None else "ns-3"

    def missing(self) -> str | None:
        """Why ns-3 cannot run here, with the command that mends it; None if it can."""
        if self.reason is not None:
            return self.reason
        if self.library is None:
            return "ns-3 and its headers are not installed (sudo apt-get install libns3-dev g++)"
        if not self.compiler:
            return "g++, which builds the scenario against ns-3, is not installed (sudo apt-get install g++)"
        return None

    @property
    def _found(self) -> Ns3Library:
        if self.library is None:
            raise RuntimeError(self.missing())
        return self.library

    @property
    def _flags(self) -> tuple[str, ...]:
        return (f"-std={self._found.standard}", *self.flags)

    def describe(self) -> str:
        return f"{self._found.built}, scenario built with g++ {' '.join(self._flags)}"

    def binary(self) -> Path:
        """The scenario program, built once per source, compiler and library version."""
        library = self._found
        key = hashlib.sha256(
            b"\0".join([self.source.read_bytes(), " ".join(self._flags).encode(), library.identity.encode()])
        ).hexdigest()[:16]
        target = CACHE / f"ns3-dumbbell-{key}"
        if not target.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            print(f"building {self.source.relative_to(ROOT)} against ns-{library.release} ...", file=sys.stderr)
            part = target.with_suffix(f".part{os.getpid()}")
            simulator = f'-DSIMULATOR="ns-{library.release}"'
            build = subprocess.run(
                [str(self.compiler), *self._flags, simulator, str(self.source), "-o", str(part), *library.flags],
                capture_output=True,
                text=True,
            )
            if build.returncode != 0:
                raise RuntimeError(f"g++ could not build {self.source}:\n{build.stderr[-4000:]}")
            part.replace(target)
        return target

    def command(self, dumbbell: Dumbbell, seed: int, *, users: bool = False) -> list[str]:
        """`users` counts whole frames by user as well, which slows the run down."""
        d, stack = dumbbell, dumbbell.stack
        if stack.profile not in ("ns3.26", "rfc"):
            raise NotComparableError(f"tcp.stack: ns-3 has no counterpart of {stack.profile}")
        if (stack.mss, stack.header) != (MSS_BYTES["ns-3"], NS3_HEADER_BYTES):
            raise NotComparableError(f"tcp: ns-3's frames are of {MSS_BYTES['ns-3']} + {NS3_HEADER_BYTES} B")
        if stack.min_rto_s != 1 or stack.byte_counting or stack.slow_start == "hystart++":
            raise NotComparableError("tcp: ns-3 has min_rto 1 s, no byte_counting for NewReno, and no HyStart++")
        _same_beta(d, 0.7)
        _as_shipped(d, NS3_CONTROLS, "ns-3")
        kinds = {group.control for group in d.groups}
        if "dctcp" in kinds and len(kinds) > 1:
            raise NotComparableError(
                "tcp.congestion_control: ns-3's server echoes marks either as DCTCP's or as others'"
            )
        as_3_26 = stack.profile == "ns3.26"
        options = {
            "groups": ",".join(map(str, d.groups)),
            "accessRate": f"{d.access_bps:.0f}bps",
            "accessDelay": f"{round(d.access_delay_s * 1e9)}ns",
            "accessLimit": d.access_limit,
            "rate": f"{d.rate_bps:.0f}bps",
            "delay": f"{round(d.delay_s * 1e9)}ns",
            "limit": d.limit,
            "duration": repr(d.duration_s),
            "warmup": repr(d.warmup_s),
            "startMax": repr(d.start_max_s),
            "processing": repr(d.processing_s),
            "ackEvery": stack.ack_every,
            "buffer": stack.max_window,
            "initialWindow": stack.initial_window,
            "sack": str(stack.sack).lower(),
            "recovery": "TcpClassicRecovery" if as_3_26 else "TcpPrrRecovery",
            "ecn": str(stack.ecn).lower(),
            "hystart": str(stack.slow_start == "hystart").lower(),
            "loss": repr(d.loss),
            "every": repr(d.every_s),
            # 3.26's writes of 512 bytes where results are compared, whole segments (cheaper) where only speed is.
            "sendSize": 512 if users and as_3_26 else MSS_BYTES["ns-3"],
            "users": str(users).lower(),
            "run": seed,
        }
        if d.red is not None:
            options["red"] = str(d.red)
        targets = {quantity(v) for group in d.groups for key, v in group.settings if key == "target"}
        if targets:
            options["ledbatTarget"] = f"{round(_one(targets, 'target') * 1e9)}ns"
        return [str(self.binary()), *(f"--{key}={value}" for key, value in options.items())]
