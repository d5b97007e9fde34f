"""The part `policing` of the validation: what a kernel is told, and the same for ours; example and law of the burst."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import evenflow as ef  # noqa: E402
import policing  # noqa: E402
from linux_queues import Kernel  # noqa: E402

CASES = {case.name: case for case in policing.points()}


def test_what_the_kernel_is_told() -> None:
    told = {name: [" ".join(line) for line in case.asked.tc] for name, case in CASES.items()}
    assert all(lines[0] == "qdisc add dev shaped clsact" for lines in told.values())
    police = "filter add dev shaped egress matchall action police"
    assert told["more than passes"][1] == f"{police} rate 3000000bit burst 15000b drop"
    assert told["as many packets as pass"][1] == f"{police} pkts_rate 370 pkts_burst 6 drop"


def test_a_kernel_that_polices_needs_other_modules() -> None:
    kernel = Kernel({case.of: case.asked for case in CASES.values()})
    assert kernel.modules == ["sch_ingress", "cls_matchall", "act_police"]
    assert kernel.program.name == "policing.py"
    assert kernel.describe().startswith("sch_ingress, cls_matchall and act_police of Linux")


@pytest.mark.parametrize("name", CASES)
def test_ours_passes_what_its_tokens_pay_for(name: str) -> None:
    case = CASES[name]
    [passed] = case.metrics_of_ours(case.scenario.run(1)).values()
    [(sent, size)] = case.senders.values()
    may = case.rate if case.unit == "bytes" else case.rate * 8 * size
    assert passed <= may * 1.003
    if sent > 1.5 * may:
        assert passed == pytest.approx(may, rel=0.003)
    else:
        assert 0.8 * may < passed < 0.97 * may


def test_a_policer_by_hand() -> None:
    policer = ef.mechanism("policer", rate="8 kbit/s", burst="1500 B", excess_burst="1500 B")
    seen = [policer.forward(now_s=0.0, bytes=size) for size in (1500, 1500, 40)]
    assert [answer["verdict"] for answer in seen] == ["pass", "pass", "drop"]
    assert seen[2]["reason"] == "policed_red"
