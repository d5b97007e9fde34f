"""MPEG-DASH manifests (ISO/IEC 23009-1): what a player needs of one, as plain numbers.

`ladder = "film.mpd"` in the traffic of a player stands for the levels of the film's video, the length of a chunk, its
own length, and the sizes of its chunks where the manifest has them; in a stage for the levels alone. A scenario is
read with the numbers in its place, so that its hash and its runs know no file. `film.mpd#ID` names the adaptation
set, where there is more than one of video.

Not here: live presentations, several periods, representations that depend on others, chunks of different lengths.
Those are refused, with all the reasons at once.
"""

from __future__ import annotations

import copy
import errno
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import nearest
from ..reading import read_whole
from . import paths

SUFFIX = ".mpd"
MOST_BYTES = 16 * 2**20
"""No manifest of a film is larger."""
MOST_CHUNKS = 100_000
UNEVEN = 0.01
"""Chunks whose lengths differ by no more than this part are of one length: encoders cut at pictures."""

_NAMESPACE = "urn:mpeg:dash:schema:mpd:2011"
_TRICK_MODE = "http://dashif.org/guidelines/trickmode"
_SPACE = " \t\r\n"
"""Of XML."""
# Digits are those of ASCII: Python would take those of other scripts too, XML Schema has no others.
_DURATION = re.compile(
    r"P(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_RANGE = re.compile(r"(\d+)-(\d+)", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_LONGEST_S = 1e9
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(rf"(\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) ?({'|'.join(_UNITS_S)})", re.ASCII)
"""A duration as scenarios have it."""


class NotUnderstood(Exception):
    """Why a manifest cannot be used: all that is wrong with it.

    Attributes:
        reasons: one sentence each.
    """

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__("\n".join(reasons))


@dataclass(frozen=True)
class Film:
    """The video of a film, from its manifest."""

    ladder_bps: tuple[int, ...]
    """The levels, rising."""
    chunk_s: float | None
    """Seconds of a chunk; None where the manifest addresses whole files, so that a player decides."""
    length_s: float
    sizes_bytes: tuple[tuple[int, ...], ...] | None
    """By chunk and level, where the manifest says them."""


def names_manifest(value: Any) -> bool:
    """Whether a ladder is the name of a manifest."""
    return isinstance(value, str) and value.partition("#")[0].lower().endswith(SUFFIX)


def written_out(tree: Mapping[str, Any], source: str | None) -> tuple[Mapping[str, Any], list[tuple[paths.Path, str]]]:
    """A scenario's tree with the numbers of its manifests in their place, and what is wrong with them.

    Names are relative to the scenario's file, or to the working folder where it has none. The tree itself stays.
    """
    found = [path for path, table in _with_ladder(tree) if names_manifest(table["ladder"])]
    if not found:
        return tree, []
    tree = copy.deepcopy(dict(tree))
    errors: list[tuple[paths.Path, str]] = []
    for path in found:
        table = paths.get(tree, path)
        name, _, wanted = table["ladder"].partition("#")
        file = (Path(source).parent if source else Path()) / name
        try:
            film = read(file, wanted or None)
        except NotUnderstood as error:
            errors += [((*path, "ladder"), f"{name}: {reason}") for reason in error.reasons]
            continue
        table["ladder"] = [f"{bps} bit/s" for bps in film.ladder_bps]
        if path[0] == "groups":
            errors += [((*path, key), message) for key, message in _put(table, film, name)]
    return tree, errors


def _with_ladder(tree: Mapping[str, Any]) -> Iterator[tuple[paths.Path, Mapping[str, Any]]]:
    """Tables of stages and of traffic with a ladder, and their paths."""
    stages = tree.get("stages")
    for name, stage in stages.items() if isinstance(stages, Mapping) else ():
        if isinstance(stage, Mapping) and "ladder" in stage:
            yield ("stages", name), stage
    groups = tree.get("groups")
    for name, group in groups.items() if isinstance(groups, Mapping) else ():
        traffic = group.get("traffic") if isinstance(group, Mapping) else None
        at: paths.Path = ("groups", name, "traffic")
        each = [((*at, n), one) for n, one in enumerate(traffic)] if isinstance(traffic, list) else [(at, traffic)]
        for path, table in each:
            if isinstance(table, Mapping) and "ladder" in table:
                yield path, table


def _put(table: dict[str, Any], film: Film, name: str) -> list[tuple[str, str]]:
    """Writes a film into a player's table, beside the ladder; says what contradicts it there."""
    errors = []
    if film.chunk_s is None:
        if "chunk" not in table:
            why = f"is needed: {name} addresses whole files without a chunk length."
            errors.append(("chunk", why))
    elif "chunk" in table:
        errors.append(("chunk", f"{name} sets chunks of {film.chunk_s:g} s; remove chunk."))
    else:
        table["chunk"] = f"{film.chunk_s!r} s"
    own = seconds(table.get("length"))
    if own is not None and own > film.length_s * (1 + 1e-9):
        errors.append(("length", f"{name} has {film.length_s:g} s; `length` can only shorten the film."))
    table.setdefault("length", f"{film.length_s!r} s")
    if film.sizes_bytes is not None:
        if "sizes" in table:
            errors.append(("sizes", f"{name} has the sizes; remove them."))
        table["sizes"] = [[f"{size} B" for size in row] for row in film.sizes_bytes]
    return errors


def seconds(value: Any) -> float | None:
    """A duration of a scenario in s; None where it is none."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else float(found[1]) * _UNITS_S[found[2]]


# --- the manifest ---------------------------------------------------------------------------------------------------


def read(file: Path, wanted: str | None = None) -> Film:
    """Read a manifest; `wanted` is the id of an adaptation set.

    Raises:
        NotUnderstood: with all reasons.
    """
    mpd = _parsed(content(file, MOST_BYTES, SUFFIX))
    if mpd.tag != f"{{{_NAMESPACE}}}MPD":
        raise NotUnderstood(f"is no MPEG-DASH manifest: its root is {_name(mpd)}, not MPD of {_NAMESPACE}.")
    wrong: list[str] = []
    kind = mpd.get("type", "static")
    if kind == "dynamic":
        wrong.append("is live (type dynamic); only a static presentation has an end.")
    elif kind != "static":
        guess = nearest(kind, _TYPES)
        hint = f"did you mean “{guess}”?" if guess else f"there are {' and '.join(_TYPES)}."
        wrong.append(f"has an unknown type “{kind[:40]}”; {hint}")
    periods = _children(mpd, "Period")
    if len(periods) != 1:
        wrong.append(f"has {len(periods) or 'no'} periods; a film of one is understood.")
    length = _length(mpd, periods, wrong)
    if len(periods) != 1:
        raise NotUnderstood(*wrong)
    period = periods[0]
    if any(name.endswith("}href") for name in period.attrib):
        raise NotUnderstood(*wrong, "its period is in another file (xlink), which is not fetched.")
    try:
        film = _film(period, _video(period, wanted), length)
    except NotUnderstood as error:
        raise NotUnderstood(*wrong, *error.reasons) from None
    if wrong:
        raise NotUnderstood(*wrong)
    return film


_TYPES = ("static", "dynamic")


def _length(mpd: ElementTree.Element, periods: Sequence[ElementTree.Element], wrong: list[str]) -> float:
    """Length of the film in s; NaN and an error where it is unknown.

    A period lasts as long as it says, or from its start to the presentation's end (ISO/IEC 23009-1, 5.3.2.1).
    """
    before = len(wrong)

    def told(element: ElementTree.Element, name: str, what: str) -> float | None:
        try:
            return _seconds(element.get(name), what)
        except NotUnderstood as error:
            wrong.extend(error.reasons)
            return None

    whole = told(mpd, "mediaPresentationDuration", "mediaPresentationDuration")
    own = [told(period, "duration", "duration of a period") for period in periods]
    start = [told(period, "start", "start of a period") or 0.0 for period in periods]
    if len(wrong) > before:
        return math.nan
    if whole is None and not any(one is not None for one in own):
        wrong.append("does not say how long the film is (mediaPresentationDuration).")
    for what, length in (("mediaPresentationDuration", whole), *(("duration of a period", one) for one in own)):
        if length is not None and not 0 < length < _LONGEST_S:
            wrong.append(f"says that it lasts {length:g} s ({what}); more than 0 s and less than 10^9 s are needed.")
    if len(periods) != 1 or len(wrong) > before:
        return math.nan
    if own[0] is not None:
        return own[0]
    length = (whole or 0.0) - start[0]
    if length <= 0:
        wrong.append(f"has a period that starts at {start[0]:g} s, but the presentation ends at {whole:g} s.")
        return math.nan
    return length


def content(file: Path, most: int, suffix: str = "") -> bytes:
    """The bytes of a file that a scenario names; where there is none, a near name that ends in `suffix` is suggested.

    Raises:
        NotUnderstood: it cannot be read, or has more than `most` bytes.
    """
    try:
        return read_whole(file, most)
    except FileNotFoundError:
        raise NotUnderstood(_missing(file, suffix)) from None
    except IsADirectoryError:
        raise NotUnderstood("is a folder.") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise NotUnderstood(f"has more than {most >> 20} MiB.") from None
        raise NotUnderstood(f"cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise NotUnderstood(f"cannot be read: {error}.") from None


def _missing(file: Path, suffix: str) -> str:
    try:
        beside = [one.name for one in file.parent.iterdir() if one.name.lower().endswith(suffix)]
    except OSError:
        return f"there is no folder {file.parent}."
    guess = nearest(file.name, beside)
    return f"there is no such file beside the scenario{f'; did you mean {guess}?' if guess else '.'}"


class _NoDocumentType(ElementTree.TreeBuilder):
    """Entities, which can grow without bound or name other files, are declared in a document type."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise NotUnderstood(f"declares a document type ({name}), which no manifest needs; entities are not expanded.")


def _parsed(text: bytes) -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=_NoDocumentType())
    try:
        parser.feed(text)
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        raise NotUnderstood(f"is not XML (line {line}, column {column + 1}).") from None
    except (LookupError, ValueError) as error:
        raise NotUnderstood(f"is not XML: {error}.") from None
    return root


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _children(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return element.findall(f"{{{_NAMESPACE}}}{name}")


Tables: TypeAlias = "dict[str, list[ElementTree.Element]]"


def _tables(element: ElementTree.Element) -> Tables:
    """An element's children by name, read once: an adaptation set may have very many representations."""
    found: Tables = {}
    for child in element:
        if child.tag.startswith(f"{{{_NAMESPACE}}}"):
            found.setdefault(_name(child), []).append(child)
    return found


def _seconds(text: str | None, what: str) -> float | None:
    """An xs:duration. Years and months have no fixed length."""
    if text is None:
        return None
    found = _DURATION.fullmatch(text.strip(_SPACE))
    if found is None or not any(found.groups()) or found[1] or found[2]:
        raise NotUnderstood(f"{what} “{text[:40]}” is no length in days, hours, minutes and seconds.")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups()[2:])
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _whole(text: str | None, what: str, wrong: list[str], otherwise: int | None = None, least: int = 1) -> int:
    """A whole number. Without one it returns the least and adds an error."""
    if text is None and otherwise is not None:
        return otherwise
    found = _WHOLE.fullmatch(text.strip(_SPACE)) if text is not None else None
    if text is None:
        wrong.append(f"{what} is missing.")
    elif found is None or int(found[0]) < least:
        wrong.append(f"{what} is “{text[:40]}”, not a whole number of at least {least}.")
    else:
        return int(found[0])
    return least


def _video(period: ElementTree.Element, wanted: str | None) -> ElementTree.Element:
    """The adaptation set of a period's video."""
    sets = _children(period, "AdaptationSet")
    if wanted is not None:
        chosen = [one for one in sets if one.get("id") == wanted]
        if len(chosen) != 1:
            ids = ", ".join(one.get("id", "(none)") for one in sets) or "none"
            raise NotUnderstood(f"has no adaptation set “{wanted}”; ids: {ids}.")
        return chosen[0]

    def kinds(one: ElementTree.Element) -> set[str]:
        tables = [one, *_children(one, "ContentComponent"), *_children(one, "Representation")]
        found = {(t.get("contentType") or t.get("mimeType") or "").partition("/")[0] for t in tables}
        return found - {""}

    def is_trick(one: ElementTree.Element) -> bool:
        told = _children(one, "EssentialProperty") + _children(one, "SupplementalProperty")
        return any(p.get("schemeIdUri") == _TRICK_MODE for p in told)

    videos = [one for one in sets if "video" in kinds(one) and not is_trick(one)]
    if not videos and len(sets) == 1 and not kinds(sets[0]):
        videos = sets  # nothing says what it is, and there is nothing else
    if len(videos) != 1:
        ids = ", ".join(one.get("id", "(none)") for one in videos)
        which = f"; name one: #ID, with ids {ids}." if videos else "."
        raise NotUnderstood(f"has {len(videos) or 'no'} adaptation sets of video{which}")
    return videos[0]


def _film(period: ElementTree.Element, chosen: ElementTree.Element, length: float) -> Film:
    """The film of the representations. `length` is NaN where the manifest lacks it."""
    levels: list[tuple[int, str, _Segments]] = []
    known: list[tuple[int, str]] = []
    wrong: dict[str, list[str]] = {}
    """Representations by reason: an error of the adaptation set is one of all its representations."""
    above = [_tables(period), _tables(chosen)]
    inherited: dict[Any, _Segments | NotUnderstood] = {}
    for n, one in enumerate(_children(chosen, "Representation")):
        name, reasons = one.get("id", str(n)), []
        if one.get("dependencyId"):
            reasons.append("depends on others (dependencyId); each level must stand by itself.")
        bandwidth = _whole(one.get("bandwidth"), "bandwidth", reasons)
        if not reasons:
            known.append((bandwidth, name))
        try:
            levels.append((bandwidth, name, _segments([*above, _tables(one)], length, inherited)))
        except NotUnderstood as error:
            reasons += error.reasons
        for reason in reasons:
            wrong.setdefault(reason, []).append(name)
    said = [f"{_named(names)}: {reason}" for reason, names in wrong.items()]
    if not levels and not said:
        said.append("its adaptation set of video has no representation.")
    known.sort()
    for (low, label), (high, other) in itertools.pairwise(known):
        if low == high:
            said.append(
                f"representation {label} and representation {other} have the same bandwidth, {low} bit/s; the levels "
                "must rise."
            )
    levels.sort(key=lambda level: level[0])
    chunks = [segments.chunk_s for _, _, segments in levels]
    if any(one != chunks[0] for one in chunks):
        told = ", ".join("whole files" if one is None else f"{one:g} s" for one in dict.fromkeys(chunks))
        said.append(f"its levels have chunks of different lengths: {told}.")
    elif len({segments.count for _, _, segments in levels}) > 1:
        told = ", ".join(f"{name}: {segments.count}" for _, name, segments in levels)
        said.append(f"its levels have different numbers of chunks ({told}).")
    if said:
        raise NotUnderstood(*said)
    sizes = [segments.sizes for _, _, segments in levels if segments.sizes is not None]
    return Film(
        tuple(bandwidth for bandwidth, _, _ in levels),
        chunks[0],
        min(segments.length_s for _, _, segments in levels),
        tuple(zip(*sizes, strict=True)) if len(sizes) == len(levels) else None,
    )


def _named(names: Sequence[str], most: int = 3) -> str:
    """ "representation a", "representations a, b and 5 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"representation{'s' if len(names) > 1 else ''} {', '.join(names[:most])}{more}"


@dataclass(frozen=True)
class _Segments:
    """How a representation is cut."""

    chunk_s: float | None
    count: int | None
    length_s: float
    """Of all chunks."""
    sizes: tuple[int, ...] | None = None


_ADDRESSING = ("SegmentTemplate", "SegmentList", "SegmentBase")


def _segments(above: Sequence[Tables], length: float, known: dict[Any, _Segments | NotUnderstood]) -> _Segments:
    """Segments of a representation, from the tables of its period, its adaptation set and itself; the last one wins.

    Args:
        length: of the film; where it is not a number, checks that depend on it are left out.
        known: results by table, so that a long table shared by many representations is read once.
    """
    kind = next((name for one in reversed(above) for name in _ADDRESSING if name in one), None)
    if kind is None and any("BaseURL" in one for one in above):
        kind = "SegmentBase"
    if kind is None:
        raise NotUnderstood(
            f"says nothing of its segments; {', '.join(_ADDRESSING[:-1])} and {_ADDRESSING[-1]} are understood."
        )
    if kind == "SegmentBase":
        return _Segments(None, None, length)
    tables = [table for one in above for table in one.get(kind, ())]
    said = {name: value for table in tables for name, value in table.attrib.items()}
    if "{http://www.w3.org/1999/xlink}href" in said:
        raise NotUnderstood(f"its {kind} is in another file (xlink), which is not fetched.")
    full = tuple(table for table in tables if len(table))
    key = (kind, tuple(sorted(said.items())), full)
    if key not in known:
        try:
            known[key] = _cut(kind, said, full, length)
        except NotUnderstood as error:
            known[key] = error
    found = known[key]
    if isinstance(found, NotUnderstood):
        raise found
    return found


def _cut(kind: str, said: Mapping[str, str], tables: Sequence[ElementTree.Element], length: float) -> _Segments:
    """Segments by the attributes and the contents of tables of one kind."""
    timeline = next((t for table in reversed(tables) for t in _children(table, "SegmentTimeline")), None)
    urls = next((found for table in reversed(tables) if (found := _children(table, "SegmentURL"))), [])
    wrong: list[str] = []
    scale = _whole(said.get("timescale"), "timescale", wrong, 1)
    offset = _whole(said.get("presentationTimeOffset"), "presentationTimeOffset", wrong, 0, 0)
    first = _whole(said.get("startNumber"), "startNumber", wrong, 1, 0)
    end = _whole(said["endNumber"], "endNumber", wrong, least=0) if "endNumber" in said else None
    duration = _whole(said["duration"], "duration of its segments", wrong) if "duration" in said else None
    entries = _entries(timeline, wrong) if timeline is not None else None
    if duration is None and timeline is None and not (kind == "SegmentList" and len(urls) == 1):
        wrong.append(f"its {kind} has neither duration nor SegmentTimeline.")
    ranges = [_RANGE.fullmatch(url.get("mediaRange", "")) for url in urls]
    if any(found and int(found[2]) < int(found[1]) for found in ranges):
        wrong.append("has a mediaRange that ends before it begins.")
    if wrong:
        raise NotUnderstood(*wrong)
    last = None
    if entries is not None:
        chunk, count, last = _from_timeline(entries, scale, offset, length)
    elif duration is not None:
        chunk = duration / scale
        count = 0 if math.isnan(length) else _count(length, chunk)
    else:
        chunk, count = length, 1
    if math.isnan(length):
        return _Segments(chunk, None, length)
    if end is not None:
        numbers = end - first + 1
        if entries is not None and numbers != count:
            wrong.append(f"has {count} chunks in its SegmentTimeline, and {numbers} by endNumber.")
        elif numbers < count - 1 or numbers < 1:
            wrong.append(f"has {numbers} chunks by endNumber, but the film of {length:g} s has {count}.")
        else:
            count = min(count, numbers)
    if _count(length, chunk) != count:
        # Lengths that are rounded, or of which a mean was taken: the player is to fetch the chunks that there are.
        length = (count - 1) * chunk + min(last or chunk, chunk)
    if count > MOST_CHUNKS:
        wrong.append(f"has {count} chunks; there are at most {MOST_CHUNKS}.")
    if kind == "SegmentList" and len(urls) < count:
        wrong.append(f"lists {len(urls)} segments, but the film has {count}.")
    if wrong:
        raise NotUnderstood(*wrong)
    sizes = [int(found[2]) - int(found[1]) + 1 for found in ranges[:count] if found]
    listed = kind == "SegmentList" and len(sizes) == count
    return _Segments(chunk, count, length, tuple(sizes) if listed else None)


def _count(length: float, chunk: float) -> int:
    """Chunks of a film, as a player counts them."""
    return max(math.ceil(length / chunk - 1e-9), 1)


@dataclass(frozen=True)
class _Entry:
    """An S: its t (None: behind the one before), d and r; a last r of -1 repeats to the end."""

    begin: int | None
    each: int
    repeats: int


def _entries(timeline: ElementTree.Element, wrong: list[str]) -> list[_Entry]:
    """The entries of a SegmentTimeline; says what is wrong with them by themselves, each sentence once."""
    entries, said = _children(timeline, "S"), []
    if len(entries) < len(timeline) or any(entry.get("k", "1") != "1" for entry in entries):
        said.append("its SegmentTimeline has patterns or sequences of segments (Pattern, S@k).")
    elif not entries:
        said.append("its SegmentTimeline is empty.")
    found = []
    for n, entry in enumerate(entries):
        begin = _whole(entry.get("t"), "t of an S", said, least=0) if "t" in entry.attrib else None
        each = _whole(entry.get("d"), "duration of an S", said)
        to_end = entry.get("r", "").strip(_SPACE) == "-1" and n + 1 == len(entries)
        repeats = -1 if to_end else _whole(entry.get("r"), "r of an S", said, 0, 0)
        found.append(_Entry(begin, each, repeats))
    wrong += dict.fromkeys(said)
    return found


def _from_timeline(entries: Sequence[_Entry], scale: int, offset: int, length: float) -> tuple[float, int, float]:
    """Length and number of chunks by a SegmentTimeline, and the length of the last. All others are equal.

    They follow one another from the period's begin to its end, which they miss by less than a chunk.
    """
    wrong: list[str] = []
    lengths: list[tuple[int, int]] = []
    at, to_end = offset, False
    for entry in entries:
        begin = entry.begin if entry.begin is not None else at
        if abs(begin - at) > UNEVEN * entry.each:
            what = "a gap" if begin > at else "an overlap"
            where = f"{(at - offset) / scale:g} s, where S says {(begin - offset) / scale:g} s"
            wrong.append(f"its SegmentTimeline has {what} at {where}.")
        at, again, to_end = begin, entry.repeats, entry.repeats < 0
        if to_end:
            left = 0.0 if math.isnan(length) else length * scale - (at - offset)
            again = max(math.ceil(left / entry.each - 1e-9) - 1, 0)
        lengths.append((entry.each, again + 1))
        at += entry.each * (again + 1)
    count = sum(many for _, many in lengths)
    last, many = lengths[-1]
    inner = [*lengths[:-1], (last, many - 1)] if count > 1 else lengths
    inner = [(each, times) for each, times in inner if times]
    low, high = min(each for each, _ in inner), max(each for each, _ in inner)
    if high - low > UNEVEN * high or last > high * (1 + UNEVEN):
        most = max(high, last)
        wrong.append(
            f"has chunks of different lengths, {low / scale:g} to {most / scale:g} s; one length is understood."
        )
    end = (at - offset) / scale
    if abs(end - length) > high * (1 + UNEVEN) / scale:
        wrong.append(f"its SegmentTimeline ends at {end:g} s, but the film at {length:g} s.")
    if wrong:
        raise NotUnderstood(*wrong)
    total = sum(each * times for each, times in inner)
    return total / sum(times for _, times in inner) / scale, count, last / scale
