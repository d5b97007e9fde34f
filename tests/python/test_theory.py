"""Queues with a known answer: the formulas against numbers from textbooks, and Evenflow against the formulas."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation"))

import theory
from theory import MODELS, Model

SEEDS = range(1, 6)
DURATION_S = 400.0
# Each of the 28 exact values misses a 99.9 % interval with probability 0.001. Seeds are fixed: no run is ever unlucky
# by chance, and a change of the engine that moves one outside deserves a look.
LEVEL = 0.999


def test_mm1_by_hand() -> None:
    model = Model("M", 0.5)
    assert model.waiting == pytest.approx(0.5)  # load² / (1 - load)
    assert model.wait == pytest.approx(1.0)  # load / (1 - load) service times
    assert model.loss == 0


def test_md1_waits_half_as_long_as_mm1() -> None:
    assert Model("D", 0.8).waiting == pytest.approx(Model("M", 0.8).waiting / 2)


def test_loss_systems_by_hand() -> None:
    # One place: Erlang's B formula, whatever the distribution of service times.
    for service in ("M", "D"):
        assert Model(service, 0.5, 1).loss == pytest.approx(1 / 3)  # type: ignore[arg-type]
    # M/M/1/2 at load 1: three equally likely states.
    assert Model("M", 1.0, 2).loss == pytest.approx(1 / 3)
    # M/D/1/2 at load 1: a departure leaves 0 behind with probability e^-1, so P(full) = 1 - 1/(1 + e^-1).
    assert Model("D", 1.0, 2).loss == pytest.approx(1 - 1 / (1 + math.exp(-1)))


@pytest.mark.parametrize("service", ["M", "D"])
def test_many_places_are_as_good_as_unlimited(service: theory.Service) -> None:
    assert Model(service, 0.8, 120).waiting == pytest.approx(Model(service, 0.8).waiting, rel=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_evenflow_agrees_with_theory(model: Model) -> None:
    for row in theory.compare(model, SEEDS, DURATION_S, LEVEL):
        # The window may end in the middle of a transmission: one packet in 10^5 either way.
        edge = 2e-5 * abs(row.theory)
        assert row.measured.lo - edge <= row.theory <= row.measured.hi + edge, row
