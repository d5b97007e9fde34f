"""The interactive table of a study, and the share that it shows."""

from __future__ import annotations

import shlex
from pathlib import Path

import evenflow as ef
import pytest
from evenflow.run.record import metric_of
from evenflow.scenario.scenario import parse_setting
from evenflow.show import map as maps

ROOT = Path(__file__).resolve().parents[2]


def test_commands_of_the_map_are_the_points_of_the_study() -> None:
    """`--set` of each label's value gives the scenario of the point, with cases, steps and tables."""
    made = ef.load(ROOT / "examples/scenarios/newreno-droptail.toml").set(
        "sweep",
        {
            "groups.heavy.traffic.flows": [1, 8],
            "together": [{"links.bottleneck.delay": ["5 ms", "50 ms"], "duration": ["140 s", "150 s"]}],
            "cases": {"scheme": {"FIFO": {}, "DRR": {"links.bottleneck.queue": {"scheduler": {"kind": "drr"}}}}},
        },
    )
    options = maps.commands(made)
    points = ef.Study.from_scenario(made).points
    assert len(points) == 8
    for point in points:
        words = shlex.split(" ".join(options[name][str(value)] for name, value in point.labels.items()))
        settings = [parse_setting(word) for word in words if word != "--set"]
        assert made.without_sweep().with_settings(dict(settings)).hash == point.scenario.hash, point.labels


def test_a_map_needs_two_swept_paths() -> None:
    rows = [{"set": {"a": a, "b": b}, "n": 2, "cells": [[a / b, "x"]], "record": "r"} for a in (1, 2) for b in (1, 64)]
    made = maps.of_rows(rows, ["groups.g.throughput_share"], {}, "f.toml")
    assert made
    assert [each["values"] for each in made["labels"]] == [["1", "2"], ["1", "64"]]
    assert [row[0] for row in made["rows"]] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert (made["metrics"][0]["low"], made["metrics"][0]["high"]) == (0, 1)
    delays = maps.of_rows(rows, ["links.l.queue_delay_s_mean"], {}, "f.toml")
    assert delays
    assert delays["metrics"][0]["log"]
    assert maps.of_rows(rows[::2], ["groups.g.throughput_share"], {}, "f.toml") is None


def test_share_of_the_throughput() -> None:
    groups = {"a": {"users": 3, "throughput_bps": 1.0}, "b": {"users": 1, "throughput_bps": 9.0}}
    assert metric_of({"groups": groups}, "groups.b.throughput_share") == 0.75
    with pytest.raises(KeyError, match="no metric"):
        metric_of({"groups": groups}, "links.b.throughput_share")
    idle = {name: {"users": 1, "throughput_bps": 0.0} for name in "ab"}
    assert metric_of({"groups": idle}, "groups.a.throughput_share") is None
