"""Notes: settings without effect, and reasons that the numbers of a run do not show.

A note has the number that raised it and a remedy. It is computed from the scenario and the record, and changes no hash.
docs/measuring/notes.md lists the codes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..scenario import paths, registry
from ..scenario.outline import Outline, Source, Way, is_random, least_of, mean_of, most_of
from ..words import counted, listed, plain, rate, share, size, time_span

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .record import Record
    from .study import Run

LONG_QUEUE_S = 1.0
"""Least delay for which a queue without a limit is noted."""
FULL = 0.9
"""Share of a window or an access link that counts as full."""
BUSY = 0.95
"""Least utilisation of a bottleneck."""
SHORT_WARMUP = 0.02
"""Share of the window that slow start may take without a note."""
ALIKE = 1e-3
"""Rates that differ by less, relative to their mean, are equal."""
LOCKED_OUT = 0.1
"""A flow below this share of the mean rate is locked out."""
ENOUGH_PACKETS = 100
"""Packets of each flow, before its rate is judged for lock-out."""
ENOUGH_ROUND_TRIPS = 200
COARSE = 0.05
"""Share of a window that its unit may be without a note."""
FEWEST_RUNS = 3
"""Runs of a point with fewer than which an interval is noted."""
LOST_AT_ALL = 1e-3
"""Loss ratio below which losses do not limit a window."""
IDLE = 0.99
"""Share of time without data to send from which a congestion control has no effect."""
REGULAR, GAP = 0.9, 5.0
"""Share of equal intervals between steps of a rate that make them regular; a gap is this many times longer."""


@dataclass(frozen=True)
class Note:
    """A note.

    Attributes:
        code: its kind, for programs; codes stay.
        path: its subject, a dotted path of the scenario; "" for the whole scenario.
        text: the number that raised it, and the remedy.
    """

    code: str
    path: str
    text: str

    def to_json(self) -> dict[str, str]:
        """As `--json` prints it."""
        return {"code": self.code, "path": self.path, "text": self.text}


def of_scenario(scenario: Scenario, outline: Outline | None = None) -> list[Note]:
    """Notes that need no run.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    outline = outline or Outline(scenario)
    return list(dict.fromkeys(note for find in _BEFORE for note in find(outline)))


def of_run(scenario: Scenario, record: Record, outline: Outline | None = None) -> list[Note]:
    """All notes on one run: those of its scenario, and those that its record raises."""
    outline = outline or Outline(scenario)
    foreseen = of_scenario(scenario, outline)
    said = {(note.code, note.path) for note in foreseen}
    return [*foreseen, *(note for note in _measured(outline, record.json) if (note.code, note.path) not in said)]


def left_out(scenario: Scenario, record: Record, *, written: bool = False) -> list[Note]:
    """Notes on the parts of a file that `run` ignores: its `[sweep]`, and series unless they are `written`."""
    found = list(_sweep(scenario))
    names = record.series_names
    if names and not written:
        path = "record.series" if scenario.tree.get("record", {}).get("series") else "record.events"
        many = len(names) > 1
        text = (
            f"{len(names)} series {'were' if many else 'was'} recorded but not saved. Add --out DIR, draw with "
            "evenflow plot, or read in Python: ef.run(FILE).series(NAME)."
        )
        found.append(Note("series-not-written", path, text))
    return found


def of_study(scenarios: Mapping[int, Scenario], runs: Sequence[Run]) -> list[tuple[Note, list[int]]]:
    """Notes on a study, each with the places of its points in the order of `runs`, and the text of its first run.

    Whether all seeds of a point gave the same run is judged on the runs, not on the scenario.
    """
    found: dict[tuple[str, str], tuple[Note, dict[int, None]]] = {}

    def add(note: Note, point: int) -> None:
        found.setdefault((note.code, note.path), (note, {}))[1][point] = None

    by_point: dict[int, list[Run]] = {}
    for run in runs:
        by_point.setdefault(run.point, []).append(run)
    for place, (number, members) in enumerate(by_point.items()):
        outline = Outline(scenarios[number])
        for note in of_scenario(scenarios[number], outline):
            if note.code != "no-randomness":
                add(note, place)
        for note in [*_all_alike(members), *_few_runs(members)]:
            add(note, place)
        for run in members:
            for note in _measured(outline, run.json):
                add(note, place)
    return [(note, list(points)) for note, points in found.values()]


def over_runs(metric: str, count: int, instead: str) -> Note:
    """The note on a distribution of one number per run; `instead` names a distribution within runs, or is empty."""
    text = f"This distribution is over {counted(count, 'run')}, one number each; it is not one of packets or users. "
    remedy = f"Draw {instead}, or write --over runs." if instead else "Write --over runs to confirm."
    return Note("over-runs", metric, text + remedy)


# Known without a run.


def _no_randomness(outline: Outline) -> Iterator[Note]:
    if not outline.sources or outline.randomness():
        return
    first = outline.sources[0]
    yield Note(
        "no-randomness",
        "",
        "The scenario draws no random numbers. Every seed gives the same run, and 10 replications show ± 0. Add "
        f'randomness, such as {first.path}.start = {{ uniform = ["0 s", "1 s"] }}.',
    )


def _capable_at(outline: Outline, group: str, capable: bool, way: Way) -> bool:
    """Whether packets are ECN-capable at a link: in a tunnel, by their outer header."""
    around: list[bool] = []
    stages = outline.tree.get("stages", {})
    for hop in outline.tree["groups"][group]["path"] if way.forward else []:
        if hop == way.name:
            break
        stage = stages.get(hop, {})
        mouth = registry.table_of(stage).get("mouth")
        if mouth == "ingress":
            around.append(capable)
            rules = stage.get("ecn", "rfc6040")
            capable = rules == "paper" or (capable and rules != "rfc6040-compatibility")
        elif mouth == "egress" and around:
            capable = around.pop()
    return capable


def _not_ecn_capable(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        if "action" not in way.queue or not way.marks:
            continue
        users = outline.crossing(way)
        without = [source for source in users if not _capable_at(outline, source.group, source.is_ecn_capable, way)]
        if not without or not any(source.tcp or len(without) == len(users) for source in without):
            continue
        groups = list(dict.fromkeys(source.group for source in without))
        everybody = len(without) == len(users)
        does = "drops their packets instead" if way.queue["action"] == "mark" else "passes their packets unmarked"
        who = "No sender" if everybody else f"{len(without)} of {len(users)} senders"
        cure = listed(list(dict.fromkeys(_capable(outline, source) for source in without)))
        yield Note(
            "not-ecn-capable",
            f"{way.path}.queue",
            f"{who} through this {way.kind} queue {'is' if everybody else 'are not'} ECN-capable ({listed(groups)}). "
            f'The queue {does}. Set {cure}, or action = "drop".',
        )


def _capable(outline: Outline, source: Source) -> str:
    if source.tcp is not None:
        return f'{outline.place_of_tcp(source)}.ecn = "classic"'
    return f"{source.path}.ecn_capable = true"


def _never_marked(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        if not source.is_ecn_capable or not source.ways or any(way.marks for way in source.ways):
            continue
        links = listed([way.name if way.forward else f"-{way.name}" for way in source.ways])
        told = f'ecn = "{source.tcp["ecn"]}"' if source.tcp else "ecn_capable = true"
        place = f"{outline.place_of_tcp(source)}.ecn" if source.tcp else f"{source.path}.ecn_capable"
        yield Note(
            "never-marked",
            place,
            f"{told}, but no link on the path ({links}) marks packets. Use a queue that marks (red, codel, pie, …), or "
            "remove this setting.",
        )


def _never_times_out(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        tcp = source.tcp or {}
        if tcp.get("rto") == "any-ack" and tcp.get("loss_detection") == "sack":
            text = (
                'rto = "any-ack" restarts the timer at every ACK, and loss_detection = "sack" leaves a lost '
                "retransmission to the timer. Such a flow may send forever and deliver nothing. Set loss_detection = "
                '"fack" or "rack", or another rto.'
            )
            yield Note("never-times-out", f"{outline.place_of_tcp(source)}.rto", text)


def _slow_packet(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        size_b = outline.largest_packet(way)
        if not way.steps or not size_b or not (way.forward or way.is_written):
            continue
        steps = way.steps
        changes = len(steps) > 1
        worst: Note | None = None
        for index, (since, speed) in enumerate(steps):
            until = steps[index + 1][0] if index + 1 < len(steps) else outline.duration
            if since >= outline.duration:
                break
            if not speed:
                continue  # an outage
            takes = size_b * 8 / speed
            rest = outline.duration - since
            if takes <= until - since:
                continue
            when = f" from {plain(since)} s on" if changes else ""
            text = f"At {rate(speed)}{when} a packet of {size(size_b)} takes {time_span(takes)} to send, longer than "
            enough = rate(math.ceil(size_b * 8 / (until - since)))
            if takes > rest:
                text += f"the remaining {time_span(rest)} of the run: the link sends nothing else. "
            elif index + 1 < len(steps):
                text += (
                    f"this rate lasts ({time_span(until - since)}): it finishes at the old rate, and other packets "
                    "wait. "
                )
            outage = f"For an outage write a rate of 0 bit/s; else use more than {enough}."
            worst = Note("slow-packet", f"{way.path}.rate", text + (outage if changes else f"Use more than {enough}."))
            break
        if worst is not None:
            yield worst


def _trace_of(outline: Outline, way: Way) -> str | None:
    """The file that a rate comes from."""
    path: paths.Path = ("links", way.name, *(() if way.forward else ("reverse",)), "rate", "trace")
    return str(paths.get(outline.scenario.tree, path)) if paths.has(outline.scenario.tree, path) else None


def _trace_gap(outline: Outline) -> Iterator[Note]:
    """A regular trace without rows for a while: where measurements fail, links are often out."""
    for way in outline.ways.values():
        times = [at for at, _ in way.steps]
        gaps = sorted(after - at for at, after in itertools.pairwise(times))
        usual = gaps[len(gaps) // 2] if gaps else 0.0
        regular = sum(abs(gap - usual) <= 0.01 * usual for gap in gaps)
        shown = way.forward or way.is_written
        if not gaps or not shown or gaps[-1] <= GAP * usual or regular < REGULAR * len(gaps):
            continue
        n = next(n for n, at in enumerate(times) if times[n + 1] - at == gaps[-1])
        text = (
            f"The rate changes every {time_span(usual)}, but not from {plain(times[n])} s to {plain(times[n + 1])} s: "
            f"{rate(way.steps[n][1])} lasts {time_span(gaps[-1])}. If the link was out, add a step of 0 bit/s."
        )
        yield Note("trace-gap", f"{way.path}.rate", text)


def _trace_ended(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        file, steps = _trace_of(outline, way), way.steps
        if file is None or len(steps) < 2:
            continue
        end = 2 * steps[-1][0] - steps[-2][0]
        if outline.duration > end * (1 + 1e-9):
            text = (
                f"{file} ends at {plain(end)} s, and the run at {plain(outline.duration)} s. The last rate of "
                f"{rate(steps[-1][1])} holds for the rest. Set loop = true, or a shorter duration."
            )
            yield Note("trace-ended", f"{way.path}.rate", text)


def _short_warmup(outline: Outline) -> Iterator[Note]:
    window = outline.duration - outline.warmup
    worst: tuple[float, Source, float] | None = None
    for source in outline.sources:
        if (
            not registry.has(source.kind, "endless")
            or source.tcp is None
            or registry.has(source.control, "no_slow_start")
        ):
            continue
        start = source.table["start"]
        last = most_of(start)
        if not is_random(start) and last > outline.warmup:
            continue  # an explicit late start is intended
        needs = last + _slow_start_s(outline, source)
        missing = (needs - outline.warmup) / window
        if missing > SHORT_WARMUP and (worst is None or needs > worst[0]):
            worst = (needs, source, missing)
    if worst is None:
        return
    needs, source, missing = worst
    yield Note(
        "short-warmup",
        "warmup",
        f"Group {source.group} needs about {time_span(needs)} to start and fill its path in slow start. Measurement "
        f"begins at {plain(outline.warmup)} s, so {share(min(missing, 1.0))} of the window is start-up. "
        f'Set warmup = "{math.ceil(needs * 10) / 10:g} s" or more.',
    )


def _slow_start_s(outline: Outline, source: Source) -> float:
    """Least time from the SYN until the window fills a fair share of the narrowest link.

    The window doubles every round trip, or grows by half with delayed ACKs that are not counted by bytes.
    """
    tcp = source.tcp or {}
    shares = [(way.rate or math.inf) / outline.sharing(way, source) for way in source.ways if way.rate]
    trip = source.round_trip_s
    if not shares or trip <= 0:
        return 0.0
    packets = min(shares) * trip / 8 / source.packet
    packets = min(packets, _bytes(tcp["max_window"], source.packet) / source.packet)
    first = _bytes(tcp["initial_window"], source.packet) / source.packet
    grows = 2.0 if tcp.get("byte_counting") or tcp.get("ack_every", 1) == 1 else 1.5
    rounds = math.ceil(math.log(packets / first) / math.log(grows)) if packets > first else 0
    return trip * (1 + rounds)


def _bytes(quantity: Any, packet: float) -> float:
    """A canonical window in bytes on the wire: "10 packets", "65536 B"."""
    number, unit = str(quantity).split()
    return float(number) * (packet if unit == "packets" else 1)


def _on_path(outline: Outline, group: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The stages on a group's path."""
    stages = outline.tree.get("stages", {})
    for name in outline.tree["groups"][group]["path"]:
        if name in stages:
            yield name, stages[name]


def _polices(stage: Mapping[str, Any]) -> bool:
    """Whether a stage limits the congestion that its users report."""
    return registry.table_of(stage).get("place") == "ingress"


def _audits(stage: Mapping[str, Any]) -> bool:
    """Whether a stage compares reports with the congestion before it."""
    return registry.table_of(stage).get("place") == "egress"


def _credit_without_auditor(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex = (source.tcp or {}).get("conex") or {}
        audited = any(_audits(stage) for _, stage in _on_path(outline, source.group))
        if conex.get("credit", "none") != "none" and not audited:
            text = (
                f"{source.group} sends Credit ({conex['credit']}), but its path has no auditor that uses it. A queue "
                "that marks drops such packets. Remove credit, or put an auditor stage behind that queue."
            )
            yield Note("credit-without-auditor", f"groups.{source.group}", text)


def _counts(stage: Mapping[str, Any]) -> str | None:
    """The unit of a congestion policer or an auditor, packets or bytes; None for other stages."""
    if _audits(stage):
        amount = stage["allowance"]
    elif _polices(stage) and stage.get("rule", "bucket") == "bucket":
        amount = stage["depth"]
    else:
        return None
    return "packets" if str(amount).endswith("packets") else "bytes"


def _mixed_units(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        sent = ((source.tcp or {}).get("conex") or {}).get("unit")
        for name, stage in _on_path(outline, source.group):
            counted_in = _counts(stage)
            if sent is None or counted_in in (None, sent):
                continue
            does, follows = "charges", "users are charged too much or too little"
            if _audits(stage):
                does, follows = "counts", "the balance of honest flows drifts until they are sanctioned"
            text = (
                f"Senders of {source.group} report congestion in {sent}, but stages.{name} {does} {counted_in}. With "
                f'packets of several sizes, {follows}. Set conex = {{ unit = "{counted_in}" }}.'
            )
            yield Note("mixed-units", f"groups.{source.group}", text)


def _markers_before(outline: Outline, source: Source) -> Iterator[tuple[str, Mapping[str, Any], list[str]]]:
    """The stages on a path outside tunnels, each with the marking links before it."""
    ways = iter(source.ways)
    before: list[str] = []
    inside = 0
    stages = outline.tree.get("stages", {})
    for hop in outline.tree["groups"][source.group]["path"]:
        stage = stages.get(hop)
        if stage is None:
            way = next(ways)
            before += [way.name] * way.marks
            continue
        inside += {"ingress": 1, "egress": -1}.get(registry.table_of(stage).get("mouth", ""), 0)
        if inside == 0:
            yield hop, stage, list(before)


def _policer_behind(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        if not (source.tcp or {}).get("conex"):
            continue
        for name, stage, before in _markers_before(outline, source):
            if _polices(stage) and before:
                text = (
                    f"stages.{name} is behind links.{before[0]}, whose queue marks. Packets dropped there are not "
                    "charged, and packets dropped by the policer have already used the link. A packet marked by RFC "
                    "3168 also looks like a marked report. Put the policer before that link (RFC 7713 section 5.4)."
                )
                yield Note("policer-behind-queue", f"groups.{source.group}.path", text)


def _marks_not_reported(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex = (source.tcp or {}).get("conex") or {}
        if conex.get("report") != "loss" or not source.is_ecn_capable:
            continue
        for name, stage, before in _markers_before(outline, source):
            if _audits(stage) and stage["audit"] != "loss" and before:
                text = (
                    f"Senders of {source.group} report only losses, but stages.{name} also counts the marks of "
                    f"links.{before[0]}. It sanctions even honest flows. Set "
                    f'report = "loss-and-ecn", or stages.{name}.audit = "loss".'
                )
                yield Note("marks-not-reported", f"groups.{source.group}", text)


def _shared_bucket(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if not _polices(stage):
            continue
        groups = [g for g in outline.tree["groups"] if name in outline.tree["groups"][g]["path"]]
        users = sum(int(outline.tree["groups"][group].get("users", 1)) for group in groups)
        if "per" not in stage and users > 1:
            text = (
                f"{users} users share one bucket. When it is empty, packets of all users are dropped. "
                'Set per = "user" for one bucket per user.'
            )
            yield Note("shared-bucket", f"stages.{name}", text)


def _least_levels(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if stage.get("policy") != "levels" or "per" in stage:
            continue
        users = sum(int(group.get("users", 1)) for group in outline.tree["groups"].values() if name in group["path"])
        line, least = (float(str(value).split()[0]) for value in (stage["rate"], stage["ladder"][0]))
        if users * stage["margin"] * least > line * (1 + 1e-12):
            text = (
                f"{users} sessions of the lowest level need {rate(users * stage['margin'] * least)}; the rate is "
                f"{rate(line)}. While all are open, each gets an equal share of {rate(line / users)}. "
                "Raise rate, or add a lower level."
            )
            yield Note("least-levels", f"stages.{name}", text)


def _starts_after_the_end(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        start = source.table.get("start", "0 s")
        if source.count and least_of(start) >= outline.duration:
            text = (
                f"{source.kind} of {source.group} starts at {time_span(least_of(start))}, after the end of the run "
                f"({time_span(outline.duration)}). It sends nothing. Start it earlier, or raise duration."
            )
            yield Note("starts-after-the-end", f"{source.path}.start", text)


def _steps(table: Any, path: str) -> Iterator[tuple[str, list[Any]]]:
    """Each value of a table that has steps: its path and them."""
    if not isinstance(table, Mapping):
        return
    for key, value in table.items():
        here = f"{path}.{paths.render((key,))}"
        if isinstance(value, Mapping) and "steps" in value:
            yield here, value["steps"]
        else:
            yield from _steps(value, here)


def _steps_after_the_end(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        if not (way.forward or way.is_written):
            continue
        for path, steps in _steps(way.table, way.path):
            late = [mean_of(at) for at, _ in steps if mean_of(at) >= outline.duration]
            if late:
                which = (
                    f"The step at {plain(late[0])} s comes"
                    if len(late) == 1
                    else f"{len(late):,} steps, the first at {plain(late[0])} s, come"
                )
                text = (
                    f"{which} after the end of the run ({time_span(outline.duration)}). Use earlier steps, or raise "
                    "duration."
                )
                yield Note("steps-after-the-end", path, text)


def _crossing(outline: Outline, stage: str) -> Iterator[tuple[str, str]]:
    """Groups with TCP that cross a stage, each with the stage as its path writes it."""
    for group, sources in outline.by_group.items():
        legs = [leg for leg in outline.tree["groups"][group].get("path", []) if leg.removeprefix("-") == stage]
        if legs and any(source.tcp for source in sources):
            yield group, legs[0]


def _tunes(stage: Mapping[str, Any]) -> bool:
    """Whether a stage lowers the windows of the sessions through it."""
    return registry.has(stage, "sessions") and not registry.has(stage, "controls")


def _tuner_against_data(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if not _tunes(stage):
            continue
        for group, leg in _crossing(outline, name):
            if leg.startswith("-"):
                text = (
                    f"Data of {group} crosses this tuner backward, and its ACKs forward. A tuner lowers windows in "
                    "backward packets. In this direction it limits no sender. Let the path "
                    f"cross it forward ({name}), or not at all."
                )
                yield Note("tuner-against-data", f"stages.{name}", text)


def _more_than_the_line(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if not registry.has(stage, "shares") or is_random(stage["rate"]):
            continue
        link = stage["controls"]
        way = outline.ways[link.removeprefix("-"), not link.startswith("-")]
        lines = [(f"the link {way.name}", way.rate or math.inf)]
        classes = way.scheduler.get("classes") or {}
        above = (way.scheduler.get("each") or {}).get("parent")
        while above in classes:
            ceil = classes[above].get("ceil", classes[above]["rate"])
            lines.append((f"the class {above}", math.inf if is_random(ceil) else mean_of(ceil)))
            above = classes[above].get("parent")
        where, least = min(lines, key=lambda line: line[1])
        if mean_of(stage["rate"]) > least * (1 + ALIKE):
            text = (
                f"It assigns {rate(mean_of(stage['rate']))}, but {where} carries {rate(least)}. Sessions get less than "
                "assigned. Lower rate."
            )
            yield Note("more-than-the-line", f"stages.{name}.rate", text)


def _conex(source: Source) -> Mapping[str, Any]:
    """The ConEx options of a source; empty without ConEx."""
    found: Mapping[str, Any] = (source.tcp or {}).get("conex") or {}
    return found


def _no_credit(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex = _conex(source)
        if not conex or conex["credit"] != "none":
            continue
        for name, stage in _on_path(outline, source.group):
            waits = "delay" in stage and least_of(stage["delay"]) > 0
            if _audits(stage) and stage["rule"] == "balance" and not waits:
                text = (
                    f"Senders of {source.group} send no credit. stages.{name} charges congestion a round trip before "
                    "the sender can report it, so it sanctions honest flows. Set "
                    f'conex.credit = "flight", or stages.{name}.delay to two round trips.'
                )
                yield Note("no-credit-before-auditor", f"groups.{source.group}", text)


def _no_lag(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        waits = "delay" in stage and least_of(stage["delay"]) > 0
        if _audits(stage) and stage["rule"] != "balance" and not waits:
            text = (
                f"The rule {stage['rule']} charges marks immediately, but senders report them a round trip later. "
                "It sanctions honest flows. Set delay to twice the longest round trip."
            )
            yield Note("no-lag", f"stages.{name}.delay", text)


def _refused_ecn(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex, tcp = _conex(source), source.tcp or {}
        if conex and tcp.get("peer_ecn") == "off" and conex["encoding"] == "ipv4":
            text = (
                f"The receivers of {source.group} refuse ECN (peer_ecn). In the IPv4 encoding only ECN-capable "
                "packets carry reports, so these connections report nothing. Remove peer_ecn, or "
                'set conex.encoding = "ipv6".'
            )
            yield Note("reports-refused", f"{outline.place_of_tcp(source)}.peer_ecn", text)


def _credit_dropped(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        if not way.marks or way.queue.get("action") != "mark":
            continue
        groups = list(
            dict.fromkeys(
                source.group
                for source in outline.crossing(way)
                if (conex := _conex(source)) and conex["credit"] != "none" and conex["encoding"] == "ipv4"
            )
        )
        if groups:
            text = (
                f"RFC 3168 does not treat Credit of {listed(groups)} (FNE of re-ECN) as ECN-capable. The queue drops "
                'it instead of marking it. Set action = "mark-re-ecn".'
            )
            yield Note("credit-is-dropped", f"{way.path}.queue.action", text)


def _sees_nothing(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        kind = stage["kind"]
        if not (_audits(stage) or _polices(stage)):
            continue
        crossing = [
            source for source in outline.sources if any(name == own for own, _ in _on_path(outline, source.group))
        ]
        if not crossing:
            continue
        if stage.get("legacy") != "police" and not any(_conex(source) for source in crossing):
            text = f"No sender through this {kind} uses ConEx. It receives no reports, and passes every packet. "
            yield Note("no-reports", f"stages.{name}", text + "Set tcp.conex, or remove the stage.")
        elif _audits(stage) and stage["audit"] == "ecn":
            marked = [
                before
                for source in crossing
                for own, _, before in _markers_before(outline, source)
                if own == name and before
            ]
            stages = [stage for source in crossing for _, stage in _on_path(outline, source.group)]
            if not marked and not any(registry.has(stage, "marks") for stage in stages):
                text = (
                    'It audits marks (audit = "ecn"), but no queue before it marks. '
                    'Set audit = "loss", or use a marking queue on a link before it.'
                )
                yield Note("no-marks-to-audit", f"stages.{name}.audit", text)


def _losses_behind(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        if not _conex(source):
            continue
        ways = iter(source.ways)
        auditors: list[str] = []
        stages = outline.tree.get("stages", {})
        for hop in outline.tree["groups"][source.group]["path"]:
            if hop in stages:
                if _audits(stages[hop]) and stages[hop]["audit"] != "ecn":
                    auditors.append(hop)
                continue
            way = next(ways)
            if auditors and way.rate and not way.is_unlimited and not way.marks:
                text = (
                    f"stages.{auditors[0]} audits losses, but is before links.{way.name}, whose queue drops. It misses "
                    "these losses. Put it behind that link."
                )
                yield Note("losses-behind-auditor", f"groups.{source.group}.path", text)
                break


def _marks_behind_reporter(outline: Outline) -> Iterator[Note]:
    for group, sources in outline.by_group.items():
        stages = outline.tree.get("stages", {})
        reporter = ""
        ways = iter(sources[0].ways) if sources else iter(())
        for hop in outline.tree["groups"][group]["path"]:
            if hop in stages:
                reporter = hop if registry.has(stages[hop], "sends") else reporter
                continue
            way = next(ways, None)
            if reporter and way is not None and way.marks:
                text = (
                    f"stages.{reporter} is before links.{way.name}, whose queue also marks. It does not report these "
                    "marks. Put it behind that link."
                )
                yield Note("marks-behind-reporter", f"groups.{group}.path", text)
                break


def _top_never(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        rule = source.table.get("adaptation")
        if not rule or is_random(source.table["buffer"]):
            continue
        needs = sum(least_of(rule[name]) for name in ("reservoir", "cushion") if name in rule)
        if "cushion" not in rule or "reservoir" not in rule:
            by_buffer = registry.has(rule, "by_buffer") and "target_buffer" in rule
            needs = least_of(rule["target_buffer"]) if by_buffer else 0.0
        holds = mean_of(source.table["buffer"])
        if needs > holds * (1 + 1e-9):
            text = (
                f"{rule['kind']} requests the highest level at {time_span(needs)} in the buffer, but the buffer holds "
                f"only {time_span(holds)}. It never requests it. Raise buffer, or lower the rule's thresholds."
            )
            yield Note("top-level-never", f"{source.path}.adaptation", text)


def _on_no_path(outline: Outline) -> Iterator[Note]:
    groups = outline.tree.get("groups", {})
    used = {hop.removeprefix("-") for group in groups.values() for hop in group["path"]}
    for section in ("links", "stages"):
        for name in outline.tree.get(section, {}):
            if groups and name not in used:
                text = "It is on no group's path and has no effect. Add it to a path, or remove it."
                yield Note("on-no-path", paths.render((section, name)), text)


def _no_label(outline: Outline) -> Iterator[Note]:
    """A queue that reads labels, and no stage before it writes them."""
    stages = outline.tree.get("stages", {})
    for way in outline.ways.values():
        kind, hop = (way.table.get("queue") or {}).get("kind"), way.name if way.forward else f"-{way.name}"
        if not kind or not registry.has(kind, "labels"):
            continue
        crossing = [group["path"] for group in outline.tree.get("groups", {}).values() if hop in group["path"]]
        before = (leg for path in crossing for leg in path[: path.index(hop)])
        if crossing and not any(registry.has(stages[leg], "labels") for leg in before if leg in stages):
            text = (
                f"{kind} reads a label that a stage writes, and no stage before this link does. All packets have label "
                "0. Add such a stage to the paths."
            )
            yield Note("no-label", f"{way.path}.queue", text)


def _faster_than_the_link(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        scheduler, capacity = (way.table.get("queue") or {}).get("scheduler") or {}, way.table.get("rate")
        if is_random(capacity) or (isinstance(capacity, Mapping) and "opportunities" in capacity):
            continue
        line = max((step for _, step in way.steps), default=math.inf)
        place = f"{way.path}.queue.scheduler"
        classes = scheduler.get("classes") or {}
        tables = {place: scheduler, **{f"{place}.classes.{name}": one for name, one in classes.items()}}
        rates = {at: one.get("rate") for at, one in tables.items() if isinstance(one, Mapping)}
        for at, wanted in rates.items():
            if wanted is None or is_random(wanted):
                continue
            steps = wanted["steps"] if isinstance(wanted, Mapping) else [(0.0, wanted)]
            slowest = min(mean_of(value) for _, value in steps)
            if slowest > line * (1 + 1e-9):
                text = (
                    f"{scheduler['kind']} shapes to {rate(slowest)}, more than the link's {rate(line)}, so the link is "
                    "the limit. Raise the link's rate (it is the device's), or lower this one."
                )
                yield Note("faster-than-the-link", f"{at}.rate", text)


def _without_sessions(outline: Outline) -> Iterator[Note]:
    """A manager or tuner that can detect no session."""
    for name, stage in outline.tree.get("stages", {}).items():
        if not registry.has(stage, "sessions"):
            continue
        groups = [group for group, _ in _crossing(outline, name)]
        sources = [source for group in groups for source in outline.by_group[group] if source.tcp]
        crossed = any(
            name == hop.removeprefix("-") for g in outline.tree.get("groups", {}).values() for hop in g["path"]
        )
        if crossed and not sources:
            text = "All traffic through this stage is datagrams without connections, so it sees no session."
            yield Note("no-session", f"stages.{name}", text)
        elif sources and all((source.tcp or {}).get("handshake") == "none" for source in sources):
            text = (
                f"{listed(groups)} {'open' if len(groups) > 1 else 'opens'} connections without a handshake "
                "(tcp.handshake). This stage detects sessions and window scaling by SYNs, so it has no effect."
            )
            yield Note("no-session", f"stages.{name}", text)


_BEFORE: tuple[Callable[[Outline], Iterable[Note]], ...] = (
    _no_randomness,
    _not_ecn_capable,
    _never_marked,
    _never_times_out,
    _slow_packet,
    _trace_gap,
    _trace_ended,
    _short_warmup,
    _credit_without_auditor,
    _mixed_units,
    _policer_behind,
    _marks_not_reported,
    _shared_bucket,
    _least_levels,
    _starts_after_the_end,
    _steps_after_the_end,
    _tuner_against_data,
    _more_than_the_line,
    _no_credit,
    _no_lag,
    _refused_ecn,
    _credit_dropped,
    _sees_nothing,
    _losses_behind,
    _marks_behind_reporter,
    _top_never,
    _on_no_path,
    _no_label,
    _faster_than_the_link,
    _without_sessions,
)


def _sweep(scenario: Scenario) -> Iterator[Note]:
    sweep = scenario.tree.get("sweep")
    if not sweep:
        return
    from ..scenario.sweep import outline

    points, replications, swept = outline(scenario)
    base = scenario.tree
    only = [
        paths.render(path)
        for path in swept
        if path[0] in ("links", "stages", "arrivals", "groups")
        and not paths.has(base, path)
        and paths.has(base, path[:-1])
    ]
    text = f"`run` ignores [sweep] ({counted(points, 'point')}, {counted(points * replications, 'run')})"
    if only:
        text += f"; {listed(only)} {'is' if len(only) == 1 else 'are'} set only in it, and absent from this run"
    yield Note("sweep-left-out", "sweep", f"{text}. Use `evenflow study FILE`.")


# Raised by a record.


def _measured(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    yield from _unlimited_queue(outline, record)
    yield from _too_large(outline, record)
    yield from _unscaled_windows(record)
    yield from _coarse_windows(outline, record)
    yield from _no_session(outline, record)
    for source in outline.sources:
        yield from _window_bound(outline, record, source)
        yield from _access_bound(outline, record, source)
        yield from _lockstep(outline, record, source)
        yield from _application_limited(outline, record, source)


def _unscaled_windows(record: Mapping[str, Any]) -> Iterator[Note]:
    for name, stage in (record.get("stages") or {}).items():
        if unscaled := stage.get("unscaled"):
            text = (
                f"{plain(unscaled)} segments passed with an unchanged window. The stage did not see the SYNs of their "
                "connections in both directions, so it does not know the window scale. Use tcp.handshake, and put the "
                "stage on both directions."
            )
            yield Note("windows-left-alone", f"stages.{name}", text)


def _coarse_windows(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    """Windows set by a stage are rounded to units of the window scale (RFC 7323 section 2.2)."""
    for name, stage in outline.tree.get("stages", {}).items():
        measured = (record.get("stages") or {}).get(name) or {}
        window = measured.get("target_window") if _tunes(stage) else None
        if "window" in stage and not is_random(stage["window"]):
            window = mean_of(stage["window"])
        sources = [source for group, _ in _crossing(outline, name) for source in outline.by_group[group] if source.tcp]
        if not window or not sources:
            continue
        source = max(sources, key=lambda one: _scale(one))
        unit = 2 ** _scale(source)
        if unit > COARSE * window:
            place = f"{outline.place_of_tcp(source)}.max_window"
            text = (
                f"This stage sets windows of {size(window)}, but {source.group} announces window scale "
                f"{_scale(source)}. Windows are whole units of {size(unit)}, {share(unit / window)} of that. "
                f'Set {place} = "256 KiB" or the smallest window that the path needs.'
            )
            yield Note("coarse-window-scale", f"stages.{name}", text)


def _scale(source: Source) -> int:
    """The window scale that a receiver announces: the least with which its largest window fits into 16 bits."""
    tcp = source.tcp or {}
    if tcp.get("window_scaling") is False:
        return 0
    largest = _bytes(tcp["max_window"], source.packet - source.ack)
    return next((scale for scale in range(14) if largest < 2 ** (16 + scale)), 14)


def _no_session(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    for name, stage in (record.get("stages") or {}).items():
        if stage.get("opened") != 0 or not stage.get("passed_packets") or stage.get("unscaled"):
            continue
        groups = [group for group, _ in _crossing(outline, name)]
        silent = [
            group
            for group in groups
            if any(source.tcp and source.tcp.get("handshake") == "none" for source in outline.by_group[group])
        ]
        why = "No connection was opened through it"
        if silent:
            verb = "open" if len(silent) > 1 else "opens"
            why = f"{listed(silent)} {verb} connections without a handshake (tcp.handshake)"
        text = (
            f"{counted(stage['passed_packets'], 'packet')} passed but no SYN, so this stage detected no session. {why}."
        )
        yield Note("no-session", f"stages.{name}", text)


def _link(record: Mapping[str, Any], way: Way) -> Mapping[str, Any]:
    link: Mapping[str, Any] = record.get("links", {}).get(way.name) or {}
    return link if way.forward else link.get("reverse") or {}


def _unlimited_queue(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    for way in outline.ways.values():
        longest = _link(record, way).get("queue_delay_s_max") or 0.0
        if way.is_unlimited and longest > LONG_QUEUE_S:
            mean = _link(record, way).get("queue_packets_mean")
            yield Note(
                "unlimited-queue",
                f"{way.path}.queue.limit",
                f"This queue has no limit; its maximum delay was {time_span(longest)} (mean queue {plain(mean)} "
                f'packets). Set a limit: {way.path}.queue = {{ limit = "100 packets" }}.',
            )


def _too_large(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    for way in outline.ways.values():
        if many := (_link(record, way).get("drops") or {}).get("too_large"):
            text = (
                f"{counted(many, 'packet')} {'was' if many == 1 else 'were'} larger than the bucket, and dropped. "
                "Set burst to at least the largest packet with headers, at every step."
            )
            yield Note("larger-than-the-bucket", f"{way.path}.queue.scheduler.burst", text)


def _rates(record: Mapping[str, Any], outline: Outline, source: Source) -> list[float]:
    """Throughput of every source of this kind, in bit/s: users one after the other."""
    own = outline.by_group[source.group]
    each = sum(other.flows for other in own)
    before = sum(other.flows for other in own if other.index < source.index)
    rates = record.get("groups", {}).get(source.group, {}).get("flows_throughput_bps") or []
    return [
        value or 0.0
        for user in range(source.users)
        for value in rates[user * each + before : user * each + before + source.flows]
    ]


def _round_trip_s(record: Mapping[str, Any], source: Source) -> float:
    """Measured round trip: the empty path's, and the mean queueing delays in both directions."""
    waits = [_link(record, way).get("queue_delay_s_mean") or 0.0 for way in (*source.ways, *source.back)]
    return source.round_trip_s + sum(waits)


def _window_bound(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    if source.tcp is None or not registry.has(source.kind, "endless"):
        return
    rates = _rates(record, outline, source)
    group = record["groups"][source.group]
    trip = _round_trip_s(record, source)
    if (
        not rates
        or trip <= 0
        or registry.has(source.control, "fixed_window")
        or (group.get("loss_ratio") or 0.0) > LOST_AT_ALL
    ):
        return
    payload = (source.packet - source.ack) / source.packet
    bound = _bytes(source.tcp["max_window"], source.packet - source.ack)
    flying = [value * payload * trip / 8 for value in rates]
    full = [bytes_ for bytes_ in flying if bytes_ >= FULL * bound]
    if 2 * len(full) < len(rates) or (group.get("marks") or 0) > LOST_AT_ALL * (group.get("delivered_packets") or 1):
        return
    mean, mean_flying = sum(rates) / len(rates), sum(full) / len(full)
    yield Note(
        "window-bound",
        f"{outline.place_of_tcp(source)}.max_window",
        f"{_part(len(full), len(rates), 'connection')} of group {source.group} had "
        f"{share(min(1.0, mean_flying / bound))} of the receive window in flight on average. A window of "
        f"{size(bound)} and a round trip of {time_span(trip)} allow {rate(bound * 8 / trip)}; measured payload rate: "
        f"{rate(mean * payload)}. Raise {outline.place_of_tcp(source)}.max_window.",
    )


def _application_limited(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    """Senders whose congestion control was chosen, and that never used it."""
    senders = record["groups"][source.group].get("senders")
    place = f"{outline.place_of_tcp(source)}.congestion_control"
    if not senders or source.index or not paths.has(outline.scenario.tree, paths.parse(place)):
        return
    limited = senders["limited_s"]
    idle = limited["application"] / (sum(limited.values()) or math.inf)
    if idle >= IDLE and not any(senders["reductions"].values()):
        text = (
            f"Senders of {source.group} had no data to send for {share(idle)} of the time, and never reduced their "
            "windows. Every congestion control gives the same result. Send more or larger transfers to compare."
        )
        yield Note("application-limited", place, text)


def _part(count: int, of: int, noun: str) -> str:
    if count == of:
        return f"The {noun}" if of == 1 else f"All {of:,} {noun}s"
    return f"{count:,} of {of:,} {noun}s"


def _access_bound(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    access = next((way for way in source.ways if way.per and way.rate), None)
    shared = [way for way in source.ways if not way.per and way.rate]
    first = source.index == 0
    if access is None or not shared or not first or source.tcp is None:
        return
    rate_of = access.table["rate"]
    if isinstance(rate_of, Mapping):
        return  # random or stepped: the record does not have the rate of each copy
    users = record["groups"][source.group].get("users_throughput_bps") or []
    copies = _users_of_a_copy(access, source)
    loads = [sum(v or 0.0 for v in users[i : i + copies]) for i in range(0, len(users), copies)]
    if access.per == "flow":
        loads = _rates(record, outline, source)
    capacity = access.rate or math.inf
    full = [load for load in loads if load >= BUSY * capacity]
    used = {way.name: float(_link(record, way).get("utilisation") or 0.0) for way in shared}
    if not full or 2 * len(full) < len(loads) or max(used.values()) >= BUSY:
        return
    name = max(used, key=lambda n: used[n])
    yield Note(
        "access-bound",
        paths.render(("links", access.name, "rate")),
        f"Group {source.group} used {share(sum(full) / len(full) / capacity)} of its access link {access.name} "
        f"({rate(capacity)}), but the shared link {name} was only {share(used[name])} utilised. The access link is the "
        f"bottleneck. To study {name}, raise {paths.render(('links', access.name, 'rate'))}.",
    )


def _users_of_a_copy(way: Way, source: Source) -> int:
    if way.per == "group":
        return source.users
    return 1 if way.per in ("user", "flow") else min(source.users, int(way.per.split()[0]))


def _lockstep(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    rates = _rates(record, outline, source)
    group = record["groups"][source.group]
    window = outline.duration - outline.warmup
    steady = registry.has(source.kind, "endless") and not registry.has(source.kind, "replies")
    if len(rates) < 2 or not group.get("loss_ratio") or not steady or registry.draws(source.table):
        return
    mean = sum(rates) / len(rates)
    if mean * window / 8 < ENOUGH_PACKETS * source.packet:
        return
    bottleneck = _dropping(record, source)
    if bottleneck is None or bottleneck.keeps_flows_apart or bottleneck.per or _jostled(outline, source, bottleneck):
        return
    spread = (max(rates) - min(rates)) / mean
    starved = [value for value in rates if value < LOCKED_OUT * mean]
    packet_s = source.packet * 8 / (bottleneck.rate or math.inf)
    cure = (
        "The path has no randomness per packet. Compare with random host delays: "
        f'{paths.render(("groups", source.group))}.processing = {{ uniform = ["0 s", "{packet_s * 1e3:.2g} ms"] }} '
        f"(a packet's transmission time on {bottleneck.name})."
    )
    path = paths.render(("groups", source.group))
    if spread < ALIKE:
        text = (
            f"All {len(rates)} flows of group {source.group} got {rate(mean)} within {spread * 100:.2g} %, although "
            f"{bottleneck.name} dropped packets. Their losses are synchronised. "
        )
    elif starved and window > ENOUGH_ROUND_TRIPS * _round_trip_s(record, source):
        text = (
            f"{len(starved)} of {len(rates)} equal flows of group {source.group} got less than 10 % of their mean rate "
            f"of {rate(mean)}: {bottleneck.name} always drops packets of the same flows. "
        )
    else:
        return
    yield Note("lockstep", path, text + cure)


def _dropping(record: Mapping[str, Any], source: Source) -> Way | None:
    """The link on the path with most drops, if it is drop-tail."""
    drops = [sum((_link(record, way).get("drops") or {}).values()) for way in source.ways]
    if not any(drops):
        return None
    worst = source.ways[drops.index(max(drops))]
    return worst if registry.has(worst.kind, "drops_tail") else None


def _jostled(outline: Outline, source: Source, bottleneck: Way) -> bool:
    """Whether per-packet randomness changes the order at the bottleneck."""
    if outline.is_random_at(bottleneck):
        return True
    for way in source.ways:
        link = outline.tree["links"][way.name]
        if "jitter" in link or "probability" in (link.get("loss") or {}):
            return True
    return False


def _few_runs(runs: Sequence[Run]) -> Iterator[Note]:
    """An interval of one run does not exist, and one of two is seldom of use."""
    if len(runs) >= FEWEST_RUNS:
        return
    text = (
        "One run has no interval."
        if len(runs) == 1
        else "The interval of two runs reaches 12.7 standard errors to each side."
    )
    yield Note("few-runs", "sweep.replications", f"{text} Use at least {FEWEST_RUNS} replications.")


def _all_alike(runs: Sequence[Run]) -> Iterator[Note]:
    """All seeds of a point gave the same numbers."""
    if len(runs) < 2:
        return
    first = runs[0].record.metrics()
    if any(run.record.metrics() != first for run in runs[1:]):
        return
    yield Note(
        "no-randomness",
        "",
        f"All {len(runs)} seeds gave the same numbers, so ± 0 does not mean precision. Add randomness, such as the "
        'start of the flows: start = { uniform = ["0 s", "1 s"] }.',
    )
