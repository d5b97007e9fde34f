"""MPEG-DASH manifests (ISO/IEC 23009-1): what a player needs of one, as plain numbers.

`ladder = "film.mpd"` in the traffic of a player stands for the levels of the film's video, the length of a chunk, its
own length, and the sizes of its chunks where the manifest has them; in a stage for the levels alone. A scenario is
read with the numbers in its place, so that its hash and its runs know no file. `film.mpd#ID` names the adaptation
set, where there is more than one of video.

Not here: live presentations, several periods, representations that depend on others, chunks of different lengths.
Those are refused, each with its reason.
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
from typing import Any

from ..errors import nearest
from . import paths

SUFFIX = ".mpd"
MOST_BYTES = 16 * 2**20
"""No manifest of a film is larger."""
MOST_CHUNKS = 100_000
UNEVEN = 0.01
"""Chunks whose lengths differ by no more than this part are of one length: encoders cut at pictures."""

_NAMESPACE = "urn:mpeg:dash:schema:mpd:2011"
_TRICK_MODE = "http://dashif.org/guidelines/trickmode"
_DURATION = re.compile(
    r"P(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_RANGE = re.compile(r"(\d+)-(\d+)")


class NotUnderstood(Exception):
    """Why a manifest cannot be used."""


@dataclass(frozen=True)
class Film:
    """What a manifest says of a film's video."""

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
            errors.append(((*path, "ladder"), f"{name}: {error}"))
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
            why = f"is needed: {name} addresses whole files and does not say how long a chunk is."
            errors.append(("chunk", why))
    elif "chunk" in table:
        errors.append(("chunk", f"{name} says that a chunk lasts {film.chunk_s:g} s; leave it out."))
    else:
        table["chunk"] = f"{film.chunk_s!r} s"
    table.setdefault("length", f"{film.length_s!r} s")
    if film.sizes_bytes is not None:
        if "sizes" in table:
            errors.append(("sizes", f"{name} says them; leave them out."))
        table["sizes"] = [[f"{size} B" for size in row] for row in film.sizes_bytes]
    return errors


# --- the manifest ---------------------------------------------------------------------------------------------------


def read(file: Path, wanted: str | None = None) -> Film:
    """What a manifest says; `wanted` is the id of an adaptation set.

    Raises:
        NotUnderstood: with the reason.
    """
    mpd = _parsed(_text(file))
    if mpd.tag != f"{{{_NAMESPACE}}}MPD":
        raise NotUnderstood(f"is no MPEG-DASH manifest: its root is {_name(mpd)}, not MPD of {_NAMESPACE}.")
    if mpd.get("type", "static") != "static":
        raise NotUnderstood(f"is live (type {mpd.get('type')}); only a static presentation has an end.")
    periods = _children(mpd, "Period")
    if len(periods) != 1:
        raise NotUnderstood(f"has {len(periods) or 'no'} periods; a film of one is understood.")
    period = periods[0]
    if any(name.endswith("}href") for name in period.attrib):
        raise NotUnderstood("its period is in another file (xlink), which is not fetched.")
    length = _seconds(period.get("duration") or mpd.get("mediaPresentationDuration"), "duration")
    if length is None or not 0 < length < 1e9:
        raise NotUnderstood("does not say how long the film is (mediaPresentationDuration).")
    return _film(period, _video(period, wanted), length)


def _text(file: Path) -> bytes:
    from ..run.files import read_whole

    try:
        return read_whole(file, MOST_BYTES)
    except FileNotFoundError:
        raise NotUnderstood(_missing(file)) from None
    except IsADirectoryError:
        raise NotUnderstood("is a folder.") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise NotUnderstood(f"has more than {MOST_BYTES >> 20} MiB.") from None
        raise NotUnderstood(f"cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise NotUnderstood(f"cannot be read: {error}.") from None


def _missing(file: Path) -> str:
    try:
        beside = [one.name for one in file.parent.iterdir() if one.suffix.lower() == SUFFIX]
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


def _seconds(text: str | None, what: str) -> float | None:
    """An xs:duration. Years and months have no length of their own."""
    if text is None:
        return None
    found = _DURATION.fullmatch(text.strip())
    if found is None or not any(found.groups()) or found[1] or found[2]:
        raise NotUnderstood(f"{what} “{text[:40]}” is no length in days, hours, minutes and seconds.")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups()[2:])
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _whole(text: str | None, what: str, otherwise: int | None = None, least: int = 1) -> int:
    if text is None and otherwise is not None:
        return otherwise
    if text is None:
        raise NotUnderstood(f"{what} is missing.")
    try:
        number = int(text.strip()) if len(text) < 20 else -1
    except ValueError:
        number = least - 1
    if number < least:
        raise NotUnderstood(f"{what} is “{text[:40]}”, not a whole number of at least {least}.")
    return number


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
    levels: list[tuple[int, str, _Segments]] = []
    for one in _children(chosen, "Representation"):
        label = f"representation {one.get('id', len(levels))}"
        if one.get("dependencyId"):
            raise NotUnderstood(f"{label} depends on others (dependencyId); each level must stand by itself.")
        bandwidth = _whole(one.get("bandwidth"), f"{label}: bandwidth")
        levels.append((bandwidth, label, _segments([period, chosen, one], length, label)))
    if not levels:
        raise NotUnderstood("its adaptation set of video has no representation.")
    levels.sort(key=lambda level: level[0])
    for (low, label, _), (high, other, _) in itertools.pairwise(levels):
        if low == high:
            raise NotUnderstood(f"{label} and {other} have the same bandwidth, {low} bit/s; the levels must rise.")
    chunks = [segments.chunk_s for _, _, segments in levels]
    if any(one != chunks[0] for one in chunks):
        told = ", ".join("whole files" if one is None else f"{one:g} s" for one in dict.fromkeys(chunks))
        raise NotUnderstood(f"its levels have chunks of different lengths: {told}.")
    if len({segments.count for _, _, segments in levels}) > 1:
        told = ", ".join(f"{label}: {segments.count}" for _, label, segments in levels)
        raise NotUnderstood(f"its levels have different numbers of chunks ({told}).")
    sizes = [segments.sizes for _, _, segments in levels if segments.sizes is not None]
    return Film(
        tuple(bandwidth for bandwidth, _, _ in levels),
        chunks[0],
        min(segments.length_s for _, _, segments in levels),
        tuple(zip(*sizes, strict=True)) if len(sizes) == len(levels) else None,
    )


@dataclass(frozen=True)
class _Segments:
    """How a representation is cut."""

    chunk_s: float | None
    count: int | None
    length_s: float
    """Of all chunks."""
    sizes: tuple[int, ...] | None = None


_ADDRESSING = ("SegmentTemplate", "SegmentList", "SegmentBase")


def _segments(above: Sequence[ElementTree.Element], length: float, label: str) -> _Segments:
    """How a representation is cut: what is said at its period, its adaptation set and itself, the innermost winning."""
    kind = next((name for one in reversed(above) for name in _ADDRESSING if _children(one, name)), None)
    if kind is None and any(_children(one, "BaseURL") for one in above):
        kind = "SegmentBase"
    if kind is None:
        raise NotUnderstood(
            f"{label} says nothing of its segments; {', '.join(_ADDRESSING[:-1])} and {_ADDRESSING[-1]} are understood."
        )
    if kind == "SegmentBase":
        return _Segments(None, None, length)
    tables = [table for one in above for table in _children(one, kind)]
    said = {name: value for table in tables for name, value in table.attrib.items()}
    if "{http://www.w3.org/1999/xlink}href" in said:
        raise NotUnderstood(f"{label}: its {kind} is in another file (xlink), which is not fetched.")
    scale = _whole(said.get("timescale"), f"{label}: timescale", 1)
    timeline = next((t for table in reversed(tables) for t in _children(table, "SegmentTimeline")), None)
    urls = next((found for table in reversed(tables) if (found := _children(table, "SegmentURL"))), [])
    last = None
    if timeline is not None:
        offset = _whole(said.get("presentationTimeOffset"), f"{label}: presentationTimeOffset", 0, 0)
        chunk, count, last = _from_timeline(timeline, scale, offset, length, label)
    elif "duration" in said:
        chunk = _whole(said["duration"], f"{label}: duration of its segments") / scale
        count = _count(length, chunk)
    elif kind == "SegmentList" and len(urls) == 1:
        chunk, count = length, 1
    else:
        raise NotUnderstood(f"{label}: its {kind} has neither duration nor SegmentTimeline.")
    if "endNumber" in said:
        first = _whole(said.get("startNumber"), f"{label}: startNumber", 1, 0)
        numbers = _whole(said["endNumber"], f"{label}: endNumber", least=0) - first + 1
        if timeline is not None and numbers != count:
            raise NotUnderstood(f"{label} has {count} chunks in its SegmentTimeline, and {numbers} by endNumber.")
        if numbers < count - 1 or numbers < 1:
            raise NotUnderstood(f"{label} has {numbers} chunks by endNumber, but the film of {length:g} s has {count}.")
        count = min(count, numbers)
    if _count(length, chunk) != count:
        # Lengths that are rounded, or of which a mean was taken: the player is to fetch the chunks that there are.
        length = (count - 1) * chunk + min(last or chunk, chunk)
    if count > MOST_CHUNKS:
        raise NotUnderstood(f"{label} has {count} chunks; there are at most {MOST_CHUNKS}.")
    if kind == "SegmentTemplate":
        return _Segments(chunk, count, length)
    if len(urls) < count:
        raise NotUnderstood(f"{label} lists {len(urls)} segments, but the film has {count}.")
    ranges = [_RANGE.fullmatch(url.get("mediaRange", "")) for url in urls[:count]]
    if not all(ranges):
        return _Segments(chunk, count, length)
    sizes = tuple(int(found[2]) - int(found[1]) + 1 for found in ranges if found)
    if min(sizes) < 1:
        raise NotUnderstood(f"{label} has a mediaRange that ends before it begins.")
    return _Segments(chunk, count, length, sizes)


def _count(length: float, chunk: float) -> int:
    """Chunks of a film, as a player counts them."""
    return max(math.ceil(length / chunk - 1e-9), 1)


def _from_timeline(
    timeline: ElementTree.Element, scale: int, offset: int, length: float, label: str
) -> tuple[float, int, float]:
    """Length and number of chunks by a SegmentTimeline, and the length of the last: all of one length, but for that.

    They follow one another from the period's begin to its end, which they miss by less than a chunk.
    """
    lengths: list[tuple[int, int]] = []
    at, entries = offset, _children(timeline, "S")
    if len(entries) < len(timeline) or any(entry.get("k", "1") != "1" for entry in entries):
        raise NotUnderstood(f"{label}: its SegmentTimeline has patterns or sequences of segments (Pattern, S@k).")
    for n, entry in enumerate(entries):
        each = _whole(entry.get("d"), f"{label}: duration of an S")
        begin = _whole(entry.get("t"), f"{label}: t of an S", at if n else 0, 0)
        if abs(begin - at) > UNEVEN * each:
            what = "a gap" if begin > at else "an overlap"
            where = f"{(at - offset) / scale:g} s, where S says {(begin - offset) / scale:g} s"
            raise NotUnderstood(f"{label}: its SegmentTimeline has {what} at {where}.")
        at = begin
        repeats = entry.get("r", "0").strip()
        if repeats == "-1" and n + 1 == len(entries):
            again = max(math.ceil((length * scale - (at - offset)) / each - 1e-9) - 1, 0)
        else:
            again = _whole(repeats, f"{label}: r of an S", 0, 0)
        lengths.append((each, again + 1))
        at += each * (again + 1)
    count = sum(many for _, many in lengths)
    if count == 0:
        raise NotUnderstood(f"{label}: its SegmentTimeline is empty.")
    last, many = lengths[-1]
    inner = [*lengths[:-1], (last, many - 1)] if count > 1 else lengths
    inner = [(each, times) for each, times in inner if times]
    low, high = min(each for each, _ in inner), max(each for each, _ in inner)
    if high - low > UNEVEN * high or last > high * (1 + UNEVEN):
        most = max(high, last)
        raise NotUnderstood(
            f"{label} has chunks of different lengths, {low / scale:g} to {most / scale:g} s; one length is understood."
        )
    end = (at - offset) / scale
    if abs(end - length) > high * (1 + UNEVEN) / scale:
        raise NotUnderstood(f"{label}: its SegmentTimeline ends at {end:g} s, but the film at {length:g} s.")
    total = sum(each * times for each, times in inner)
    return total / sum(times for _, times in inner) / scale, count, last / scale
