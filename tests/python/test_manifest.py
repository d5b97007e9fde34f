"""Manifests of videos: what is understood, in numbers worked by hand, and what is refused, each with its reason."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path

import evenflow as ef
import pytest
from evenflow.errors import ScenarioError
from evenflow.scenario.manifest import Film, NotUnderstood, read

HEAD = '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" '
SCENARIO = """
duration = "20 s"
[links.path]
rate = "8 Mbit/s"
delay = "20 ms"
[groups.v]
users = 1
path = ["path"]
traffic = { kind = "has", ladder = "film.mpd", adaptation = "bola" }
tcp = {}
"""


def mpd(sets: str, more: str = 'mediaPresentationDuration="PT1M1S"', period: str = "") -> str:
    return f"{HEAD}{more}>\n<Period{period}>{sets}</Period>\n</MPD>\n"


def video(inside: str, *representations: str) -> str:
    levels = representations or (
        '<Representation id="a" bandwidth="900000"/>',
        '<Representation id="b" bandwidth="400000"/>',
    )
    return f'<AdaptationSet contentType="video">{inside}{"".join(levels)}</AdaptationSet>'


AUDIO = '<AdaptationSet mimeType="audio/mp4"><Representation id="s" bandwidth="64000"/></AdaptationSet>'
UNEVEN = '<SegmentTimeline><S d="4"/><S d="9"/><S d="4"/></SegmentTimeline>'
TEMPLATE = '<SegmentTemplate timescale="1000" duration="4000" media="$Number$.m4s"/>'


def timed(entries: str, more: str = "") -> str:
    """A film of 61 s with such a SegmentTimeline, in seconds."""
    return mpd(video(f"<SegmentTemplate {more}><SegmentTimeline>{entries}</SegmentTimeline></SegmentTemplate>"))


def film(tmp_path: Path, text: str, wanted: str | None = None) -> object:
    file = tmp_path / "film.mpd"
    file.write_text(text, encoding="utf-8")
    return read(file, wanted)


def refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(NotUnderstood, match=why):
        film(tmp_path, text)


def test_a_template_with_a_duration(tmp_path: Path) -> None:
    found = read_film(tmp_path, mpd(AUDIO + video(TEMPLATE)))
    assert found == ((400_000, 900_000), 4.0, 61.0, None)


def read_film(tmp_path: Path, text: str, wanted: str | None = None) -> tuple[object, ...]:
    found = film(tmp_path, text, wanted)
    assert isinstance(found, Film)
    return (found.ladder_bps, found.chunk_s, found.length_s, found.sizes_bytes)


def test_time_is_linear_in_representations(tmp_path: Path) -> None:
    many = [f'<Representation bandwidth="{1000 + n}"><SegmentTemplate/></Representation>' for n in range(20_000)]
    entries = '<S d="2"/>' * 3_000
    inside = f"<SegmentTemplate><SegmentTimeline>{entries}</SegmentTimeline></SegmentTemplate>"
    began = time.process_time()
    found = read_film(tmp_path, mpd(video(inside, *many), 'mediaPresentationDuration="PT6000S"'))
    assert time.process_time() - began < 10  # reading either list for each representation takes minutes
    assert found[1:3] == (2, 6000)


def test_a_template_with_a_timeline(tmp_path: Path) -> None:
    # Fifteen chunks of 4 s and one of 1 s; and the same where the last entry repeats to the end.
    for entries in (
        '<S t="0" d="360000" r="14"/><S d="90000"/>',
        '<S t="0" d="360000" r="-1"/>',
        '<S d="360000"/><S d="360000" r="13"/><S d="89999"/>',
    ):
        timeline = f'<SegmentTemplate timescale="90000"><SegmentTimeline>{entries}</SegmentTimeline></SegmentTemplate>'
        assert read_film(tmp_path, mpd(video(timeline)))[:3] == ((400_000, 900_000), 4.0, 61.0)
    # Pictures at 23.976 Hz: chunks of 2.002 s, some a picture shorter, are of one length.
    uneven = '<S t="0" d="2002" r="9"/><S d="1990"/><S d="2002" r="18"/><S d="500"/>'
    timeline = f'<SegmentTemplate timescale="1000"><SegmentTimeline>{uneven}</SegmentTimeline></SegmentTemplate>'
    assert read_film(tmp_path, mpd(video(timeline)))[1] == pytest.approx((29 * 2002 + 1990) / 30_000)


def test_a_film_has_the_chunks_that_the_manifest_lists(tmp_path: Path) -> None:
    assert read_film(tmp_path, timed('<S t="8" d="2" r="29"/><S d="1"/>', 'presentationTimeOffset="8"'))[1:3] == (2, 61)
    # Thirty chunks of a film of 61 s, of which no last second is there; counted by time, and by number.
    assert read_film(tmp_path, timed('<S d="2" r="29"/>'))[1:3] == (2, 60)
    for first, last in ((1, 30), (0, 29), (5, 34)):
        numbered = f'<SegmentTemplate duration="2" startNumber="{first}" endNumber="{last}"/>'
        assert read_film(tmp_path, mpd(video(numbered)))[1:3] == (2, 60)
    assert read_film(tmp_path, mpd(video('<SegmentTemplate duration="2" endNumber="31"/>')))[1:3] == (2, 61)


def test_what_is_said_further_in_wins(tmp_path: Path) -> None:
    inner = '<SegmentTemplate duration="2"/>'
    levels = [f'<Representation id="{n}" bandwidth="{n}00000">{inner}</Representation>' for n in (1, 3)]
    outer = '<SegmentTemplate timescale="1" duration="9" startNumber="1"/>'
    assert read_film(tmp_path, mpd(video(outer, *levels)))[1] == 2.0
    assert read_film(tmp_path, mpd(outer + video("", *levels)))[1] == 2.0


def test_a_list_of_segments_has_sizes(tmp_path: Path) -> None:
    def level(name: str, bandwidth: int, ranges: str) -> str:
        urls = "".join(f'<SegmentURL mediaRange="{one}"/>' for one in ranges.split())
        listed = f'<SegmentList duration="25">{urls}</SegmentList>'
        return f'<Representation id="{name}" bandwidth="{bandwidth}">{listed}</Representation>'

    low, high = level("low", 100, "0-99 100-349 350-350"), level("high", 200, "0-999 1000-2999 3000-3009")
    found = read_film(tmp_path, mpd(video("", high, low)))
    assert found == ((100, 200), 25.0, 61.0, ((100, 1000), (250, 2000), (1, 10)))
    # Without ranges, or with those of one level alone, sizes are not known.
    plain = level("high", 200, "0-999 1000-2999 3000-3009").replace("mediaRange", "media")
    assert read_film(tmp_path, mpd(video("", plain, low)))[3] is None
    refused(tmp_path, mpd(video("", high, level("low", 100, "0-9 10-19"))), "low: lists 2 segments, but the film has 3")
    refused(tmp_path, mpd(video("", level("low", 100, "0-9 20-10 30-39"))), "ends before it begins")


def test_whole_files_leave_the_chunk_to_the_player(tmp_path: Path) -> None:
    base = '<SegmentBase indexRange="0-99"/>'
    levels = [f'<Representation id="{n}" bandwidth="{n}00000">{base}</Representation>' for n in (1, 3)]
    assert read_film(tmp_path, mpd(video("", *levels))) == ((100_000, 300_000), None, 61.0, None)
    levels = [
        f'<Representation id="{n}" bandwidth="{n}00000"><BaseURL>{n}.mp4</BaseURL></Representation>' for n in (1, 3)
    ]
    assert read_film(tmp_path, mpd(video("", *levels)))[1] is None


def test_sets_are_told_apart(tmp_path: Path) -> None:
    trick = '<EssentialProperty schemeIdUri="http://dashif.org/guidelines/trickmode" value="1"/>'
    both = video(TEMPLATE) + video(TEMPLATE + trick)
    assert read_film(tmp_path, mpd(AUDIO + both))[0] == (400_000, 900_000)
    other = video(TEMPLATE, '<Representation bandwidth="5000"/>').replace("<AdaptationSet", '<AdaptationSet id="7"', 1)
    two = mpd(video(TEMPLATE) + other)
    refused(tmp_path, two, r"has 2 adaptation sets of video; name one: #ID, with ids \(none\), 7")
    assert read_film(tmp_path, two, "7")[0] == (5000,)
    with pytest.raises(NotUnderstood, match="no adaptation set “8”"):
        film(tmp_path, two, "8")
    unnamed = f'<AdaptationSet>{TEMPLATE}<Representation bandwidth="5000"/></AdaptationSet>'
    assert read_film(tmp_path, mpd(unnamed))[0] == (5000,)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT0H10M54.6S", 654.6), ("PT2H", 7200.0), ("P1DT1M", 86_460.0), ("PT90S", 90.0)],
)
def test_lengths(tmp_path: Path, text: str, seconds: float) -> None:
    by_mpd = mpd(video(TEMPLATE), f'mediaPresentationDuration="{text}"')
    by_period = mpd(video(TEMPLATE), "", f' duration="{text}"')
    assert read_film(tmp_path, by_mpd)[2] == read_film(tmp_path, by_period)[2] == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (mpd(video(TEMPLATE), 'type="dynamic"'), "is live"),
        (mpd(video(TEMPLATE), 'type="vod" mediaPresentationDuration="PT9S"'),
         "^has an unknown type “vod”; there are static and dynamic.$"),
        (mpd(video(TEMPLATE), 'type="Static" mediaPresentationDuration="PT9S"'), "did you mean “static”"),
        (mpd(video(TEMPLATE), 'mediaPresentationDuration="PT0S"'),
         r"^says that it lasts 0 s \(mediaPresentationDuration\); more than 0 s"),
        (mpd(video(TEMPLATE), "", ' duration="PT0S"'), r"^says that it lasts 0 s \(duration of a period\)"),
        (mpd(video(TEMPLATE), period=' start="PT61S"'), "starts at 61 s, but the presentation ends at 61 s"),
        (mpd(video(TEMPLATE), period=' start="later"'), "start of a period “later” is no length"),
        (mpd(video(TEMPLATE), 'mediaPresentationDuration="PT٦٠S"'), "no length in days"),
        (mpd(video('<SegmentTemplate duration="٤"/>')), "duration of its segments is “٤”, not a whole number"),
        (mpd(video('<SegmentTemplate duration="4_0"/>')), "is “4_0”, not a whole number"),
        (mpd(video(TEMPLATE)).replace("</MPD>", "<Period/></MPD>"), "has 2 periods"),
        (f"{HEAD}/>", "has no periods"),
        (mpd(video(TEMPLATE), ""), "how long the film is"),
        (mpd(video(TEMPLATE), 'mediaPresentationDuration="P1M"'), "no length in days"),
        (mpd(video(TEMPLATE), 'mediaPresentationDuration="P"'), "no length in days"),
        (mpd(video("")), "says nothing of its segments"),
        (mpd(video("<SegmentTemplate/>")), "neither duration nor SegmentTimeline"),
        (mpd(video('<SegmentTemplate duration="0"/>')), "not a whole number of at least 1"),
        (mpd(video('<SegmentTemplate duration="1" timescale="9000000"/>')), "at most 100000"),
        (mpd(video("<SegmentTemplate><SegmentTimeline/></SegmentTemplate>")), "is empty"),
        (timed('<S t="0" d="2" r="4"/>'), "ends at 10 s, but the film at 61 s"),
        (timed('<S t="0" d="2" r="39"/>'), "ends at 80 s, but the film at 61 s"),
        (timed('<S t="0" d="2" r="9"/><S t="24" d="2" r="17"/>'), "a gap at 20 s, where S says 24 s"),
        (timed('<S t="0" d="2" r="9"/><S t="18" d="2" r="21"/>'), "an overlap at 20 s, where S says 18 s"),
        (timed('<S t="6" d="2" r="30"/>'), "a gap at 0 s, where S says 6 s"),
        (timed('<S t="6" d="2" r="30"/>', 'presentationTimeOffset="8"'), "an overlap at 0 s, where S says -2 s"),
        (timed('<S d="2" k="2" r="30"/>'), "patterns or sequences"),
        (timed('<S d="2" r="30"/>', 'endNumber="3"'), "31 chunks in its SegmentTimeline, and 3 by endNumber"),
        (mpd(video('<SegmentTemplate duration="2" endNumber="3"/>')),
         "3 chunks by endNumber, but the film of 61 s has 31"),
        (mpd(video('<SegmentTemplate duration="2" startNumber="9" endNumber="3"/>')), "-5 chunks by endNumber"),
        (mpd(video("", "<Representation id='a' bandwidth='5'><SegmentTemplate duration='2' endNumber='30'/>"
                   "</Representation>", "<Representation id='b' bandwidth='6'><SegmentTemplate duration='2'/>"
                   "</Representation>")),
         "different numbers of chunks"),
        (mpd(video(f"<SegmentTemplate>{UNEVEN}</SegmentTemplate>")), "different lengths, 4 to 9 s"),
        (mpd(AUDIO), "has no adaptation sets of video"),
        (mpd(video(TEMPLATE, "<Representation id='a'/>")), "a: bandwidth is missing"),
        (mpd(video(TEMPLATE, "<Representation id='a' bandwidth='-5'/>")), "bandwidth is “-5”"),
        (mpd(video(TEMPLATE, "<Representation id='a' bandwidth='5' dependencyId='b'/>")), "depends on others"),
        (mpd(video(TEMPLATE, "<Representation id='a' bandwidth='5'/>", "<Representation id='b' bandwidth='5'/>")),
         "a and representation b have the same bandwidth"),
        (mpd(video("", f"<Representation id='a' bandwidth='5'>{TEMPLATE}</Representation>",
                   "<Representation id='b' bandwidth='6'><SegmentBase/></Representation>")),
         "chunks of different lengths: 4 s, whole files"),
        ("<MPD/>", "is no MPEG-DASH manifest: its root is MPD"),
        ("<html>", "is not XML"),
        ("", "is not XML"),
        ('<!DOCTYPE MPD [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + mpd(video(TEMPLATE)).partition("\n")[2],
         "declares a document type"),
        ('<!DOCTYPE MPD SYSTEM "file:///etc/hostname">' + mpd(video(TEMPLATE)).partition("\n")[2], "document type"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, text: str, why: str) -> None:
    refused(tmp_path, text, why)


def reasons(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(NotUnderstood) as caught:
        film(tmp_path, text)
    return list(caught.value.reasons)


def test_all_that_is_wrong_with_a_manifest_is_said(tmp_path: Path) -> None:
    text = mpd(video(TEMPLATE), 'type="dynamic"').replace("</MPD>", "<Period/></MPD>")
    assert [one.partition(" (")[0] for one in reasons(tmp_path, text)] == [
        "is live",
        "has 2 periods; a film of one is understood.",
        "does not say how long the film is",
    ]
    # What is inside is looked at too, but for what hangs on the length; what levels have in common is said once.
    levels = (
        '<Representation id="a" bandwidth="x"/>',
        '<Representation id="b" bandwidth="7" dependencyId="a"/>',
        '<Representation id="c" bandwidth="5"><SegmentTemplate endNumber="one"/></Representation>',
        '<Representation id="d" bandwidth="5"/>',
        '<Representation id="e" bandwidth="6"/>',
    )
    text = mpd(
        video('<SegmentTemplate timescale="0" duration="-4"/>', *levels), 'type="vod"', ' start="P" duration="1"'
    )
    everyone = "representations a, b, c and 2 more"
    assert reasons(tmp_path, text) == [
        "has an unknown type “vod”; there are static and dynamic.",
        "duration of a period “1” is no length in days, hours, minutes and seconds.",
        "start of a period “P” is no length in days, hours, minutes and seconds.",
        "representation a: bandwidth is “x”, not a whole number of at least 1.",
        f"{everyone}: timescale is “0”, not a whole number of at least 1.",
        f"{everyone}: duration of its segments is “-4”, not a whole number of at least 1.",
        "representation b: depends on others (dependencyId); each level must stand by itself.",
        "representation c: endNumber is “one”, not a whole number of at least 0.",
        "representation c and representation d have the same bandwidth, 5 bit/s; the levels must rise.",
    ]
    text = timed('<S d="2" r="9"/><S t="24" d="2" r="4"/><S t="30" d="3" r="1"/>', 'endNumber="3"')
    assert [one.partition(": ")[2] for one in reasons(tmp_path, text)] == [
        "its SegmentTimeline has a gap at 20 s, where S says 24 s.",
        "its SegmentTimeline has an overlap at 34 s, where S says 30 s.",
        "has chunks of different lengths, 2 to 3 s; one length is understood.",
        "its SegmentTimeline ends at 36 s, but the film at 61 s.",
    ]
    text = mpd(
        video("<SegmentTemplate><SegmentTimeline><S d='2' r='x'/><S d='0'/></SegmentTimeline></SegmentTemplate>"), ""
    )
    assert [one.partition(": ")[2] or one for one in reasons(tmp_path, text)] == [
        "does not say how long the film is (mediaPresentationDuration).",
        "r of an S is “x”, not a whole number of at least 0.",
        "duration of an S is “0”, not a whole number of at least 1.",
    ]
    # In a scenario each is a line of its own.
    (tmp_path / "home.toml").write_text(SCENARIO, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        ef.load(tmp_path / "home.toml").check()
    assert [path for path, _ in caught.value.errors] == ["groups.v.traffic.ladder"] * 3


def test_a_period_begins_where_it_says(tmp_path: Path) -> None:
    """ISO/IEC 23009-1, 5.3.2.1: the last one lasts from its start to the presentation's end."""
    minute = 'mediaPresentationDuration="PT60S"'
    assert read_film(tmp_path, mpd(video(TEMPLATE), minute, ' start="PT10S"'))[2] == 50.0
    assert read_film(tmp_path, mpd(video(TEMPLATE), minute, ' start="PT0S"'))[2] == 60.0
    assert read_film(tmp_path, mpd(video(TEMPLATE), minute, ' start="PT10S" duration="PT40S"'))[2] == 40.0
    timeline = '<SegmentTemplate><SegmentTimeline><S d="5" r="9"/></SegmentTimeline></SegmentTemplate>'
    assert read_film(tmp_path, mpd(video(timeline), minute, ' start="PT10S"'))[1:3] == (5.0, 50.0)


def test_a_length_of_ones_own_cuts_the_film_only(tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    (tmp_path / "film.mpd").write_text(mpd(video(TEMPLATE)), encoding="utf-8")
    for length in ("2000 s", "1.1min", "62e3 ms", "+1 h"):
        file.write_text(SCENARIO.replace('"bola"', f'"bola", length = "{length}"'), encoding="utf-8")
        with pytest.raises(ScenarioError) as caught:
            ef.load(file).check()
        assert caught.value.errors == [
            ("groups.v.traffic.length", "film.mpd has 61 s; `length` can only shorten the film.")
        ]
    for length in ("61 s", "61000000us", "8 s", "1 min"):
        file.write_text(SCENARIO.replace('"bola"', f'"bola", length = "{length}"'), encoding="utf-8")
        ef.load(file).check()


def test_a_scenario_knows_no_file(tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "film.mpd").write_text(mpd(AUDIO + video(TEMPLATE)), encoding="utf-8")
    by_manifest = ef.load(file)
    by_hand = by_manifest.with_settings(
        {
            "groups.v.traffic.ladder": ["400 kbit/s", "0.9 Mbit/s"],
            "groups.v.traffic.chunk": "4 s",
            "groups.v.traffic.length": "61 s",
        }
    )
    assert by_manifest.hash == by_hand.hash
    assert by_manifest.get("groups.v.traffic.ladder") == "film.mpd"
    assert json.loads(by_manifest.to_json())["groups"]["v"]["traffic"]["ladder"] == ["400000 bit/s", "900000 bit/s"]
    record = by_manifest.run(1)
    assert record.record_hash == by_hand.run(1).record_hash
    assert ef.qoe.adaptive(record, "v", optimal=1).chunks == record.json["groups"]["v"]["video"]["chunks_received"]
    # Elsewhere, where the file is not, it is the same scenario.
    carried = pickle.loads(pickle.dumps(by_manifest))
    (tmp_path / "film.mpd").unlink()
    assert carried.hash == by_hand.hash
    # Some of a film: its own length counts.
    (tmp_path / "film.mpd").write_text(mpd(video(TEMPLATE)), encoding="utf-8")
    short = ef.load(file).set("groups.v.traffic.length", "8 s").run(1)
    assert short.json["groups"]["v"]["video"]["chunks"] == 2


def test_sizes_of_a_manifest_are_fetched(tmp_path: Path) -> None:
    urls = "".join(f'<SegmentURL mediaRange="{at}-{at + 99_999}"/>' for at in (0, 100_000, 200_000))
    level = (
        f'<Representation id="a" bandwidth="400000"><SegmentList duration="21">{urls}</SegmentList></Representation>'
    )
    (tmp_path / "film.mpd").write_text(mpd(video("", level)), encoding="utf-8")
    file = tmp_path / "home.toml"
    file.write_text(SCENARIO.replace('adaptation = "bola"', 'buffer = "90 s"'), encoding="utf-8")
    transfers = ef.load(file).run(1).json["groups"]["v"]["transfers"]
    assert (transfers["completed"], transfers["bytes"]) == (3, 3 * 100_300)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    bad = SCENARIO.replace('"bola"', '"bolla"').replace("users = 1", "users = 0")

    def errors(text: str) -> dict[str, str]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ScenarioError) as caught:
            ef.load(file).check()
        return dict(caught.value.errors)

    found = errors(bad)
    assert set(found) == {"groups.v.users", "groups.v.traffic.adaptation", "groups.v.traffic.ladder"}
    assert found["groups.v.traffic.ladder"] == "film.mpd: there is no such file beside the scenario."
    (tmp_path / "films.mpd").write_text(mpd(video(TEMPLATE)), encoding="utf-8")
    assert errors(bad)["groups.v.traffic.ladder"].endswith("did you mean films.mpd?")
    (tmp_path / "film.mpd").write_text(mpd(video(TEMPLATE)), encoding="utf-8")
    found = errors(SCENARIO.replace('ladder = "film.mpd"', 'ladder = "film.mpd", chunk = "2 s"'))
    assert found == {"groups.v.traffic.chunk": "film.mpd sets chunks of 4 s; remove chunk."}
    (tmp_path / "film.mpd").write_text(mpd(video("<SegmentBase/>")), encoding="utf-8")
    found = errors(SCENARIO)
    assert set(found) == {"groups.v.traffic.chunk"}
    file.write_text(SCENARIO.replace('ladder = "film.mpd"', 'ladder = "film.mpd", chunk = "2 s"'), encoding="utf-8")
    ef.load(file).check()


def test_a_gateway_reads_the_levels(tmp_path: Path) -> None:
    stage = (
        '[stages.tuner]\nkind = "window-tuner"\nrate = "8 Mbit/s"\npolicy = "levels"\nladder = "film.mpd"\n[groups.v]'
    )
    file = tmp_path / "home.toml"
    text = SCENARIO.replace("[groups.v]", stage).replace('path = ["path"]', 'path = ["tuner", "path"]')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        ef.load(file).check()
    assert {path for path, _ in caught.value.errors} == {"stages.tuner.ladder", "groups.v.traffic.ladder"}
    (tmp_path / "film.mpd").write_text(mpd(AUDIO + video(TEMPLATE)), encoding="utf-8")
    tree = json.loads(ef.load(file).to_json())
    assert tree["stages"]["tuner"]["ladder"] == tree["groups"]["v"]["traffic"]["ladder"]
    assert "chunk" not in tree["stages"]["tuner"]
    by_hand = ef.load(file).with_settings({"stages.tuner.ladder": ["400 kbit/s", "900 kbit/s"]})
    assert ef.load(file).hash == by_hand.hash
    # 1.1 times 900 kbit/s
    assert by_hand.run(1).json["stages"]["tuner"]["assigned"] == pytest.approx(990e3)


def test_manifests_are_swept_over(tmp_path: Path) -> None:
    for name, bandwidth in (("film.mpd", 300_000), ("other.mpd", 700_000)):
        level = f'<Representation bandwidth="{bandwidth}"/>'
        (tmp_path / name).write_text(mpd(video(TEMPLATE, level)), encoding="utf-8")
    file = tmp_path / "home.toml"
    swept = '[sweep]\n"groups.v.traffic.ladder" = ["film.mpd", "other.mpd", "third.mpd"]\n'
    file.write_text(SCENARIO + swept, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        ef.load(file).check()
    ((_, message),) = caught.value.errors
    assert "third.mpd: there is no such file" in message
    file.write_text(SCENARIO + swept.replace(', "third.mpd"', ""), encoding="utf-8")
    ef.load(file).check()
