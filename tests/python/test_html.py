"""What a notebook shows of a scenario, a record, a table and an interval: whole, and escaped."""

from __future__ import annotations

import html.parser
import math
import tomllib
from typing import Any

import evenflow as ef
import pytest
from conftest import SMALL
from evenflow import stats

SWEEP = {"replications": 2, "links.bottleneck.delay": ["5 ms", "20 ms"]}


class Balanced(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def scenario() -> ef.Scenario:
    return ef.Scenario(tomllib.loads(SMALL)).set("title", "<b>Two</b> & more")


def shown(thing: Any) -> str:
    text: str = thing._repr_html_()
    page = Balanced()
    page.feed(text)
    assert page.open == []
    assert "<b>" not in text
    return text


def test_scenario(scenario: ef.Scenario) -> None:
    text = shown(scenario)
    for word in ("&lt;b&gt;Two", "bottleneck", "10 Mbit/s", "24 packets", "heavy: 1 × 4 bulk", "newreno"):
        assert word in text
    assert "unknown key" in shown(scenario.set("links.bottleneck.dealy", "1 ms"))


def test_record(scenario: ef.Scenario) -> None:
    record = scenario.run(1)
    text = shown(record)
    for word in ("heavy", "light", "bottleneck", "Mbit/s", record.record_hash[:12]):
        assert word in text
    lone = {"a": {"users": 1, "path": ["bottleneck"], "traffic": {"kind": "bulk"}}}
    assert "no-randomness: " in shown(scenario.set("groups", lone).run(1))


def test_table(scenario: ef.Scenario) -> None:
    table = ef.study(scenario.set("sweep", SWEEP))
    text = shown(table)
    assert "4 runs at 2 points" in text
    assert text.count("<tr>") == 3
    mean = table.interval("groups.heavy.throughput_bps", links_bottleneck_delay="5 ms").mean
    assert f"{mean / 1e6:.4g} ± " in text


def test_study(scenario: ef.Scenario) -> None:
    study = ef.Study.from_scenario(scenario.set("sweep", SWEEP))
    text = shown(study)
    assert "2 points with 2 seeds · 4 runs" in text
    assert text.count("<tr>") == 3
    assert "links.bottleneck.delay" in text
    many = ef.Study.from_scenario(scenario.set("sweep", {"links.bottleneck.delay": [f"{n} ms" for n in range(1, 99)]}))
    assert shown(many).count("<tr>") == 32


def test_interval() -> None:
    assert shown(stats.mean_interval([1.0, 2.0, 3.0])).startswith("2 [-0.48")
    assert "no interval" in shown(stats.mean_interval([1.0]))
    assert "exact" in shown(stats.Interval.exact(3.0))
    assert "1 undefined" in shown(stats.mean_interval([1.0, 2.0, math.nan]))
