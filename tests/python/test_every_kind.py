"""Every kind of the register on the way of a small network: one record with one worker or two."""

from __future__ import annotations

import importlib
from typing import Any

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow.study import Point, Study, run_study

SEED = 3


@pytest.fixture
def scenarios(monkeypatch: pytest.MonkeyPatch) -> dict[str, ef.Scenario]:
    """The works of `make bench` for mechanisms, by room and kind, for less than a second each."""
    monkeypatch.syspath_prepend(ROOT / "benches")
    mechanisms: Any = importlib.import_module("mechanisms")
    base = mechanisms.base_scenario().with_settings({"duration": "700 ms", "warmup": "100 ms"})
    return {f"{swap.room} {swap.name}": base.with_settings(swap.settings) for swap in mechanisms.swaps()}


@pytest.mark.slow("runs every mechanism twice")
def test_one_record_with_any_number_of_workers(scenarios: dict[str, ef.Scenario]) -> None:
    names = list(scenarios)
    study = Study([Point({"kind": name}, scenarios[name]) for name in names], [SEED])
    one, two = (run_study(study, jobs=jobs) for jobs in (1, 2))
    hashes = [run.json["record_hash"] for run in one]
    assert hashes == [run.json["record_hash"] for run in two]
    assert len(set(hashes)) > len(names) / 2, "kinds that change nothing show nothing"
