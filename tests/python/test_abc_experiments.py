"""The paper's experiments: valid scenarios, the paper's grids, and runs shared where settings are equal."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from evenflow import lab as lab_module
from evenflow.errors import UsageError
from evenflow.judge.values import Shown, worded
from evenflow.scenario import Scenario
from evenflow.study import Table
from evenflow.values import Metric, ratio_of_means
from evenflow_papers.abc import PAPER, analytic, measures
from evenflow_papers.abc import network as net
from evenflow_papers.abc.experiments import DELAYS_MS, R0_MIXED, R0_UDP
from test_abc_claims import table

ROOT = Path(__file__).resolve().parent.parent.parent


def hashes(name: str, scale: str = "paper", **labels: object) -> set[str]:
    points = PAPER.experiment(name).points(scale)  # type: ignore[arg-type]
    return {p.scenario.hash for p in points if all(p.labels.get(k) == v for k, v in labels.items())}


@pytest.mark.slow("builds all points of a paper", only="paper")
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_point_is_a_valid_scenario_with_labels_of_its_own(scale: str) -> None:
    for experiment in PAPER.experiments:
        points = experiment.points(scale)  # type: ignore[arg-type]
        for point in points:
            point.scenario.check()
        labels = [tuple(sorted((k, str(v)) for k, v in p.labels.items())) for p in points]
        assert len(set(labels)) == len(labels), experiment.id


def test_quick_is_part_of_the_paper() -> None:
    for experiment in PAPER.experiments:
        paper = {p.scenario.hash for p in experiment.points("paper")}
        assert {p.scenario.hash for p in experiment.points("quick")} <= paper, experiment.id
        assert set(experiment.seeds("quick")) <= set(experiment.seeds("paper"))
        assert not experiment.shortened


def test_the_papers_durations_and_replications() -> None:
    experiment = PAPER.experiment("fig04")
    assert list(experiment.seeds("paper")) == list(range(1, 11))
    core = experiment.points("paper")[0].scenario.core
    assert (core.warmup_s, core.duration_s) == (100, 200)
    assert len(experiment.points("paper")) == 44
    assert len(R0_UDP) == 21
    assert len(R0_MIXED) == 18


def test_equal_settings_share_their_runs() -> None:
    assert hashes("fig14", panel="a", scheme=net.ABC, r1=7.5) == hashes("fig03", scheme=net.ABC, r1=7.5)
    assert hashes("fig14", panel="b", scheme=net.ABC) == hashes("fig04", scheme=net.ABC)
    assert hashes("fig14", panel="c", scheme=net.ABC) == hashes("fig06", scheme=net.ABC)
    assert hashes("x-drr", panel="c", scheme=net.ABC) == hashes("fig06", scheme=net.ABC)
    chosen = hashes("fig09", gamma=16, q_min=12, delay_ms=50)
    assert chosen == hashes("fig10", gamma=16, q_base=20, delay_ms=50) == hashes("fig12", m_am=3, m_aa=0.3, delay_ms=50)
    assert chosen == hashes("fig16", scheme=net.ABC)
    assert hashes("fig08", s=1, flows=1) == hashes("fig04", scheme=net.ABC, f0=1)


def test_the_crowd_is_the_example_file() -> None:
    ours = net.crowd(net.Options(), net.ABC, 5).unset("record")
    assert ours.hash == Scenario.load(ROOT / "examples/scenarios/abc-default.toml").unset("sweep").hash


def test_offsets_and_thresholds_in_time() -> None:
    offsets = net.medf(net.abc()).queue["scheduler"]["offsets"]
    assert offsets == {"ef": "0 ms", "be": "57.6 ms"}
    assert net.medf(net.abc(), delta_be=1.5).queue["scheduler"]["offsets"]["be"] == "43.2 ms"
    delay = net.abc_by_delay().queue
    assert (delay["q_min"], delay["q_base"], delay["gamma"]) == ("14.4 ms", "24 ms", "19.2 ms")


def test_only_a_metered_scheme_has_accounting() -> None:
    with pytest.raises(ValueError, match="meter"):
        net.accounting(net.drop_tail(), 3)


# --- measures -------------------------------------------------------------------------------------------------------


def of(metric: Metric, found: Table) -> dict[object, list[float]]:
    """A metric by the label `x`."""
    cells = metric().cells(Shown("abc", {"abc-t": found}, "t"))
    return {labels["x"]: np.asarray(values).tolist() for labels, values in cells}


def test_ratio_of_a_run() -> None:
    found = table(
        [({"x": 1}, {"t0": 6.0, "t1": 2.0}), ({"x": 2}, {"t0": 6.0, "t1": 0.0}), ({"x": 3}, {"t0": 0.0, "t1": 0.0})]
    )
    ratios = of(measures.TR, found)
    assert ratios[1] == [3.0] * 10
    assert np.isinf(ratios[2]).all()
    assert np.isnan(ratios[3]).all()
    shown = Shown("abc", {"abc-t": found}, "t")
    inverse = {c["x"]: it for c, it in ratio_of_means(measures.T1(), measures.T0()).cells(shown)}
    assert inverse[2].mean == 0.0  # type: ignore[union-attr]


def test_delays_and_drops() -> None:
    found = table(
        [({"x": 1}, {"t0": 1.0, "be": 0.012, "drops": {"limit": 1, "activity": 3}}), ({"x": 2}, {"t0": 1.0})], [1]
    )
    assert of(measures.DBE, found)[1] == [12.0]
    assert np.isnan(of(measures.DEF, found)[1]).all()
    assert of(measures.TAIL, found)[1] == [0.25]
    assert np.isnan(of(measures.TAIL, found)[2]).all()


def test_histograms_are_padded_to_the_buffer() -> None:
    found = table([({}, {"histograms": {"h": [1, 0, 3]}})], [1, 2])
    total = measures.total_histogram("h", found.runs)
    assert total.size == 25
    assert total[2] == 6
    assert measures.share_below("h", 1, found.runs[0]) == 0.25
    assert measures.share_from("h", 2, found.runs[0]) == 0.75


def test_curves() -> None:
    grid = [1.0, 2.0, 4.0]
    curve = np.array([[1.0, 1.1], [3.0, 2.0], [2.0, 2.5]])
    assert lab_module.peak(grid, curve)[0] == 2.0
    assert lab_module.trough(grid, curve)[0] == 1.0
    assert lab_module.rank_correlation(grid, curve).tolist() == pytest.approx([0.5, 1.0])


def test_words() -> None:
    assert worded("{r0}, {delay_ms}", {"r0": 2.5, "delay_ms": 50}, measures.WORDS) == "R0 = 2.5 Mbit/s, D_b = 50 ms"
    assert worded("{f0}", {"f0": 1}, measures.WORDS) == "1 heavy flow"
    assert worded("{scheme:short}", {"scheme": net.EF3}, measures.WORDS) == "a_EF = 3"


def test_both_delays_of_table_1() -> None:
    assert DELAYS_MS == (5, 50)


# --- mechanisms stepped by hand -------------------------------------------------------------------------------------


def test_meter_by_hand() -> None:
    # S(15 s) = 5 Mbit/s · 3 s · (1 − e⁻⁵) / 8, and half a packet for the first sample at full weight
    assert analytic.weighted_sum_bytes(3.0, 15.0) == pytest.approx(1.875e6 * -math.expm1(-5) + 750, rel=1e-5)
    # a user at 20 Mbit/s is level once 1 − e^(−t/M) = 1/4
    expected = 20e6 / 8 * 3 * math.log(4 / 3)
    assert analytic.bytes_until_equal_activity_at(3.0, 20e6) == pytest.approx(expected, rel=2e-3)


def test_aqm_by_hand() -> None:
    assert analytic.drops_below_q_min() == 0
    assert analytic.changed_decisions(0.0) == 0
    assert analytic.shift_error(2.0) < 1e-12


# --- options and deviations -----------------------------------------------------------------------------------------


def test_an_option_changes_the_stack_of_tcp_users_alone() -> None:
    for name, value, line in (("write", "any", "any"), ("timeout_window_once", "false", False)):
        other = PAPER.with_options({name: value})
        for experiment, tcp in (("fig03", False), ("fig04", True), ("fig06", True), ("fig11", True), ("fig16", True)):
            usual, changed = (it.experiment(experiment).points("paper") for it in (PAPER, other))
            assert [p.labels for p in usual] == [p.labels for p in changed]
            assert all((a.scenario.hash != b.scenario.hash) == tcp for a, b in zip(usual, changed, strict=True))
        stack = other.experiment("fig06").points("paper")[0].scenario.tree["groups"]["light"]["tcp"]
        assert stack[name] == line
        assert name not in PAPER.experiment("fig06").points("paper")[0].scenario.tree["groups"]["light"]["tcp"]


def test_a_wrong_option_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="write"):
        PAPER.with_options({"writes": "any"})
    with pytest.raises(UsageError, match="any"):
        PAPER.with_options({"write": "all"})


def test_deviations_take_their_numbers_from_runs() -> None:
    computed = {d.id: d for d in PAPER.deviations if not isinstance(d.sensitivity, str)}
    assert set(computed) == {"be-offset", "meter-start", "tcp-window", "csfq-form", "processing"}
    assert all("abc-x-sensitivity" in d.said({}) for d in computed.values())
    labels = {"what": "TCP window", "setting": "figure 8, s = 16, flows: 1", "delay_ms": 50}

    def said(t0: float) -> str:
        found = table([({**labels, "how": "131072 B"}, {"t0": t0, "t1": 1.0})])
        return computed["tcp-window"].said({"abc-x-sensitivity": found})

    assert "3.6 with 131072 B" in said(3.6)
    assert "13 with 131072 B" in said(13.0)
