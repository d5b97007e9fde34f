"""The study of marking probability against utilisation."""

from __future__ import annotations

from typing import Any

import evenflow as ef
import numpy as np
import pytest
from evenflow.errors import UsageError
from evenflow.marking import FLOWS, marking_curve, marking_study, probability
from evenflow.theory.marking import Band, MarkingPoints

WTP = {"congestion_control": "wtp", "ecn": "per-packet", "ack_every": 1}


def tree(light: int = 1, heavy: int = 1, **more: Any) -> dict[str, Any]:
    user = {"path": ["bottleneck"], "traffic": {"kind": "bulk"}, "tcp": WTP}
    return {
        "duration": "60 s",
        "warmup": "20 s",
        "links": {
            "bottleneck": {
                "rate": "10 Mbit/s",
                "delay": "50 ms",
                "queue": {"kind": "load-based", "target": 0.6, "gain": 0.71},
            }
        },
        "groups": {"light": {**user, "users": light}, "heavy": {**user, "users": heavy, "weight": 6, **more}},
    }


def users(point: ef.Point, group: str) -> int:
    return int(point.scenario.get(f"groups.{group}.users"))


def test_groups_keep_their_shares() -> None:
    study = marking_study(ef.Scenario(tree(5, 5)), flows=(2, 4, 7, 20))
    assert [(users(p, "light"), users(p, "heavy")) for p in study.points] == [(1, 1), (2, 2), (4, 3), (10, 10)]
    assert [p.labels["n"] for p in study.points] == [2, 4, 7, 20]
    study = marking_study(ef.Scenario(tree(9, 1)), flows=(2, 10, 12, 50))
    assert [(users(p, "light"), users(p, "heavy")) for p in study.points] == [(1, 1), (9, 1), (11, 1), (45, 5)]
    assert study.runs == 4 * 10


def test_flows_of_one_user_are_scaled_and_others_left_alone() -> None:
    t = tree(1, 1, traffic={"kind": "bulk", "flows": 3})
    t["groups"]["voice"] = {"users": 4, "path": ["bottleneck"], "traffic": {"kind": "cbr", "rate": "64 kbit/s"}}
    study = marking_study(ef.Scenario(t), flows=(8,), labels={"marker": "LB"})
    (point,) = study.points
    assert point.scenario.get("groups.heavy.traffic.flows") == 6
    assert users(point, "heavy") == 1
    assert users(point, "light") == 2
    assert users(point, "voice") == 4
    assert point.labels == {"marker": "LB", "n": 8}
    study = marking_study(ef.Scenario(t), flows=(8,), groups=["light"])
    assert users(study.points[0], "light") == 8
    assert study.points[0].scenario.get("groups.heavy.traffic.flows") == 3


def test_bad_requests() -> None:
    scenario = ef.Scenario(tree())
    with pytest.raises(UsageError, match="need at least 2"):
        marking_study(scenario, flows=(1,))
    with pytest.raises(UsageError, match="Did you mean “heavy”"):
        marking_study(scenario, groups=["havy"])
    with pytest.raises(UsageError, match="at least one number"):
        marking_study(scenario, flows=())
    t = tree(2, 2, traffic={"kind": "bulk", "flows": 4})
    with pytest.raises(UsageError, match="cannot be made"):
        marking_study(ef.Scenario(t), flows=(10,), groups=["heavy"])
    t["groups"]["heavy"]["traffic"] = {"kind": "cbr", "rate": "1 Mbit/s"}
    with pytest.raises(UsageError, match=r"groups\.heavy"):
        marking_study(ef.Scenario(t), groups=["heavy"])


@pytest.mark.slow("statistics over long runs")
def test_load_based_marking_lies_on_its_line() -> None:
    table = marking_study(ef.Scenario(tree()), flows=(2, 4, 6), replications=2).run()
    found = marking_curve(table, level=0.9)
    assert found.link == "bottleneck"
    assert found.flows.tolist() == [2, 4, 6]
    assert (np.diff(found.probability.mean) > 0).all()
    # p = 0.71 (load - 0.6) (Siris et al. 2002, section 4.3).
    assert found.probability.mean == pytest.approx(0.71 * (found.utilisation.mean - 0.6), abs=0.01)
    assert ((found.utilisation.lo <= found.utilisation.mean) & (found.utilisation.mean <= found.utilisation.hi)).all()
    frame = found.frame()
    assert frame.columns[:4] == ["n", "utilisation", "utilisation_lo", "utilisation_hi"]
    assert frame["delay_s"].min() >= 0
    run = table.runs[0]
    link = run.json["links"]["bottleneck"]
    assert probability("bottleneck")(run) == sum(link["marks"].values()) / link["arrived_packets"]
    figure, (ax,) = ef.plots.figure()
    found.draw(ax, label="load-based")
    assert [line.get_label() for line in ax.get_lines() if line.get_gid() == "mean"] == ["load-based"]
    assert figure.axes


def test_error_bars_end_at_the_bounds() -> None:
    band = Band(np.array([0.5, 0.6]), np.array([0.4, 0.55]), np.array([0.7, 0.8]))
    _, (ax,) = ef.plots.figure()
    MarkingPoints("link", np.array([2, 4]), band, band, band, 0.9).draw(ax)
    across, up = ([segment.tolist() for segment in bars.get_segments()] for bars in ax.collections)
    assert np.allclose(across[0], [[0.4, 0.5], [0.7, 0.5]])
    assert np.allclose(up[1], [[0.6, 0.55], [0.6, 0.8]])


def test_the_link_must_be_one() -> None:
    t = tree()
    t["links"]["second"] = t["links"]["bottleneck"]
    t["groups"]["light"]["path"] = ["bottleneck", "second"]
    t["links"]["second"] = {**t["links"]["second"], "queue": {"kind": "load-based", "target": 0.01, "gain": 0.71}}
    table = marking_study(ef.Scenario(t), flows=(8,), replications=1).run()
    with pytest.raises(UsageError, match="say link="):
        marking_curve(table)
    assert marking_curve(table, "second").link == "second"
    with pytest.raises(UsageError, match="Did you mean “second”"):
        marking_curve(table, "secnd")


def test_defaults_are_for_mixtures_of_two() -> None:
    assert tuple(sorted(FLOWS)) == FLOWS
    assert min(FLOWS) == 2
