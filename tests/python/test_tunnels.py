"""What tunnels do to the ECN field: the page says what the code does, and the code what the RFC's figures say."""

from __future__ import annotations

import json

import evenflow as ef
import pytest
from conftest import ROOT
from evenflow import cli
from evenflow.run.tunnels import FROM

PAGE = ROOT / "docs" / "tunnels.md"
FOUND = ef.tunnel_table()
FIELDS = ["Not-ECT", "ECT(0)", "ECT(1)", "CE"]


def between(name: str) -> list[list[str]]:
    """The cells of the page's table `name`, without heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]


def ingress() -> list[list[str]]:
    return [[inner, *(FOUND["rules"][rules]["ingress"][inner] for rules in FROM)] for inner in FIELDS]


def egress() -> list[list[str]]:
    marks = {"dangerous": " !!!", "possibly-dangerous": " !", None: ""}

    def cell(inner: str, outer: str) -> str:
        by_result: dict[str, list[str]] = {}
        for rules in FROM:
            by_result.setdefault(FOUND["rules"][rules]["egress"][inner][outer] or "dropped", []).append(f"`{rules}`")
        if len(by_result) == 1:
            return next(iter(by_result)) + marks[FOUND["alarms"][inner][outer]]
        said = "; ".join(f"{result}: {', '.join(who)}" for result, who in by_result.items())
        return said + marks[FOUND["alarms"][inner][outer]]

    return [[inner, *(cell(inner, outer) for outer in FIELDS)] for inner in FIELDS]


def test_the_page_has_the_tables() -> None:
    assert between("ingress") == ingress()
    assert between("egress") == egress()


def test_all_sixteen_pairs_of_figure_4_of_rfc_6040() -> None:
    figure = {
        "Not-ECT": ["Not-ECT", "Not-ECT", "Not-ECT", None],
        "ECT(0)": ["ECT(0)", "ECT(0)", "ECT(1)", "CE"],
        "ECT(1)": ["ECT(1)", "ECT(1)", "ECT(1)", "CE"],
        "CE": ["CE", "CE", "CE", "CE"],
    }
    found = FOUND["rules"]["rfc6040"]["egress"]
    assert {inner: [found[inner][outer] for outer in FIELDS] for inner in FIELDS} == figure


def test_the_command_prints_every_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["tunnel-table"]) == 0
    shown = capsys.readouterr().out
    assert all(rules in shown for rules in FROM)
    assert shown.count("(!!!)") == 5  # four pairs and the legend
    assert cli.invoke(["tunnel-table", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND


def test_the_page_has_what_the_example_gives() -> None:
    scenario = ef.load(ROOT / "examples" / "scenarios" / "lossy-tunnel.toml")
    for ingress_rules, egress_rules, tunnelled, plain, lost, dropped in between("lossy"):
        rules = {"stages.into.ecn": ingress_rules.strip("`"), "stages.out.ecn": egress_rules.strip("`")}
        found = scenario.with_settings(rules).run(1).json
        rates = [f"{found['groups'][group]['throughput_bps'] / 1e6:.2f} Mbit/s" for group in ("tunnelled", "plain")]
        assert rates == [tunnelled, plain]
        out = found["stages"]["out"]
        assert (out["marks_lost"], out["drops"].get("unmarkable", 0)) == (int(lost), int(dropped))


def test_both_ends_by_hand() -> None:
    ingress = ef.mechanism("tunnel-ingress", overhead="gtp-u-sequence", ecn="paper", teid=9)
    done = ingress.forward(bytes=1000, ecn="not-ect", segment="data")
    header = {"ecn": "ect1", "re": True, "tunnel": 9, "bytes": 40, "sequence": 0}
    assert (done["verdict"], done["bytes"], done["codepoint"], done["outer"]) == ("pass", 1040, "ect1", [header])
    egress = ef.mechanism("tunnel-egress", ecn="paper")
    for sequence in (65_534, 65_535, 1, 2, 3):
        marked = {**header, "ecn": "ce", "sequence": sequence}
        done = egress.forward(bytes=1040, ecn="not-ect", segment="data", outer=marked)
        assert (done["verdict"], done["bytes"], done["codepoint"]) == ("pass", 1000, "not-ect")
    seen = egress.observe()
    assert (seen["lost"], seen["marks_lost"], seen["not_ect_in_ce"], seen["unwrapped"]) == (1, 5, 5, 5)
    strict = ef.mechanism("tunnel-egress")
    assert strict.forward(bytes=1040, ecn="not-ect", outer=marked)["reason"] == "unmarkable"
    with pytest.raises(ef.UsageError, match=r"outer\.bytes must be a whole number up to 999, it is 1000"):
        egress.forward(bytes=1000, outer={"bytes": 1000})
    with pytest.raises(ef.UsageError, match='did you mean "gtp-u"'):
        ef.mechanism("tunnel-ingress", overhead="gpt-u")
