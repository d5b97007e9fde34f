"""The view of one run: a page that needs nothing but itself, with everything that was recorded over one time axis."""

from __future__ import annotations

import copy
import html.parser
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evenflow as ef
import numpy as np
import pytest
from conftest import SMALL, Cli
from evenflow.paper import Experiment, Paper
from evenflow.record import Record
from evenflow.reproduce import reproduce
from evenflow.run import recording
from evenflow.show import following, view
from evenflow.show.clicks import Told
from evenflow.store import Store
from evenflow.study import Point, Run, Table

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
SCRIPT = ROOT / "python/evenflow/show/templates/view.js"
HOME = ROOT / "examples/scenarios/home-viewed.toml"
LIMIT = "links.bottleneck.queue.limit"
SERIES = [
    {"of": "links.bottleneck.queue.packets", "every": "10 ms"},
    {"of": "groups.heavy.users[0].flows[*].window", "every": "50 ms"},
    {"of": "groups.heavy.users[0].flows[*].ssthresh", "every": "50 ms"},
    {"of": "groups.light.users[*].flows[*].received_bytes", "every": "100 ms"},
]


class Page(html.parser.HTMLParser):
    """Elements with their attributes, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.scripts[0])
        return found


def line(page: Page, title: str, who: str, words: str = "") -> dict[str, Any]:
    (panel,) = [one for one in page.data["panels"] if one["title"].startswith(title)]
    number = [one["words"] for one in page.data["who"]].index(who)
    (found,) = [one for one in panel["lines"] if one["who"] == number and one["words"] == words]
    return dict(found)


@pytest.fixture(scope="module")
def small() -> Record:
    scenario = ef.Scenario(tomllib.loads(SMALL)).set("record.series", SERIES)
    return scenario.set("record.events", ["drop"]).set("title", "</script><b>Two</b> & more").run(1)


@pytest.fixture(scope="module")
def home() -> Record:
    """Two players and a download for 30 s; the players' packets are followed."""
    scenario = ef.load(HOME).set("duration", "30 s").set("groups.clients.traffic.start", {"values": ["0 s", "5 s"]})
    return scenario.set("record.trace", ["groups.clients"]).set("record.events", ["open"]).run(1)


def test_it_needs_nothing_but_itself(small: Record) -> None:
    page = Page(view.page(small))
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert name not in attributes, (tag, attributes)
        assert tag not in ("link", "iframe", "object", "embed", "img")
    text = view.page(small)
    assert re.findall(r"https?://[^\s\"'<]+", text) == ["https://github.com/leeoniya/uPlot"]  # in a comment
    for word in ("fetch(", "XMLHttpRequest", "import(", "WebSocket", "@import", "url("):
        assert word not in text


def test_it_is_light_and_names_the_licence(small: Record) -> None:
    page = Page(view.page(small))
    assert len(view.page(small)) - len(page.scripts[0]) < 120_000
    assert "Copyright (c) 2022 Leon Sorokin" in page.scripts[1]
    assert "shall be included in" in page.scripts[1]
    assert "uPlot" in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_the_values_are_those_of_the_series(small: Record) -> None:
    page = Page(view.page(small))
    times, values = small.arrays("links.bottleneck.queue.packets")
    queue = line(page, "queue length", "bottleneck")
    assert queue["t"] == {"from": 0.01, "every": 0.01}
    assert len(queue["v"]) == len(times) == 400
    assert queue["v"] == values.tolist()
    _, window = small.arrays("groups.heavy.users[0].flows[2].window")
    drawn = line(page, "congestion window", "heavy", "flow 2")
    assert drawn["v"] == pytest.approx([float(f"{value:.7g}") for value in window], rel=1e-6)
    # a counter is a rate over the interval before; 1 Mbit/s is 12,500 B in 100 ms
    _, received = small.arrays("groups.light.users[1].flows[0].received_bytes")
    goodput = line(page, "goodput (Mbit/s)", "light, user 1")
    assert goodput["draw"] == "pre"
    assert goodput["v"] == pytest.approx((received / 12_500).tolist(), rel=1e-6)


def test_what_has_no_value_yet_is_none(small: Record) -> None:
    threshold = line(Page(view.page(small)), "congestion window", "heavy", "flow 0, threshold")
    _, values = small.arrays("groups.heavy.users[0].flows[0].ssthresh")
    assert np.isnan(values[0])
    assert threshold["v"][0] is None
    assert threshold["dash"] == 1
    assert [value is None for value in threshold["v"]] == np.isnan(values).tolist()


def test_drops_are_marks_at_their_instants(small: Record) -> None:
    times, _ = small.arrays("events.drop.link")
    marks = line(Page(view.page(small)), "packets dropped", "bottleneck")
    assert len(times) > 10
    assert marks["t"] == pytest.approx(times.tolist(), abs=1e-9)


def test_explanations_are_on_the_page(small: Record) -> None:
    time = float(small.arrays("events.drop.link")[0][3])
    page = Page(view.page(small, told=[Told(time, "drop", "bottleneck", "Because <it> was full")]))
    assert page.data["why"] == [
        {"t": round(time, 9), "kind": "drop", "link": "bottleneck", "text": "Because <it> was full"}
    ]
    assert page.data["explain"] == "evenflow explain FILE --seed 1 --at "
    assert "A click on a drop" in page.text


def test_the_same_run_gives_the_same_bytes(small: Record) -> None:
    again = Record(small.text.replace('"wall_s":', '"wall_s":1'), small.record_hash, small.raw_series)
    again.scenario = small.scenario
    assert view.page(small) == view.page(small) == view.page(again)


def test_titles_are_text(small: Record) -> None:
    text = view.page(small)
    assert "<b>Two" not in text
    assert "&lt;b&gt;Two" in text
    page = Page(text)
    assert page.data["title"] == "</script><b>Two</b> & more"
    assert len(page.scripts) == 2


def test_a_run_without_series_says_so() -> None:
    record = ef.Scenario(tomllib.loads(SMALL)).run(1)
    page = Page(view.page(record))
    assert "no recorded series" in page.text
    assert "under [record]" in page.text
    assert page.scripts == []


def test_a_run_without_series_is_run_again_for_its_view(tmp_path: Path) -> None:
    record = ef.Scenario(tomllib.loads(SMALL)).run(1)
    page = Page(record.view(tmp_path / "deep" / "v.html").read_text(encoding="utf-8"))
    assert "a repeated run with the same seed" in page.text.replace("\n", " ")
    titles = [panel["title"].partition(" (")[0] for panel in page.data["panels"]]
    wanted = ["goodput", "delivered rate", "congestion window and slow-start threshold", "queue length"]
    assert [title for title in titles if title in wanted] == wanted
    assert "packets dropped" in titles
    assert len(page.data["why"]) > 5
    assert (
        "has no recorded series" in Page(record.view(tmp_path / "v.html", again=False).read_text(encoding="utf-8")).text
    )


def test_another_run_is_not_taken_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ef.Scenario(tomllib.loads(SMALL)).run(1)
    tree = copy.deepcopy(run.json)
    tree["groups"]["heavy"]["goodput_bps"] += 1
    record = Record(json.dumps(tree), run.record_hash)
    record.scenario = run.scenario
    with pytest.raises(ef.EvenflowError, match="Seed 1 did not give the same run"):
        recording.again_for_a_view(record)


def test_long_series_keep_their_extremes() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=100_000)
    values[77_777], values[12_345], values[500:900] = 1e6, -1e6, np.nan
    kept = view.thin(values, 2_000)
    assert len(kept) <= 2_000
    assert np.all(np.diff(kept) > 0)
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert {77_777, 12_345} <= set(kept.tolist())
    for start in range(0, 100_000, 1_000):  # of each stretch, not of the whole alone
        stretch = values[start : start + 1_000]
        there = values[kept[(kept >= start) & (kept < start + 1_000)]]
        if not np.isnan(stretch).all():
            assert np.nanmax(there) == np.nanmax(stretch)
            assert np.nanmin(there) == np.nanmin(stretch)


def test_the_page_says_what_was_thinned(monkeypatch: pytest.MonkeyPatch, small: Record) -> None:
    monkeypatch.setattr(view, "MOST_SAMPLES", 100)
    monkeypatch.setattr(view, "FEWEST", 100)
    page = Page(view.page(small))
    assert "queue length has more samples than the page can show" in page.text
    queue = line(page, "queue length", "bottleneck")
    _, values = small.arrays("links.bottleneck.queue.packets")
    assert len(queue["v"]) <= 100
    assert max(queue["v"]) == values.max()
    assert isinstance(queue["t"], list)
    assert '<td class="n">400</td>' in view.page(small)  # the table counts all of them


def test_many_lines_become_mean_and_range() -> None:
    crowd = ef.Scenario(tomllib.loads(SMALL)).set("groups.heavy.traffic.flows", 15)
    wanted = [{"of": "groups.heavy.users[0].flows[*].window", "every": "50 ms"}]
    record = crowd.set("record.series", wanted).run(1)
    page = Page(view.page(record))
    rows = np.array([record.arrays(name)[1] for name in record.series_names])
    assert line(page, "congestion window", "heavy", "mean of 15")["v"] == pytest.approx(rows.mean(axis=0), rel=1e-6)
    assert line(page, "congestion window", "heavy", "largest")["v"] == pytest.approx(rows.max(axis=0), rel=1e-6)
    assert line(page, "congestion window", "heavy", "least")["v"] == pytest.approx(rows.min(axis=0), rel=1e-6)


# --- Video ---------------------------------------------------------------------------------------------------------


def test_levels_are_the_records(home: Record) -> None:
    page = Page(view.page(home))
    for user in (0, 1):
        for words, key in view.LEVELS.items():
            changes = home.json["groups"]["clients"]["video"][key][user]
            drawn = line(page, "level", f"clients, user {user}", words)
            assert drawn["draw"] == "post"
            assert drawn["v"] == [level for _, level in changes]
            assert drawn["t"] == pytest.approx([at for at, _ in changes], abs=1e-9)
    (panel,) = [one for one in page.data["panels"] if one["title"] == "level"]
    assert panel["names"]["4"] == "4: 4.26 Mbit/s"


def test_periods_are_requests_and_what_answers_them(home: Record) -> None:
    video = home.json["groups"]["clients"]["video"]
    for one in following.followed(home):
        user = one.user[1]
        starts, ends = np.array(one.fetched).T
        assert len(starts) == video["users_chunks"][user]
        assert starts[0] == video["users_asked_s"][user]
        assert np.all(starts[1:] >= ends[:-1])
        assert np.all(ends > starts)
        # a level changes with a request, and is received with a chunk's last byte: instants of the record itself
        assert {at for at, _ in video["users_levels"][user][1:]} <= set(starts.tolist())
        assert {at for at, _ in video["users_levels_received"][user]} <= set(ends.tolist())


def test_a_buffer_falls_a_second_a_second(home: Record) -> None:
    video = home.json["groups"]["clients"]["video"]
    followed = following.followed(home)
    assert [one.user for one in followed] == [("clients", 0), ("clients", 1)]
    for one in followed:
        held = following.buffer(home, one)
        assert held is not None
        times, seconds = np.array(held.times), np.array(held.seconds)
        slopes = np.diff(seconds)[np.diff(times) > 1e-9] / np.diff(times)[np.diff(times) > 1e-9]
        assert np.all((np.abs(slopes + 1) < 1e-6) | (slopes == 0))
        assert seconds.min() == 0
        assert seconds.max() <= 6 + 1e-9
        assert len(held.stalls) == video["users_stalls"][one.user[1]]
        assert sum(b - a for a, b in held.stalls) == pytest.approx(video["users_stalled_s"][one.user[1]], abs=1e-6)


def test_a_buffer_that_the_record_contradicts_is_not_shown(home: Record) -> None:
    tree = copy.deepcopy(home.json)
    tree["groups"]["clients"]["video"]["users_played_s"][0] += 0.5
    wrong = Record(json.dumps(tree), home.record_hash, home.raw_series)
    wrong.scenario = home.scenario
    first, second = following.followed(wrong)
    assert following.buffer(wrong, first) is None
    assert following.buffer(wrong, second) is not None
    text = Page(view.page(wrong)).text
    assert "The buffer of clients, user 0 is not shown" in text


def test_playing_by_hand() -> None:
    # 2 s chunks at 1, 2 and 7 s: plays from 1 s, is empty at 5 s, stands until 7 s, and has 1 s left at 8 s
    held, spans = following.play([1.0, 2.0, 7.0], 0.0, 2.0, 2.0, 2.0, 8.0)
    assert spans == [(1.0, 5.0), (7.0, 8.0)]
    assert held.stalls == [(5.0, 7.0)]
    assert list(zip(held.times, held.seconds, strict=True)) == [
        (0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (2.0, 1.0), (2.0, 3.0), (5.0, 0.0), (7.0, 0.0), (7.0, 2.0), (8.0, 1.0),
    ]  # fmt: skip
    # the end of the video is no stall, and its last chunk starts it however little it is
    held, spans = following.play([1.0, 2.0], 0.0, 2.0, 4.0, 4.0, 20.0, 2)
    assert spans == [(2.0, 6.0)]
    assert held.stalls == []


def test_windows_told_are_in_bytes(home: Record) -> None:
    # tuned: (share 1.1 x 4256 kbit/s) x 100 ms of propagation or more, in units of 8 B
    _, second = following.followed(home)
    ((times, values),) = second.told
    share = 1.1 * 1632e3
    later = values[times > 6]
    assert len(later)
    assert np.all(later % 8 == 0)
    assert np.all((later > share * 0.1 / 8) & (later < share * 0.13 / 8))


def test_rates_add_up(home: Record) -> None:
    for one in following.followed(home):
        edges, rates = one.rate
        whole = float((rates * np.diff(np.concatenate([[0.0], edges]))).sum() / 8)
        payload = home.json["groups"]["clients"]["users_goodput_bps"][one.user[1]] * 30 / 8
        assert whole == pytest.approx(payload, rel=2e-3)  # what is sent twice arrives twice


def test_a_follower_for_each_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = ef.load(HOME).set("duration", "10 s").set("groups.clients.traffic.start", "0 s").unset("record")
    record = scenario.run(1)
    monkeypatch.setattr(recording, "MOST_ROWS", 10)
    more, missing = recording.again_for_a_view(record)
    assert len(more) == 2
    assert not missing
    assert sorted(one.user for record in more for one in following.followed(record)) == [("clients", 0), ("clients", 1)]
    monkeypatch.setattr(recording, "MOST_TRACES", 1)
    monkeypatch.setattr(recording, "MOST_ROWS", 1.5 * recording.estimated_rows(record)["clients"])
    more, missing = recording.again_for_a_view(record)
    assert len(more) == 1
    assert "1 of the 2 users who watch" in missing[0]


@pytest.mark.parametrize("path", ["", "in_the_way/view.html", "in_the_way/deeper/view.html"])
def test_a_page_that_cannot_be_written_is_a_sentence(work: Path, path: str) -> None:
    (work / "in_the_way").write_text("a file")
    with pytest.raises((ef.StoreError, ef.UsageError), match=r"cannot be written|is a folder"):
        ef.Scenario(tomllib.loads(SMALL)).run(1).view(path, again=False)


# --- Ways in -------------------------------------------------------------------------------------------------------


def test_run_writes_it(cli: Cli, work: Path) -> None:
    (work / "s.toml").write_text(SMALL, encoding="utf-8")
    done = cli("run", "s.toml", "--out", "there")
    assert done.code == 0
    assert "there/view.html" in done.out
    page = Page((work / "there/view.html").read_text(encoding="utf-8"))
    assert page.data["title"] == "Two users at one link"
    assert page.data["panels"]
    # a folder's record has no series of its own here, and does not know its scenario: shown as it is
    opened = ef.open("there")
    assert isinstance(opened, Record)
    assert "has no recorded series" in Page(opened.view("v.html").read_text(encoding="utf-8")).text


@pytest.mark.slow("draws the figures of a run")
def test_run_leaves_it_out(cli: Cli, work: Path) -> None:
    (work / "s.toml").write_text(SMALL, encoding="utf-8")
    done = cli("run", "s.toml", "--out", "there", "--no-view")
    assert done.code == 0
    assert "view.html" not in done.out
    assert {path.name for path in (work / "there").iterdir()} >= {"record.json", "plot.svg", "plot.pdf"}
    assert not (work / "there/view.html").exists()


def test_a_page_is_known_by_its_record(small: Record, tmp_path: Path) -> None:
    path = view.write(small, tmp_path / "v.html")
    assert view.is_of(path, small)
    assert not view.is_of(tmp_path / "none.html", small)
    other = Record(small.text, "0" * 16, small.raw_series)
    assert not view.is_of(path, other)


# --- The script ----------------------------------------------------------------------------------------------------

NODE = shutil.which("node")
PATIENCE_S = 120
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(NODE is None, reason="node is not installed (sudo apt-get install nodejs)")
def test_what_the_script_works_out() -> None:
    done = subprocess.run(
        [str(NODE), str(HERE / "view_check.js"), str(SCRIPT)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "well\n", done.stderr


@pytest.fixture
def browse(tmp_path: Path) -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (sudo apt-get install chromium)")

    probe = (HERE / "view_probe.js").read_text(encoding="utf-8")

    def look(text: str) -> dict[str, Any]:
        page = tmp_path / "probed.html"
        page.write_text(text.replace("</body>", f"<script>{probe}</script></body>"), encoding="utf-8")
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        try:
            done = subprocess.run(
                [str(CHROMIUM), *options, "--virtual-time-budget=4000", "--dump-dom", page.as_uri()],
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            pytest.skip(
                f"Chromium gave no page within {PATIENCE_S} s: the machine is too busy; run this test alone: "
                ".venv/bin/python -m pytest tests/python/test_view.py -k browser"
            )
        if not done.stdout.strip():
            said = done.stderr.strip().splitlines() or ["no word"]
            pytest.skip(
                f"Chromium ended with {done.returncode} and no page: {said[-1]} (a container may forbid it; where "
                "libraries are missing: sudo apt-get install --reinstall chromium)"
            )
        (body,) = [attributes for tag, attributes in Page(done.stdout).elements if tag == "body"]
        assert "data-fault" not in body, body["data-fault"]
        found: dict[str, Any] = json.loads(body["data-seen"] or "")
        return found

    return look


@pytest.mark.slow("starts node or a browser")
def test_in_a_browser(small: Record, browse: Any) -> None:
    times = small.arrays("events.drop.link")[0][[5, -1]]
    seen = browse(view.page(small, told=[Told(time, "drop", "bottleneck", f"At {time}") for time in times.tolist()]))
    assert [seen["closed"], seen["why"], seen["next"], seen["escaped"]] == [None, *(f"At {t}" for t in times), None]
    drawn = [one for panel in view.of_record(small).panels for one in panel.lines]
    assert seen["first"] == seen["whole"] == "0 s to 4 s, the whole run"
    assert seen["charts"] == len(view.of_record(small).panels)
    assert seen["values"] == seen["lines"] == len(drawn)
    assert seen["dragged"] == pytest.approx([1.0, 2.0], abs=0.02)
    assert "queue length (packets): bottleneck" in seen["said"]
    assert seen["nearer"] == pytest.approx(0.5, abs=0.02)
    assert seen["hidden"] == seen["lines"] - 1
    assert seen["back"] == seen["lines"]
    assert seen["still"] == seen["owner"] < seen["lines"]
    assert seen["paper"] == "520px"
    assert seen["sharp"] >= 1040  # at least 190 dots per inch


# --- In a paper's report -------------------------------------------------------------------------------------------


@pytest.mark.slow("reproduces an experiment with its report")
def test_a_report_has_the_view_that_an_experiment_names(tmp_path: Path) -> None:
    points = [Point({"limit": n}, ef.Scenario(tomllib.loads(SMALL)).set(LIMIT, f"{n} packets")) for n in (12, 24)]

    def last(table: Table) -> Run:
        return table.runs[-1]

    def none(table: Table) -> Run:
        raise ValueError("no such run")

    def one(name: str, **more: Any) -> Experiment:
        return Experiment(name, f"About {name}", lambda _: points, lambda _: [1, 2], **more)

    experiments = (one("tiny-one", view=last), one("tiny-two"), one("tiny-three", view=none))
    paper = Paper("tiny", "Tiny", "Nobody, 2026", experiments, ())
    done = reproduce(paper, out=tmp_path / "out", store=Store(tmp_path / "store"), jobs=1)
    path = tmp_path / "out/views/tiny-one.html"
    page = Page(path.read_text(encoding="utf-8"))
    assert "Seed 2" in page.text
    assert page.data["panels"]
    report = Page((tmp_path / "out/report.html").read_text(encoding="utf-8"))
    (frame,) = [attributes for tag, attributes in report.elements if tag == "iframe"]
    assert frame["srcdoc"] == path.read_text(encoding="utf-8")
    assert frame["loading"] == "lazy"
    assert [a["href"] for tag, a in report.elements if tag == "a" and "views" in (a.get("href") or "")] == [
        "views/tiny-one.html"
    ]
    assert "limit 24, seed 2" in report.text
    assert done.broken == ["figure tiny-three: ValueError: no such run"]
    assert [e.get("view") for e in done.to_json()["experiments"]] == ["views/tiny-one.html", None, None]
    # written once: a page of the same record by the same code stays
    path.write_text(path.read_text(encoding="utf-8") + "<!-- kept -->", encoding="utf-8")
    reproduce(paper, out=tmp_path / "out", store=Store(tmp_path / "store"), jobs=1)
    assert path.read_text(encoding="utf-8").endswith("<!-- kept -->")


def test_windows_of_players_are_shown() -> None:
    scenario = ef.load(HOME).set("duration", "6 s").set("groups.clients.traffic.start", "0 s").unset("record")
    more, _ = recording.again_for_a_view(record := scenario.run(1))
    page = Page(view.page(record, more))
    for user in (0, 1):
        window = line(page, "congestion window", f"clients, user {user}")
        known = [value for value in window["v"] if value is not None]
        assert known[0] == 10
        assert max(known) > 20
        assert line(page, "advertised window", f"clients, user {user}")["v"]
