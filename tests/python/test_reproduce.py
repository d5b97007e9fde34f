"""Re-examining a paper end to end, on a small paper of our own and on the stand-in core."""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest
from conftest import FAKE, Cli, announce
from evenflow import papers
from evenflow.claims import Check, Claim, Data, Scale
from evenflow.figures import Figures, Picture, curves
from evenflow.paper import Deviation, Experiment, Paper
from evenflow.scenario import Scenario
from evenflow.study import Point, Table
from evenflow.values import Metric, Shown

HEAVY = "groups.heavy.throughput_bps"
DELAY = "links.bottleneck.queue_delay_s_mean"


def points(scale: Scale) -> list[Point]:
    delays = (5, 50) if scale == "quick" else (5, 10, 50)
    base = Scenario(tomllib.loads(FAKE))
    return [Point({"delay_ms": d}, base.set("links.bottleneck.delay", f"{d} ms")) for d in delays]


def seeds(scale: Scale) -> Sequence[int]:
    return range(1, 4) if scale == "quick" else range(1, 11)


def draw(table: Table) -> Picture:
    panel = curves(Metric(HEAVY, "throughput (Mbit/s)", per=1e6)(), x="delay_ms", x_title="delay (ms)")
    return Figures({}, {})(panel)(Shown("tiny", {"tiny-one": table}, "one"))


def broken_drawing(_: Table) -> Picture:
    raise ValueError("no ink")


def claim(name: str, literal: object, experiments: tuple[str, ...] = ("tiny-one",), **more: object) -> Claim:
    return Claim(
        id=f"tiny-{name}",
        source="Fig. 1",
        statement=f"Statement of {name} <with> & signs.",
        expected="about 6 Mbit/s",
        tolerance="± 15 %",
        experiments=experiments,
        literal=literal,  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


def heavy(data: Data, lo: float, hi: float) -> list[Check]:
    table = data["tiny-one"]
    return [Check(f"{d} ms", table.values(HEAVY, delay_ms=d) / 1e6, lo, hi, "Mbit/s") for d in (5, 50)]


TINY = Paper(
    key="tiny",
    title="A tiny paper",
    reference="A. Author, “A tiny paper”, 2018",
    summary="It says little.",
    runs=10,
    experiments=(
        Experiment("tiny-one", "Throughput over delay", points, seeds, draw, "What happens.", metrics=(HEAVY,)),
        Experiment("tiny-two", "Only numbers", points, seeds),
    ),
    claims=(
        claim("holds", lambda d: heavy(d, 5, 7)),
        claim("fails", lambda d: heavy(d, 8, 9), relaxed=lambda d: heavy(d, 4, 9), relaxed_reading="a wider range"),
        claim("open", lambda d: heavy(d, 6, 7), note="We do not know."),
        claim("analytic", lambda _: [Check("", 2.0, 2.0, 2.0)], ()),
        claim("other", lambda d: [Check("", d["tiny-two"].values(DELAY, delay_ms=5), 0.01, 0.03)], ("tiny-two",)),
    ),
    deviations=(Deviation("tiny-d1", "Seeds", "silent", "1 to n", "any", "none found"),),
)


@pytest.fixture
def tiny(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, TINY)


def reproduce(cli: Cli, *more: object) -> dict[str, object]:
    done = cli("reproduce", "tiny", *more, "--json")
    assert done.code == 0, done.err
    assert done.err == ""
    document: dict[str, object] = json.loads(done.out)
    return document


@pytest.mark.usefixtures("tiny")
class TestReproduce:
    def test_document(self, cli: Cli) -> None:
        doc = reproduce(cli)
        verdicts = {row["id"]: (row["verdict"], row["relaxed"]) for row in doc["claims"]}  # type: ignore[attr-defined]
        assert verdicts == {
            "tiny-fails": ("fails", "holds"),
            "tiny-open": ("undecided", None),
            "tiny-holds": ("holds", None),
            "tiny-analytic": ("holds", None),
            "tiny-other": ("holds", None),
        }
        assert list(verdicts)[:2] == ["tiny-fails", "tiny-open"]
        for row in doc["claims"]:  # type: ignore[attr-defined]
            assert {"id", "verdict", "relaxed", "measured", "expected", "tolerance", "source", "why"} <= set(row)
            assert row["why"] or row["verdict"] == "holds"
        one, two = doc["experiments"]  # type: ignore[misc]
        assert (one["id"], one["runs"], one["figure"]) == ("tiny-one", 6, "figures/tiny-one.svg")
        assert two["figure"] is None
        assert one["wall_s"] >= 0

    def test_files(self, cli: Cli) -> None:
        reproduce(cli)
        out = Path("out/tiny")
        assert (out / "figures/tiny-one.svg").read_text().startswith("<?xml")
        lines = (out / "figures/tiny-one.csv").read_text().splitlines()
        assert lines[0] == "delay_ms,metric,n,mean,sd,ci95_lo,ci95_hi"
        assert len(lines) == 1 + 2
        assert json.loads((out / "ledger.json").read_text())["paper"] == "tiny"

    def test_screen_ends_with_the_report(self, cli: Cli) -> None:
        done = cli("reproduce", "tiny")
        assert done.code == 0
        lines = done.out.rstrip().splitlines()
        assert lines[-1] == str(Path("out/tiny/report.html").resolve())
        assert "[1/2] tiny-one: 6 runs" in done.out
        assert "5 claims at scale “quick”: 3 supported, 1 not supported, 1 inconclusive" in done.out
        assert "4 supported, 0 not supported, 1 inconclusive" in done.out
        assert "tiny-fails" in done.out
        assert "tiny-holds" not in done.out, "the end of a long run shows what fails; `claims` shows all"
        shown = cli("claims", "tiny").out
        assert shown.index("tiny-fails") < shown.index("tiny-holds") < shown.index("tiny-open")

    def test_again_costs_nothing_and_says_the_same(self, cli: Cli, fake: ModuleType) -> None:
        first = reproduce(cli)
        ran = len(fake.calls)
        again = reproduce(cli)
        assert len(fake.calls) == ran
        assert first["claims"] == again["claims"]

    def test_paper_scale_decides_by_the_mean(self, cli: Cli) -> None:
        rows = {row["id"]: row for row in reproduce(cli, "--scale", "paper")["claims"]}  # type: ignore[attr-defined]
        assert rows["tiny-open"]["verdict"] in ("holds", "fails")
        assert rows["tiny-open"]["close"]

    def test_seeds_are_added_only_where_a_claim_is_open(self, cli: Cli) -> None:
        doc = reproduce(cli, "--scale", "paper", "--until", "decided")
        assert doc["until"] == "decided"
        one, two = doc["experiments"]  # type: ignore[misc]
        assert (one["runs"], two["runs"]) == (30, 15), "tiny-open needs all 10 seeds, tiny-other only 5"
        rows = {row["id"]: row for row in doc["claims"]}  # type: ignore[attr-defined]
        assert rows["tiny-open"]["checks"][0]["n"] == 10
        assert "early_runs" not in rows["tiny-open"]
        assert rows["tiny-open"]["verdict"] != "undecided", "the mean decides at the paper's count"
        for name, verdict in {"holds": "holds", "fails": "fails", "other": "holds"}.items():
            row = rows[f"tiny-{name}"]
            assert (row["verdict"], row["early_runs"], row["checks"][0]["n"]) == (verdict, 5, 5)
            assert not row["by_mean"]
            assert "Decided early, with 5 of 10 runs and intervals at 95 %." in row["why"]
        assert "early_runs" not in rows["tiny-analytic"]

    def test_until_decided_needs_the_scale_of_the_paper(self, cli: Cli) -> None:
        done = cli("reproduce", "tiny", "--until", "decided")
        assert (done.code, "--until decided: needs --scale paper" in done.err) == (2, True)

    def test_some_experiments_leave_other_claims_out(self, cli: Cli) -> None:
        doc = reproduce(cli, "ONE")
        names = {row["id"] for row in doc["claims"]}  # type: ignore[attr-defined]
        assert "tiny-other" not in names
        assert "tiny-analytic" in names
        assert doc["complete"] is False
        assert "Only some" in Path("out/tiny/report.html").read_text()

    def test_strict_exit_codes(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        import dataclasses

        assert cli("reproduce", "tiny").code == 0
        assert cli("reproduce", "tiny", "--strict").code == 3
        assert cli("claims", "tiny", "--strict").code == 3
        milder = dataclasses.replace(TINY, claims=tuple(c for c in TINY.claims if c.id != "tiny-fails"))
        sys.modules["paper_tiny"].PAPER = milder  # type: ignore[attr-defined]
        assert cli("reproduce", "tiny", "--strict").code == 4
        assert cli("claims", "tiny", "--strict").code == 4
        good = dataclasses.replace(TINY, claims=TINY.claims[:1])
        sys.modules["paper_tiny"].PAPER = good  # type: ignore[attr-defined]
        assert cli("reproduce", "tiny", "--strict").code == 0

    def test_a_broken_figure_costs_no_claims_and_is_a_failure_of_the_tool(self, cli: Cli) -> None:
        import dataclasses

        one = dataclasses.replace(TINY.experiments[0], figure=broken_drawing)
        broken = dataclasses.replace(TINY, experiments=(one, TINY.experiments[1]))
        sys.modules["paper_tiny"].PAPER = broken  # type: ignore[attr-defined]
        done = cli("reproduce", "tiny")
        assert done.code == 1
        assert "figure tiny-one: ValueError: no ink" in done.err
        assert "5 claims at scale" in done.out
        assert "no ink" in Path("out/tiny/report.html").read_text()

    def test_a_figure_that_cannot_be_written_ends_it(self, cli: Cli) -> None:
        Path("out/tiny").mkdir(parents=True)
        Path("out/tiny/figures").write_text("a file")
        done = cli("reproduce", "tiny")
        assert done.code == 1
        assert "figures/tiny-one.svg cannot be written" in done.err
        assert not Path("out/tiny/ledger.json").exists()

    def test_claims_come_from_the_last_run_here(self, cli: Cli) -> None:
        missing = cli("claims", "tiny")
        assert missing.code == 2
        assert "evenflow reproduce tiny --scale quick" in missing.err
        reproduce(cli)
        done = cli("claims", "tiny")
        assert done.code == 0
        assert done.out.index("tiny-fails") < done.out.index("tiny-holds")
        assert json.loads(cli("claims", "tiny", "--json").out)["claims"][0]["id"] == "tiny-fails"

    def test_a_damaged_ledger_is_said(self, cli: Cli) -> None:
        reproduce(cli)
        Path("out/tiny/ledger.json").write_text("{")
        done = cli("claims", "tiny")
        assert (done.code, "not a ledger" in done.err) == (1, True)

    def test_a_ledger_of_another_engine_says_so(
        self, cli: Cli, fake: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reproduce(cli)
        monkeypatch.setattr(fake, "ENGINE_ID", "another")
        assert "Another engine version" in cli("claims", "tiny").out

    def test_paper_names_take_either_dash(self) -> None:
        assert papers.key_of("REECN-lte") == papers.key_of("reecn_lte") == "reecn_lte"

    def test_shortened_runs_leave_claims_undecided(self, cli: Cli) -> None:
        import dataclasses

        short = dataclasses.replace(TINY.experiments[0], shortened=True)
        paper = dataclasses.replace(TINY, experiments=(short, TINY.experiments[1]))
        sys.modules["paper_tiny"].PAPER = paper  # type: ignore[attr-defined]
        rows = {row["id"]: row["verdict"] for row in reproduce(cli)["claims"]}  # type: ignore[attr-defined]
        assert rows["tiny-holds"] == rows["tiny-fails"] == "undecided"
        assert rows["tiny-analytic"] == "holds"


class Page(HTMLParser):
    """What a page refers to, and whether its tags are balanced."""

    VOID = frozenset({"meta", "br", "img", "input", "link", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.refers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.refers.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


@pytest.mark.usefixtures("tiny")
class TestReport:
    pages: ClassVar[list[str]] = []
    """The page, written once for all tests."""

    @pytest.fixture
    def html(self, cli: Cli) -> str:
        if not self.pages:
            reproduce(cli)
            self.pages.append(Path("out/tiny/report.html").read_text())
        return self.pages[0]

    def test_is_one_self_contained_well_formed_page(self, html: str) -> None:
        page = Page()
        page.feed(html)
        assert page.open == []
        assert len(set(page.ids)) == len(page.ids)
        for target in page.refers:
            assert target.startswith(("#", "data:")), target
            if target.startswith("#"):
                assert target[1:] in page.ids, target
        assert not re.search(r"https?://(?!www\.w3\.org)", html)

    def test_figures_come_before_the_rows(self, html: str) -> None:
        assert html.index('id="figures"') < html.index('id="ledger"')
        assert html.index('href="#figures"') < html.index('href="#ledger"')

    def test_headings_of_tables_say_what_they_head(self, html: str) -> None:
        assert re.search(r"<th(?![^>]*scope=)[\s>]", html) is None

    def test_alternative_texts_say_the_result_and_are_not_the_caption(self, html: str) -> None:
        alt = re.search(r'<img [^>]*alt="([^"]+)"', html)
        assert alt is not None
        assert "What happens." not in alt[1]
        assert re.search(r"\d+ claims?: .*supported", alt[1])
        assert "tiny-fails not supported: " in alt[1]

    def test_only_the_filter_in_focus_has_a_ring(self, html: str) -> None:
        for name in ("all", "fails", "undecided", "holds", "differs"):
            assert f"#{name}:focus-visible ~ .filters [for={name}]" in html

    def test_the_filter_counts_the_claims_that_two_criteria_judge_differently(self, html: str) -> None:
        assert '<label for="differs">strict and lenient differ 1</label>' in html

    def test_text_is_escaped(self, html: str) -> None:
        assert "Statement of holds &lt;with&gt; &amp; signs." in html

    def test_has_everything(self, html: str) -> None:
        for word in (
            "A tiny paper",
            "It says little.",
            "tiny-d1",
            "fa4efa4efa4efa4e",
            "release build",
            "What happens.",
            "We do not know.",
        ):
            assert word in html
        assert "seeds" in html.lower()
        figure = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
        assert figure is not None
        assert b"<svg" in base64.b64decode(figure[1])
        data = re.search(r'href="data:text/csv;charset=utf-8;base64,([^"]+)"', html)
        assert data is not None
        assert base64.b64decode(data[1]).startswith(b"delay_ms,metric")

    def test_worst_comes_first(self, html: str) -> None:
        order = list(re.findall(r'<tbody class="(\w+)', html))
        assert order == sorted(order, key=["fails", "holds", "undecided"].index)
