"""Notes: what a run did not do, or did for a reason that its numbers do not show.

A note is a fact with the number that raised it and what to do about it. It is computed from the scenario and the
record, is no part of either, and changes no hash. docs/measuring.md lists the codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..scenario import paths
from ..scenario.outline import DATAGRAMS, MARKERS, Outline, Source, Way, is_random, least_of, mean_of, most_of
from ..words import counted, listed, plain, rate, share, size, time_span

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from .record import Record
    from .study import Run

LONG_QUEUE_S = 1.0
"""A queue without a limit is noted when a packet waited longer."""
FULL = 0.9
"""Of a window or an access link: as good as all of it, given what averages leave out."""
BUSY = 0.95
"""A link used less than this was not what held its users back."""
SHORT_WARMUP = 0.02
"""Of the window: what slow start may take of it before a note is due."""
ALIKE = 1e-3
"""Rates of flows that differ by less, relative to their mean, are one rate."""
LOCKED_OUT = 0.1
"""Of the mean rate of like flows: who gets less is locked out."""
ENOUGH_PACKETS = 100
"""Of each flow, before its rate says anything about locking."""
ENOUGH_ROUND_TRIPS = 200
LOST_AT_ALL = 1e-3
"""A loss ratio below which losses do not govern a window."""

WITHOUT_SLOW_START = ("constant", "wtp", "")


@dataclass(frozen=True)
class Note:
    """A note.

    Attributes:
        code: what kind it is, for programs; codes stay.
        path: what it is about, a dotted path of the scenario; "" for the scenario as a whole.
        text: a sentence with the number that raised it, and what to do.
    """

    code: str
    path: str
    text: str

    def to_json(self) -> dict[str, str]:
        """As `--json` prints it."""
        return {"code": self.code, "path": self.path, "text": self.text}


def of_scenario(scenario: Scenario, outline: Outline | None = None) -> list[Note]:
    """What can be known without a run.

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
    """What the command `run` does not do with a file: its `[sweep]`, and series unless they are `written`."""
    found = list(_sweep(scenario))
    names = record.series_names
    if names and not written:
        path = "record.series" if scenario.tree.get("record", {}).get("series") else "record.events"
        many = len(names) > 1
        text = (
            f"{len(names)} series {'were' if many else 'was'} recorded and {'are' if many else 'is'} not written. "
            "--out DIR writes them, evenflow plot draws them, and Python reads them: ef.run(FILE).series(NAME)."
        )
        found.append(Note("series-not-written", path, text))
    return found


def of_study(scenarios: Mapping[int, Scenario], runs: Sequence[Run]) -> list[tuple[Note, list[int]]]:
    """Notes on a study, each with the places of the points that raise it in the order of `runs`, and with the text of
    the first such run.

    That all seeds of a point gave one run is judged on the runs, not on the scenario.
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
        for note in _all_alike(members):
            add(note, place)
        for run in members:
            for note in _measured(outline, run.json):
                add(note, place)
    return [(note, list(points)) for note, points in found.values()]


# Known without a run.


def _no_randomness(outline: Outline) -> Iterator[Note]:
    if not outline.sources or outline.randomness():
        return
    first = outline.sources[0]
    yield Note(
        "no-randomness",
        "",
        "Nothing here is drawn at random, so every seed gives this same run, and 10 replications show ± 0. Draw "
        f'something, such as {first.path}.start = {{ uniform = ["0 s", "1 s"] }}.',
    )


def _capable_at(outline: Outline, group: str, capable: bool, way: Way) -> bool:
    """Whether packets are ECN-capable at a link: in a tunnel, by their outer header."""
    around: list[bool] = []
    stages = outline.tree.get("stages", {})
    for hop in outline.tree["groups"][group]["path"] if way.forward else []:
        if hop == way.name:
            break
        stage = stages.get(hop, {})
        if stage.get("kind") == "tunnel-ingress":
            around.append(capable)
            rules = stage.get("ecn", "rfc6040")
            capable = rules == "paper" or (capable and rules != "rfc6040-compatibility")
        elif stage.get("kind") == "tunnel-egress" and around:
            capable = around.pop()
    return capable


def _not_ecn_capable(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        if way.kind not in MARKERS or not way.marks():
            continue
        users = outline.crossing(way)
        without = [source for source in users if not _capable_at(outline, source.group, source.is_ecn_capable, way)]
        if not without or not any(source.tcp or len(without) == len(users) for source in without):
            continue
        groups = list(dict.fromkeys(source.group for source in without))
        everybody = len(without) == len(users)
        does = "drops their packets instead" if way.queue["action"] == "mark" else "lets their packets pass unmarked"
        who = (
            "Nobody who crosses this marker" if everybody else f"{len(without)} of {len(users)} that cross this marker"
        )
        cure = listed(list(dict.fromkeys(_capable(outline, source) for source in without)))
        yield Note(
            "not-ecn-capable",
            f"{way.path}.queue",
            f"{who} ({way.kind}) {'is' if everybody else 'are not'} ECN-capable ({listed(groups)}): it {does}. Set "
            f'{cure}; or action = "drop".',
        )


def _capable(outline: Outline, source: Source) -> str:
    if source.tcp is not None:
        return f'{outline.place_of_tcp(source)}.ecn = "classic"'
    return f"{source.path}.ecn_capable = true"


def _never_marked(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        if not source.is_ecn_capable or not source.ways or any(way.marks() for way in source.ways):
            continue
        links = listed([way.name if way.forward else f"-{way.name}" for way in source.ways])
        told = f'ecn = "{source.tcp["ecn"]}"' if source.tcp else "ecn_capable = true"
        place = f"{outline.place_of_tcp(source)}.ecn" if source.tcp else f"{source.path}.ecn_capable"
        yield Note(
            "never-marked",
            place,
            f"{told}, but none of the {counted(len(source.ways), 'link')} on the path ({links}) ever marks: they only "
            "drop. Give one a queue that marks (red, codel, pie, …), or leave this out.",
        )


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
            takes = size_b * 8 / speed if speed else math.inf
            if since >= outline.duration:
                break
            rest = outline.duration - since
            if takes <= until - since:
                continue
            when = f" from {plain(since)} s on" if changes else ""
            text = f"At {rate(speed)}{when} a packet of {size(size_b)} takes {time_span(takes)} to send, longer than "
            enough = rate(math.ceil(size_b * 8 / (until - since)))
            if takes > rest:
                text += f"the {time_span(rest)} that are left of the run: nothing else leaves this link. "
            elif index + 1 < len(steps):
                text += (
                    f"the {time_span(until - since)} for which this rate holds: it finishes at the old rate, and the "
                    "others wait for it. "
                )
            outage = (
                f"For an outage write {paths.render(('links', way.name, 'loss'))} = {{ probability = 1, from = "
                f'"{plain(since)} s", until = "{plain(until)} s" }}; else use more than {enough}.'
            )
            worst = Note("slow-packet", f"{way.path}.rate", text + (outage if changes else f"Use more than {enough}."))
            break
        if worst is not None:
            yield worst


def _short_warmup(outline: Outline) -> Iterator[Note]:
    window = outline.duration - outline.warmup
    worst: tuple[float, Source, float] | None = None
    for source in outline.sources:
        if source.kind != "bulk" or source.control in WITHOUT_SLOW_START or source.tcp is None:
            continue
        start = source.table["start"]
        last = most_of(start)
        if not is_random(start) and last > outline.warmup:
            continue  # a late start that was written down is meant
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
        f"Group {source.group} needs about {time_span(needs)} to start and to fill its path in slow start, but "
        f"measurement begins at {plain(outline.warmup)} s: {share(min(missing, 1.0))} of the window are start-up. "
        f'Set warmup = "{math.ceil(needs * 10) / 10:g} s" or more.',
    )


def _slow_start_s(outline: Outline, source: Source) -> float:
    """The least time from the SYN until the window fills a fair share of the narrowest link: doubling every round trip
    (half as much again where ACKs are delayed and not counted by bytes)."""
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
    """The stages that a group's data meets."""
    stages = outline.tree.get("stages", {})
    for name in outline.tree["groups"][group]["path"]:
        if name in stages:
            yield name, stages[name]


def _credit_without_auditor(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex = (source.tcp or {}).get("conex") or {}
        audited = any(stage["kind"] == "auditor" for _, stage in _on_path(outline, source.group))
        if conex.get("credit", "none") != "none" and not audited:
            text = (
                f"{source.group} gives Credit ({conex['credit']}), which only an auditor looks at, and none is on its "
                "path. A queue that marks drops such packets. Leave credit out, or put a stage of kind "
                '"auditor" behind that queue.'
            )
            yield Note("credit-without-auditor", f"groups.{source.group}", text)


def _counts(stage: Mapping[str, Any]) -> str | None:
    """What a congestion policer or an auditor counts, packets or bytes; None of other stages."""
    if stage["kind"] == "auditor":
        amount = stage["allowance"]
    elif stage["kind"] == "congestion-policer" and stage.get("rule", "bucket") == "bucket":
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
            does, follows = "charges", "a user pays for more or less than he met"
            if stage["kind"] == "auditor":
                does, follows = "counts", "the balance of an honest flow wanders, and it is sanctioned in the end"
            text = (
                f"Senders of {source.group} make up for congestion in {sent}, and stages.{name} {does} {counted_in}: "
                f"where packets differ in size, {follows}. With conex = "
                f'{{ unit = "{counted_in}" }} both count alike.'
            )
            yield Note("mixed-units", f"groups.{source.group}", text)


def _markers_before(outline: Outline, source: Source) -> Iterator[tuple[str, Mapping[str, Any], list[str]]]:
    """The stages that data meets outside tunnels, each with the links before it whose queues mark."""
    ways = iter(source.ways)
    before: list[str] = []
    inside = 0
    stages = outline.tree.get("stages", {})
    for hop in outline.tree["groups"][source.group]["path"]:
        stage = stages.get(hop)
        if stage is None:
            way = next(ways)
            before += [way.name] * way.marks()
            continue
        inside += {"tunnel-ingress": 1, "tunnel-egress": -1}.get(stage["kind"], 0)
        if inside == 0:
            yield hop, stage, list(before)


def _policer_behind(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        if not (source.tcp or {}).get("conex"):
            continue
        for name, stage, before in _markers_before(outline, source):
            if stage["kind"] == "congestion-policer" and before:
                text = (
                    f"stages.{name} stands behind links.{before[0]}, whose queue marks: what is dropped there has "
                    "paid nothing, what is dropped here has used that link already, and a marked packet of RFC 3168 "
                    "looks like a marked report. RFC 7713 section 5.4 puts policers where packets enter: write it "
                    "before that link."
                )
                yield Note("policer-behind-queue", f"groups.{source.group}.path", text)


def _marks_not_reported(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex = (source.tcp or {}).get("conex") or {}
        if conex.get("report") != "loss" or not source.is_ecn_capable:
            continue
        for name, stage, before in _markers_before(outline, source):
            if stage["kind"] == "auditor" and stage["audit"] != "loss" and before:
                text = (
                    f"Senders of {source.group} report losses alone, and stages.{name} counts the marks of "
                    f"links.{before[0]} as well: without reports of these even an honest flow is sanctioned. Set "
                    f'report = "loss-and-ecn", or stages.{name}.audit = "loss".'
                )
                yield Note("marks-not-reported", f"groups.{source.group}", text)


def _shared_bucket(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if stage["kind"] != "congestion-policer":
            continue
        groups = [g for g in outline.tree["groups"] if name in outline.tree["groups"][g]["path"]]
        users = sum(int(outline.tree["groups"][group].get("users", 1)) for group in groups)
        if "per" not in stage and users > 1:
            text = (
                f"{users} users share one bucket: when one has used it up, all are dropped. "
                'With per = "user" each has his own.'
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
                f"{users} sessions of the lowest level need {rate(users * stage['margin'] * least)}, more than the "
                f"{rate(line)} there is. While all are open each gets an equal share, {rate(line / users)}. "
                "Raise rate, or give a lower level."
            )
            yield Note("least-levels", f"stages.{name}", text)


def _starts_after_the_end(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        start = source.table.get("start", "0 s")
        if source.count and least_of(start) >= outline.duration:
            text = (
                f"{source.kind} of {source.group} starts at {time_span(least_of(start))}, when the run of "
                f"{time_span(outline.duration)} is over: nothing of it is sent. "
                "Start it earlier, or make duration longer."
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
                    f"{which} when the run of {time_span(outline.duration)} is over. Let steps come earlier, or make "
                    "duration longer."
                )
                yield Note("steps-after-the-end", path, text)


def _crossing(outline: Outline, stage: str) -> Iterator[tuple[str, str]]:
    """Groups with TCP that cross a stage: each with how the stage is written in its path."""
    for group, sources in outline.by_group.items():
        legs = [leg for leg in outline.tree["groups"][group].get("path", []) if leg.removeprefix("-") == stage]
        if legs and any(source.tcp for source in sources):
            yield group, legs[0]


def _tuner_against_data(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if stage["kind"] != "window-tuner":
            continue
        for group, leg in _crossing(outline, name):
            if leg.startswith("-"):
                text = (
                    f"Data of {group} cross this tuner backward, and their ACKs forward. A tuner lowers the windows of "
                    "what goes backward: here those that servers tell, so that no sender is held back. Let the path "
                    f"cross it forward ({name}), or not at all."
                )
                yield Note("tuner-against-data", f"stages.{name}", text)


def _more_than_the_line(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        if stage["kind"] != "bandwidth-manager" or is_random(stage["rate"]):
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
                f"It shares out {rate(mean_of(stage['rate']))}, more than {where} carries, {rate(least)}: sessions get "
                "less than they are assigned. Set rate to what there is."
            )
            yield Note("more-than-the-line", f"stages.{name}.rate", text)


def _conex(source: Source) -> Mapping[str, Any]:
    """What a source's ConEx sender is; empty where it is none."""
    found: Mapping[str, Any] = (source.tcp or {}).get("conex") or {}
    return found


def _no_credit(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex = _conex(source)
        if not conex or conex["credit"] != "none":
            continue
        for name, stage in _on_path(outline, source.group):
            waits = "delay" in stage and least_of(stage["delay"]) > 0
            if stage["kind"] == "auditor" and stage["rule"] == "balance" and not waits:
                text = (
                    f"Senders of {source.group} give no credit, and stages.{name} holds what a packet meets against "
                    "its flow a round trip before its sender can report it: honest flows are sanctioned. Set "
                    f'conex.credit = "flight" there, or stages.{name}.delay to two round trips.'
                )
                yield Note("no-credit-before-auditor", f"groups.{source.group}", text)


def _no_lag(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        waits = "delay" in stage and least_of(stage["delay"]) > 0
        if stage["kind"] == "auditor" and stage["rule"] != "balance" and not waits:
            text = (
                f"The rule {stage['rule']} holds marks against a flow at once, and its sender reports them a round "
                "trip later: honest flows are sanctioned. Set delay to two of the longest round trips."
            )
            yield Note("no-lag", f"stages.{name}.delay", text)


def _refused_ecn(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        conex, tcp = _conex(source), source.tcp or {}
        if conex and tcp.get("peer_ecn") == "off" and conex["encoding"] == "ipv4":
            text = (
                f"The other ends of {source.group} refuse ECN (peer_ecn), and by IPv4's codes only ECN-capable "
                "packets can report: these connections are not ConEx, and report nothing. Leave peer_ecn out, or "
                'set conex.encoding = "ipv6".'
            )
            yield Note("reports-refused", f"{outline.place_of_tcp(source)}.peer_ecn", text)


def _credit_dropped(outline: Outline) -> Iterator[Note]:
    for way in outline.ways.values():
        if not way.marks() or way.queue.get("action") != "mark":
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
                f"Credit of {listed(groups)} (FNE of re-ECN) is no ECN-capable packet to RFC 3168: this queue drops it "
                'where it would mark another. With action = "mark-re-ecn" the queue knows it and marks it.'
            )
            yield Note("credit-is-dropped", f"{way.path}.queue.action", text)


def _sees_nothing(outline: Outline) -> Iterator[Note]:
    for name, stage in outline.tree.get("stages", {}).items():
        kind = stage["kind"]
        if kind not in ("auditor", "congestion-policer"):
            continue
        crossing = [
            source for source in outline.sources if any(name == own for own, _ in _on_path(outline, source.group))
        ]
        if not crossing:
            continue
        if stage.get("legacy") != "police" and not any(_conex(source) for source in crossing):
            text = f"None of those who cross this {kind} is a ConEx sender: it sees no report, and lets all pass. "
            yield Note("no-reports", f"stages.{name}", text + "Give them tcp.conex, or leave the stage out.")
        elif kind == "auditor" and stage["audit"] == "ecn":
            marked = [
                before
                for source in crossing
                for own, _, before in _markers_before(outline, source)
                if own == name and before
            ]
            stages = [stage["kind"] for source in crossing for _, stage in _on_path(outline, source.group)]
            if not marked and "rewriter" not in stages and "activity-aqm" not in stages:
                text = (
                    'It audits marks (audit = "ecn"), and no queue before it marks: it has nothing to compare. '
                    'Set audit = "loss", or give a link before it a queue that marks.'
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
                if stages[hop]["kind"] == "auditor" and stages[hop]["audit"] != "ecn":
                    auditors.append(hop)
                continue
            way = next(ways)
            if auditors and way.rate and not way.is_unlimited and not way.marks():
                text = (
                    f"stages.{auditors[0]} audits losses, and stands before links.{way.name}, whose queue drops: it "
                    "does not see these. Put it behind that link."
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
                reporter = hop if stages[hop]["kind"] == "congestion-reporter" else reporter
                continue
            way = next(ways, None)
            if reporter and way is not None and way.marks():
                text = (
                    f"stages.{reporter} counts marks before links.{way.name}, whose queue marks as well: these it "
                    "never reports. Put it behind that link."
                )
                yield Note("marks-behind-reporter", f"groups.{group}.path", text)
                break


def _top_never(outline: Outline) -> Iterator[Note]:
    for source in outline.sources:
        rule = source.table.get("adaptation")
        if source.kind != "has" or not rule or is_random(source.table["buffer"]):
            continue
        needs = sum(least_of(rule[name]) for name in ("reservoir", "cushion") if name in rule)
        if "cushion" not in rule or "reservoir" not in rule:
            needs = least_of(rule["target_buffer"]) if rule["kind"] == "bola" else 0.0
        holds = mean_of(source.table["buffer"])
        if needs > holds * (1 + 1e-9):
            text = (
                f"{rule['kind']} asks for the highest level with {time_span(needs)} in the buffer, which holds "
                f"{time_span(holds)}: it never does. Make the buffer larger, or the rule's thresholds smaller."
            )
            yield Note("top-level-never", f"{source.path}.adaptation", text)


def _on_no_path(outline: Outline) -> Iterator[Note]:
    groups = outline.tree.get("groups", {})
    used = {hop.removeprefix("-") for group in groups.values() for hop in group["path"]}
    for section in ("links", "stages"):
        for name in outline.tree.get(section, {}):
            if groups and name not in used:
                text = "No group's path has it: it does nothing. Write it on a path, or leave it out."
                yield Note("on-no-path", paths.render((section, name)), text)


def _without_sessions(outline: Outline) -> Iterator[Note]:
    """A manager or tuner to which no session can open."""
    for name, stage in outline.tree.get("stages", {}).items():
        if stage["kind"] not in ("bandwidth-manager", "window-tuner"):
            continue
        groups = [group for group, _ in _crossing(outline, name)]
        sources = [source for group in groups for source in outline.by_group[group] if source.tcp]
        crossed = any(
            name == hop.removeprefix("-") for g in outline.tree.get("groups", {}).values() for hop in g["path"]
        )
        if crossed and not sources:
            text = "All who cross this stage send datagrams, which open no connection: it will know of no session."
            yield Note("no-session", f"stages.{name}", text)
        elif sources and all((source.tcp or {}).get("handshake") == "none" for source in sources):
            text = (
                f"{listed(groups)} {'open' if len(groups) > 1 else 'opens'} connections without a handshake "
                "(tcp.handshake), and this stage learns of sessions and of how windows are scaled from SYNs alone: "
                "it will change nothing."
            )
            yield Note("no-session", f"stages.{name}", text)


_BEFORE: tuple[Callable[[Outline], Iterable[Note]], ...] = (
    _no_randomness,
    _not_ecn_capable,
    _never_marked,
    _slow_packet,
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
    text = f"run leaves [sweep] out: {counted(points, 'point')}, {counted(points * replications, 'run')}"
    if only:
        text += f"; {listed(only)} {'is' if len(only) == 1 else 'are'} set only there, and absent in this run"
    yield Note("sweep-left-out", "sweep", f"{text}. evenflow study FILE runs it.")


# Raised by a record.


def _measured(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    yield from _unlimited_queue(outline, record)
    yield from _too_large(outline, record)
    yield from _unscaled_windows(record)
    yield from _no_session(outline, record)
    for source in outline.sources:
        yield from _window_bound(outline, record, source)
        yield from _access_bound(outline, record, source)
        yield from _lockstep(outline, record, source)


def _unscaled_windows(record: Mapping[str, Any]) -> Iterator[Note]:
    for name, stage in (record.get("stages") or {}).items():
        if unscaled := stage.get("unscaled"):
            text = (
                f"{plain(unscaled)} segments passed with the window that they had: the SYNs of their connections, "
                "which say how windows are scaled, have not crossed this stage in both directions. Let connections "
                "open with a handshake (tcp.handshake), and put the stage where both directions pass."
            )
            yield Note("windows-left-alone", f"stages.{name}", text)


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
        why = "No connection was opened across it"
        if silent:
            verb = "open" if len(silent) > 1 else "opens"
            why = f"{listed(silent)} {verb} connections without a handshake (tcp.handshake)"
        text = (
            f"{counted(stage['passed_packets'], 'packet')} passed, and no SYN: this stage knew of no session and gave "
            f"no share. {why}."
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
                f"Nothing limits this queue, and a packet waited {time_span(longest)} in it ({plain(mean)} packets "
                f'were waiting on average). Set {way.path}.queue = {{ limit = "100 packets" }}, or as many as meant.',
            )


def _too_large(outline: Outline, record: Mapping[str, Any]) -> Iterator[Note]:
    for way in outline.ways.values():
        if many := (_link(record, way).get("drops") or {}).get("too_large"):
            text = (
                f"{counted(many, 'packet')} {'was' if many == 1 else 'were'} larger than the bucket, and dropped. "
                "A burst must hold the largest packet, headers included, at every step."
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
    """Measured: what it takes where nothing waits, and the mean waiting times on the way and back."""
    waits = [_link(record, way).get("queue_delay_s_mean") or 0.0 for way in (*source.ways, *source.back)]
    return source.round_trip_s + sum(waits)


def _window_bound(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    if source.tcp is None or source.kind != "bulk":
        return
    rates = _rates(record, outline, source)
    group = record["groups"][source.group]
    trip = _round_trip_s(record, source)
    if not rates or trip <= 0 or source.control == "constant" or (group.get("loss_ratio") or 0.0) > LOST_AT_ALL:
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
        f"{share(min(1.0, mean_flying / bound))} of the receive window in flight on average: {size(bound)} in "
        f"{time_span(trip)} of round trip are at most {rate(bound * 8 / trip)}, and {rate(mean * payload)} were "
        f"measured (payload). A larger {outline.place_of_tcp(source)}.max_window lets the network decide.",
    )


def _part(count: int, of: int, noun: str) -> str:
    if count == of:
        return f"The {noun}" if of == 1 else f"All {of:,} {noun}s"
    return f"{count:,} of {of:,} {noun}s"


def _access_bound(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    access = next((way for way in source.ways if way.per and way.rate), None)
    shared = [way for way in source.ways if not way.per and way.rate]
    first = source.index == 0
    if access is None or not shared or not first or source.kind in DATAGRAMS:
        return
    rate_of = access.table["rate"]
    if isinstance(rate_of, Mapping):
        return  # drawn, dealt or stepped: whose copy had which rate is not in the record
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
        f"Group {source.group} got {share(sum(full) / len(full) / capacity)} of the {rate(capacity)} of its own "
        f"{access.name} while the shared {name} was busy {share(used[name])} of the time: the access sets the rate. "
        f"Raise {paths.render(('links', access.name, 'rate'))} if {name} is to be looked at.",
    )


def _users_of_a_copy(way: Way, source: Source) -> int:
    if way.per == "group":
        return source.users
    return 1 if way.per in ("user", "flow") else min(source.users, int(way.per.split()[0]))


def _lockstep(outline: Outline, record: Mapping[str, Any], source: Source) -> Iterator[Note]:
    rates = _rates(record, outline, source)
    group = record["groups"][source.group]
    window = outline.duration - outline.warmup
    if len(rates) < 2 or not group.get("loss_ratio") or source.kind not in ("bulk", "cbr"):
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
        f"Nothing on the way is random for each packet. Give the hosts a random "
        f'{paths.render(("groups", source.group))}.processing = {{ uniform = ["0 s", "{packet_s * 1e3:.2g} ms"] }} '
        f"(a packet's time on {bottleneck.name}) and compare."
    )
    path = paths.render(("groups", source.group))
    if spread < ALIKE:
        text = (
            f"All {len(rates)} flows of group {source.group} got {rate(mean)} to within {spread * 100:.2g} % although "
            f"{bottleneck.name} dropped packets: they lose in step. "
        )
    elif starved and window > ENOUGH_ROUND_TRIPS * _round_trip_s(record, source):
        text = (
            f"{len(starved)} of {len(rates)} like flows of group {source.group} got less than a tenth of their mean "
            f"{rate(mean)}: {bottleneck.name} drops always the same flows' packets. "
        )
    else:
        return
    yield Note("lockstep", path, text + cure)


def _dropping(record: Mapping[str, Any], source: Source) -> Way | None:
    """The link on the way that dropped most, if its rule does so by the length of the queue alone."""
    drops = [sum((_link(record, way).get("drops") or {}).values()) for way in source.ways]
    if not any(drops):
        return None
    worst = source.ways[drops.index(max(drops))]
    return worst if worst.kind == "droptail" else None


def _jostled(outline: Outline, source: Source, bottleneck: Way) -> bool:
    """Whether something random for each packet upsets the order at the bottleneck."""
    if outline.is_random_at(bottleneck):
        return True
    for way in source.ways:
        link = outline.tree["links"][way.name]
        if "jitter" in link or "probability" in (link.get("loss") or {}):
            return True
    return False


def _all_alike(runs: Sequence[Run]) -> Iterator[Note]:
    """All seeds of a point gave the same numbers."""
    if len(runs) < 2:
        return
    from .record import flatten

    first = dict(flatten(runs[0].json))
    if any(dict(flatten(run.json)) != first for run in runs[1:]):
        return
    yield Note(
        "no-randomness",
        "",
        f"All {len(runs)} seeds gave the same numbers: ± 0 is no precision, it is one run {len(runs)} times. Draw "
        'something, such as the start of the flows: start = { uniform = ["0 s", "1 s"] }.',
    )
