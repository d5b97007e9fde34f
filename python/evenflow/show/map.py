"""The interactive table of a study: two swept paths as rows and columns, one metric as text and colour."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import screens

if TYPE_CHECKING:
    from ..run.table import Table
    from ..scenario.scenario import Scenario

WIDE = 30.0
"""Ratio of the largest to the smallest value from which colours are on a logarithmic scale."""


def of_table(table: Table, scenario: Scenario, metrics: Sequence[str]) -> dict[str, Any] | None:
    """Rows, metrics and settings for `map.html.j2`; None if fewer than two paths are swept."""
    rows = []
    records: dict[int, str] = {}
    for run in table.runs:
        records.setdefault(run.point, run.record.record_hash)
    for record, point in zip(records.values(), table.to_json(metrics)["points"], strict=True):
        cells = [[_mean(point, metric), screens.interval(metric, point["metrics"].get(metric))] for metric in metrics]
        rows.append({"set": point["set"], "n": point["n"], "cells": cells, "record": record})
    return of_rows(rows, metrics, commands(scenario), scenario.source or "FILE")


def _mean(point: Mapping[str, Any], metric: str) -> float | None:
    found = point["metrics"].get(metric)
    return None if found is None else found["mean"]


def of_rows(
    rows: Sequence[Mapping[str, Any]],
    metrics: Sequence[str],
    options: Mapping[str, Mapping[str, str]],
    file: str,
) -> dict[str, Any] | None:
    """The same from rows of `set`, `n`, `cells` (mean and text of each metric) and `record`."""
    labels = list(dict.fromkeys(name for row in rows for name in row["set"]))
    values = [list(dict.fromkeys(str(row["set"].get(name, "–")) for row in rows)) for name in labels]
    if sum(len(each) > 1 for each in values) < 2:
        return None
    places = [{value: place for place, value in enumerate(each)} for each in values]
    short = screens.short_labels(labels)
    return {
        "file": file,
        "labels": [
            {"name": short[name], "values": each, "options": [options.get(name, {}).get(value, "") for value in each]}
            for name, each in zip(labels, values, strict=True)
        ],
        "metrics": [_scale(metric, [row["cells"][m][0] for row in rows]) for m, metric in enumerate(metrics)],
        "rows": [
            [
                [place[str(row["set"].get(name, "–"))] for name, place in zip(labels, places, strict=True)],
                row["cells"],
                row["n"],
                row["record"],
            ]
            for row in rows
        ],
    }


def _scale(metric: str, values: Sequence[float | None]) -> dict[str, Any]:
    """Title and colours of a metric: shares of the throughput from 0 to 1, others from their least to their most."""
    known = [value for value in values if value is not None]
    share = metric.endswith("throughput_share")
    low, high = (0.0, 1.0) if share else (min(known, default=0.0), max(known, default=1.0))
    return {
        "title": screens.heading(metric),
        "factor": screens.factor(metric),
        "low": low,
        "high": high,
        "log": low > 0 and high / low > WIDE,
        "share": share,
    }


def commands(scenario: Scenario) -> dict[str, dict[str, str]]:
    """The options of `evenflow run` for each value of each swept path."""
    from ..scenario.sweep import settings
    from ..scenario.toml_text import toml_value

    return {
        label: {
            str(value): " ".join("--set " + shlex.quote(f"{path}={toml_value(to)}") for path, to in sets.items())
            for value, sets in choices.items()
        }
        for label, choices in settings(scenario).items()
    }
