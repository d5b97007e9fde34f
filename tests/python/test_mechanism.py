"""Mechanisms stepped by hand, and what the engine says about itself."""

from __future__ import annotations

import math

import evenflow as ef
import pytest
from evenflow.errors import NotYetKnown, UsageError
from evenflow.mechanism import METHODS, schema


def test_the_meter_by_hand() -> None:
    """A steady 1 Mbit/s for 60 s: the activity is log2(1 Mbit/s / 10 kbit/s), whatever the memory."""
    meter = ef.mechanism("activity-meter", memory="3 s", reference_rate="10 kbit/s", start="first-packet")
    for k in range(5000):
        answer = meter.forward(now_s=k * 0.012, bytes=1500)
    assert answer["label"] == pytest.approx(math.log2(1e6 / 1e4), abs=0.02)


def test_wrong_use_names_what_there_is() -> None:
    with pytest.raises(UsageError, match="activity-meter"):
        ef.mechanism("activity-metre")
    with pytest.raises(UsageError, match="memory"):
        ef.mechanism("activity-meter", memmory="3 s")
    with pytest.raises(UsageError, match="forward"):
        ef.mechanism("activity-meter").nosuch()
    with pytest.raises(UsageError, match="now_s"):
        ef.mechanism("activity-meter").forward(now=3.0)


def test_every_method_of_the_table_is_there() -> None:
    makers = {
        "queue": ef.mechanism("droptail", limit="24 packets"),
        "scheduler": ef.mechanism("fifo"),
        "stage": ef.mechanism("activity-meter", memory="3 s", reference_rate="10 kbit/s"),
        "congestion-control": ef.mechanism("newreno"),
    }
    assert makers.keys() == METHODS.keys()
    for room, made in makers.items():
        for method, arguments in METHODS[room].items():
            numbers = {name: 1 for name in arguments if name != "cls"}
            if "cls" in arguments:
                numbers["cls"] = "be"  # type: ignore[assignment]
            assert isinstance(getattr(made, method)(**numbers), dict)


def test_modules_and_functions_of_one_name() -> None:
    import importlib

    importlib.import_module("evenflow.study")
    importlib.import_module("evenflow.mechanism")
    assert callable(ef.study)
    assert callable(ef.mechanism)


def test_theory_says_it_is_not_known(small: object) -> None:
    with pytest.raises(NotYetKnown, match="not yet known"):
        ef.theory(str(small))


def test_everything_public_exists() -> None:
    for name in ef.__all__:
        assert getattr(ef, name) is not None
    with pytest.raises(AttributeError, match="nosuch"):
        _ = ef.nosuch


def test_every_mechanism_is_documented_to_the_last_parameter() -> None:
    for table in schema()["mechanisms"]:
        assert table["title"], table["kind"]
        assert table["doc"], table["kind"]
        for param in table["params"]:
            assert param["doc"], (table["kind"], param["name"])
            assert param["type"], (table["kind"], param["name"])


def test_every_metric_has_a_formula_and_a_window() -> None:
    for metric in schema()["metrics"]:
        assert {"name", "unit", "window", "formula", "doc"} <= set(metric)
        assert metric["doc"], metric["name"]
        if metric["unit"]:
            assert metric["window"], metric["name"]
