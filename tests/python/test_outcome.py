"""Quality of Outcome and responsiveness: the drafts' own examples, and definitions computed another way."""

from __future__ import annotations

import json
import math
from pathlib import Path

import evenflow as ef
import numpy as np
import pytest
from conftest import ROOT, Cli
from evenflow.errors import UsageError
from evenflow.qoe import Requirements, outcome, quality_of_outcome, responsiveness
from evenflow.run.histograms import Histogram
from test_distributions import binned, delays, record

NEEDS = Requirements({99: 0.2, 99.9: 0.3}, {99: 0.5, 99.9: 0.6}, loss=(0.01, 0.05), throughput_bps=4e6)


def test_the_example_of_the_draft() -> None:
    assert outcome({99: 0.35, 99.9: 0.375}, 0.02, 28e6, NEEDS) == pytest.approx(50)
    assert outcome({99: 0.2, 99.9: 0.3}, 0.02, 28e6, NEEDS) == pytest.approx(75)  # loss alone


@pytest.mark.parametrize(
    ("latency", "loss", "rate", "score"),
    [
        ((0.1, 0.2), 0.0, 4e6, 100),
        ((0.1, 0.2), 0.0, 3.9e6, 0),
        ((0.6, 0.2), 0.0, 5e6, 0),
        ((0.1, 0.45), 0.0, 5e6, 50),
        ((0.1, 0.2), 0.9, 5e6, 0),
    ],
)
def test_scores_end_at_0_and_100(latency: tuple[float, float], loss: float, rate: float, score: float) -> None:
    assert outcome({99: latency[0], 99.9: latency[1]}, loss, rate, NEEDS) == pytest.approx(score)


@pytest.mark.parametrize(
    ("optimal", "unacceptable", "loss", "words"),
    [
        ({}, {}, (0.0, 1.0), "same percentiles"),
        ({95: 0.1}, {99: 0.2}, (0.0, 1.0), "same percentiles"),
        ({101: 0.1}, {101: 0.2}, (0.0, 1.0), "from 0 to 100"),
        ({95: 0.2}, {95: 0.1}, (0.0, 1.0), "above the optimal"),
        ({95: 0.1}, {95: 0.2}, (0.1, 0.1), "above the optimal"),
    ],
)
def test_wrong_requirements(
    optimal: dict[float, float], unacceptable: dict[float, float], loss: tuple[float, float], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        Requirements(optimal, unacceptable, loss)


def test_a_group_is_scored_by_its_packets() -> None:
    made = record(1, 0.005, groups={"call": {"users": 1, "throughput_bps": 1e5, "loss_ratio": 0.0}})
    exact = float(np.quantile(delays(1, 0.005) + 0.02, 0.95))
    needs = Requirements({95: exact - 0.01}, {95: exact + 0.01}, throughput_bps=5e4)
    assert quality_of_outcome(made, "call", needs) == pytest.approx(50, abs=10)  # a bin is 6 % wide
    with pytest.raises(UsageError, match="no group “cal”"):
        quality_of_outcome(made, "cal", needs)


def test_the_mean_of_the_shortest_round_trips() -> None:
    values = np.sort(delays(3, 0.05))
    [found] = Histogram.of(binned(values, bits=9))
    assert found.mean() == pytest.approx(values.mean(), rel=0.002)
    kept = values[: round(0.95 * len(values))]
    assert found.mean(0.95) == pytest.approx(kept.mean(), rel=0.002)
    assert responsiveness(found) == pytest.approx(60 / kept.mean(), rel=0.002)
    assert math.isnan(Histogram.merged([]).mean())


def test_foreign_round_trips_count_half() -> None:
    def at(seconds: float) -> Histogram:
        return Histogram(np.array([seconds]), np.array([seconds]), np.array([10.0]))

    assert responsiveness(at(0.06)) == pytest.approx(1000)
    # draft-ietf-ippm-responsiveness, TCP-only case: foreign 60 / ((0.02 + 0.04) / 2)
    assert responsiveness(at(0.06), [at(0.02), at(0.04)]) == pytest.approx((1000 + 2000) / 2)


SCORES = ["groups.download.responsiveness_rpm", "groups.download.quality_of_outcome"]


def test_metrics_of_a_record_are_those_of_its_distributions() -> None:
    scenario = ef.load(ROOT / "examples/scenarios/call.toml").with_settings({"duration": "12 s", "warmup": "2 s"})
    bare = scenario.run(1)
    assert not {*SCORES} & {*bare.metrics()}
    found = scenario.set("record.histograms", ["groups.download.rtt", "groups.download.delay"]).run(1)
    # the engine's own figures against those from its bins
    assert found.metric(SCORES[0]) == pytest.approx(responsiveness(found.delays("groups.download.rtt")), rel=1e-9)
    assert found.metric(SCORES[1]) == pytest.approx(quality_of_outcome(found, "download", NEEDS), abs=1.0)
    others = {name: value for name, value in found.metrics().items() if name not in SCORES}
    assert {name: value for name, value in others.items() if "histograms" not in name} == bare.metrics()


@pytest.mark.parametrize(("alias", "metric"), [("rpm", SCORES[0]), ("qoo", SCORES[1])])
def test_they_are_chosen_by_name(cli: Cli, work: Path, alias: str, metric: str) -> None:
    del work
    last = metric.rpartition(".")[2]
    listed = json.loads(cli("list", "metrics", alias, "--json").out)
    assert f"groups.G.{last}" in [row["name"] for row in listed["metrics"]]
    file = str(ROOT / "examples/scenarios/call.toml")
    short = ("--set", 'duration="6 s"', "--set", 'warmup="1 s"')
    study = json.loads(cli("study", file, "--metric", alias, "--replications", "2", "--json", *short).out)
    assert metric in json.dumps(study)
    drawn = json.loads(cli("plot", file, "--metric", last, "--json", *short).out)
    assert drawn["numbers"]


def test_they_are_public() -> None:
    assert ef.qoe.responsiveness is responsiveness
