"""Queues and windows with a known answer: the formulas against numbers from their sources, Evenflow against them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation"))

import conex_laws
import laws
import theory
from laws import FAMILIES, Law, RedLoop
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


def test_the_square_root_law_by_hand() -> None:
    found = laws.square_root(0.01, 1)
    assert found.lo == pytest.approx(math.sqrt(150))  # 1.22/√p
    assert found.hi == pytest.approx(13.1)
    assert laws.square_root(0.01, 2).lo == pytest.approx(math.sqrt(75))  # 0.87/√p with delayed ACKs


def test_padhye_by_hand() -> None:
    # b = 2, p = 1 %: 0.1 √(0.04/3) = 0.011547; min(1, 3 √0.0075) = 0.259808; 0.01 (1 + 0.0032) = 0.010032.
    assert laws.padhye(0.01, 2, 0.1, 1.0) == pytest.approx(1 / (0.011547 + 0.259808 * 0.010032), rel=1e-5)


def test_cubic_has_the_windows_of_the_table_in_its_rfc() -> None:
    # RFC 9438 section 5, C = 0.4, RTT 0.1 s.
    for p, window in ((1e-4, 187), (1e-5, 1054), (1e-6, 5926)):
        assert laws.cubic_window(p, 0.1) == pytest.approx(window, abs=0.6)


def test_cubic_with_recovery_by_hand() -> None:
    # Peak 200, K = 150^(1/3) = 5.3133 s: 200 (1.7 + 0.925 K/0.1) = 10170 segments in K + 0.2 s.
    assert laws.cubic_rate_with_recovery(10170, 0.1) == pytest.approx(10170 / 5.5133, rel=1e-4)


def test_multcp_by_hand() -> None:
    # n = 1 is TCP: between the sawtooth's √(3/2p) and the fluid √(2/p).
    assert laws.multcp_window(1, 0.01).lo == pytest.approx(math.sqrt(150))
    assert laws.multcp_window(1, 0.01).hi == pytest.approx(math.sqrt(200))
    # n = 1, p = 1 %: W² = 2 (W + 100), so W = 1 + √201.
    assert laws.multcp_window_once(1, 0.01).hi == pytest.approx(1 + math.sqrt(201))


def test_linear_and_compound_windows_by_hand() -> None:
    # One packet a round trip and a half: the square-root law. Ten and an eighth: √(75/p) to √(80/p).
    assert laws.linear_window(0.01, 1, 0.5).lo == pytest.approx(laws.square_root(0.01, 1).lo)
    wide = laws.linear_window(1e-4, 10, 1 / 8)
    assert (wide.lo, wide.hi) == pytest.approx((math.sqrt(75e4), math.sqrt(80e4)))
    # Peak 10000: 10 (1 - 2^-1/4) 32 round trips, and 10^5 (1 - 2^-5/4) 6.4 segments in them.
    segments = 1e5 * (1 - 2**-1.25) * 6.4
    trips = 320 * (1 - 2**-0.25)
    assert laws.compound_rate(round(segments), 0.1, 0) == pytest.approx(segments / trips / 0.1, rel=1e-4)


def test_dctcp_fixed_points_by_hand() -> None:
    # W = 199: alpha is about √(2/199) = 0.1003; by the equation alpha² (1 - alpha/4) = 399/200² = 0.009975.
    alpha = laws.dctcp_share(199)
    assert alpha == pytest.approx(math.sqrt(0.009975 / (1 - alpha / 4)))
    assert 0.1003 < alpha < 0.102
    # With a gain near none alpha is one in n throughout: n (n - 1) = 200/2, n = 10.51.
    share, cut = laws.dctcp_cycle(199, 1e-6)
    assert (1 / share, cut) == pytest.approx((0.5 + math.sqrt(100.25), math.sqrt(100.25) - 0.5), rel=1e-4)
    # p = 0.02: W² = 98 (W + 50), W = 49 + √(49² + 4900) = 134.44, of which a cut's half, 0.5 %, goes.
    assert laws.dctcp_window(0.02) == pytest.approx((49 + math.sqrt(49**2 + 4900)) * 0.995)


def test_red_fixed_point_by_hand() -> None:
    # 10 flows, a pipe of 89 packets, 1 in transmission, windows 1/√p; p = 0.1 (q - 10)/100, so q = 10 + 1000 p, and
    # 90 + 10 + 1000 p = 10/√p: at p = 0.01 it is 110 against 100, at p = 0.008 108 against 111.8.
    loop = RedLoop(10, 890, 0.1, 10, 110, 0.1)
    queue = loop.queue(lambda p: 1.0)
    assert 10 * 0.8 < queue - 10 < 10
    assert 89 + 1 + queue == pytest.approx(10 / math.sqrt(loop.mark(queue)))


# The laws that a test has time for; `make validate` runs all of them, and longer.
SHORT = {
    "newreno": lambda law: float(law.point["loss"]) >= 1e-3,
    "cubic": lambda law: law.point["loss"] == "1 in 3000",
    "wtp": lambda law: law.point["weight"] in (1, 2),
    "multcp": lambda law: law.point["weight"] in (1, 4),
    "red": lambda law: law.point["flows"] == 40,
    "ledbat": lambda law: law.point["target"] == "25 ms",
    "vegas": lambda law: law.point["flows"] in (1, 5),
    "dctcp": lambda law: law.point.get("K") == 120 or law.point.get("mark") == "0.05",
    "illinois": lambda law: law.point["loss"] == "0.001",
    "compound": lambda law: law.point["loss"] in ("1 in 3000", "0.03"),
}
LAWS = [law for name, family in FAMILIES.items() for law in family(0.2) if SHORT[name](law)]


@pytest.mark.slow("long runs beside theory", only="CUBIC response|RED's")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name}, {', '.join(map(str, law.point.values()))}")
def test_evenflow_obeys_the_law(law: Law) -> None:
    assert law.predicted.accepts(law.measured(SEEDS, LEVEL)), law.metric


@pytest.mark.slow("long runs beside theory", only="20|45|90")
@pytest.mark.parametrize("law", list(conex_laws.empty_buckets(0.5)), ids=lambda law: f"{law.name}, {law.point['r']}")
def test_what_passes_an_empty_bucket(law: Law) -> None:
    """Reports at r, by a meter behind the policer, and packets at r/p."""
    assert law.predicted.accepts(law.measured(SEEDS, LEVEL)), law.metric


def test_a_bucket_that_charges_on_arrival_lets_other_reports_pass() -> None:
    """The law is one of `charge = "pass"`: what is dropped costs as well otherwise, and much less than r passes."""
    on_arrival = conex_laws.crowd(20, 200).set("stages.police.charge", "arrival")
    assert conex_laws.reports_passed(on_arrival.run(1)) < 0.8 * 20


@pytest.mark.slow("long runs beside theory")
def test_marks_of_a_heavy_user_of_figure_20() -> None:
    """133 packets a second, of which a ninth is marked."""
    (law,) = conex_laws.figure_20(0.2)
    assert (law.predicted.lo, law.predicted.hi) == (pytest.approx(14.667, abs=1e-3), pytest.approx(14.815, abs=1e-3))
    assert law.predicted.accepts(law.measured(SEEDS, LEVEL))
