"""Every script in examples/ runs from any folder and says what its docstring promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import ROOT, environment

EXAMPLES = ROOT / "examples"


def numbers(line: str) -> list[float]:
    """The numbers of a line that stand by themselves."""
    return [float(found) for found in re.findall(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.])", line)]


def line_of(out: str, start: str) -> str:
    return next(line.strip() for line in out.splitlines() if line.strip().startswith(start))


def run_scenario(out: str, _: Path) -> None:
    assert re.search(r"record [0-9a-f]{16}$", out.strip())
    fairness = numbers(line_of(out, "fairness"))[-1]
    assert 0.99 < fairness <= 1


def compare_schemes(out: str, _: Path) -> None:
    ratio = {name: numbers(line_of(out, name))[0] for name in ("drop-tail", "ABC", "CSFQ", "DRR per user")}
    assert ratio["drop-tail"] > 8
    assert 1.3 < ratio["CSFQ"] < 2
    assert ratio["ABC"] == pytest.approx(1, abs=0.15)
    assert ratio["DRR per user"] == pytest.approx(1, abs=0.02)


def step_a_meter(out: str, _: Path) -> None:
    assert "5 Mbit/s: 8.97" in out
    # 416.67 packets in the first second: S = 1.875 MB (1 - 1/e^(1/3)), measured by a meter that is 101 s old.
    assert numbers(line_of(out, "memory  3 s").removeprefix("memory  3 s"))[2] == pytest.approx(7.15, abs=0.01)


def pages(out: str, _: Path) -> None:
    took = {name: numbers(line_of(out, name)) for name in ("drop-tail", "FQ-CoDel", "HTB")}
    for name in ("FQ-CoDel", "HTB"):
        assert took[name][0] < took["drop-tail"][0] / 3
    assert all(8 < row[-1] < 10.5 for row in took.values())


def video_evening(out: str, _: Path) -> None:
    names = ("drop-tail", "LEDBAT", "DRR per user", "ConEx", "no downloads")
    found = {name: numbers(line_of(out, name)) for name in names}
    stalls, opinion = ({name: row[at] for name, row in found.items()} for at in (1, 5))
    assert stalls["drop-tail"] > 10 > 2 * stalls["DRR per user"]
    assert opinion["drop-tail"] < 1.6
    assert opinion["DRR per user"] > 4.5
    assert opinion["ConEx"] > 4
    assert found["ConEx"][-1] < found["drop-tail"][-1]
    assert opinion["LEDBAT"] > opinion["drop-tail"]


def video_levels(out: str, _: Path) -> None:
    names = ("aggressive-rate", "rate", "bba-0", "bola", "dynamic", "mpc", "robust-mpc")
    found = {name: numbers(line_of(out, f"{name} ").removeprefix(name)) for name in names}
    stall, rate, switches = ({name: row[at] for name, row in found.items()} for at in (1, 2, 3))
    assert "456000 bit/s" in line_of(out, "levels of the manifest")
    assert max(switches, key=switches.__getitem__) == "bola"
    assert set(sorted(rate, key=rate.__getitem__)[-2:]) == {"mpc", "robust-mpc"}
    assert {name for name in names if stall[name] > 0} == {"mpc", "robust-mpc"}


def own_rule(out: str, _: Path) -> None:
    found = {name: numbers(line_of(out, name).removeprefix(name)) for name in ("careful", "rate", "bola", "robust-mpc")}
    assert all(row[2] == 0 for row in found.values())
    assert found["careful"][0] < min(row[0] for name, row in found.items() if name != "careful")
    assert found["bola"][1] == max(row[1] for row in found.values())
    assert found["robust-mpc"][3] == max(row[3] for row in found.values())


def which_tcp(out: str, _: Path) -> None:
    waits = {line.split()[0] + " " + line.split()[1]: numbers(line)[-1] for line in out.splitlines()[1:]}
    # a shaper of 4.7 Mbit/s with 67 packets waits, a tuner does not
    assert all(waits[f"RWTM {control}"] < 10 for control in ("NewReno", "Vegas", "Illinois", "CUBIC"))
    assert all(waits[f"HTBM {control}"] > 60 for control in ("NewReno", "Illinois", "CUBIC"))
    assert numbers(line_of(out, "RWTM     Illinois"))[0] > 4


def ping_under_load(out: str, _: Path) -> None:
    idle, busy = (numbers(line_of(out, f"drop-tail  {line}"))[0] for line in ("idle", "busy"))
    # 84 B of request and reply at 10 Mbit/s; a queue of 250 packets of 1500 B takes 300 ms.
    assert idle == pytest.approx(20.1, abs=0.1)
    assert 200 < busy < 325
    assert numbers(line_of(out, "FQ-CoDel   busy"))[0] < idle + 2


def sweep(out: str, folder: Path) -> None:
    assert "shape: (10, 6)" in out
    assert len((folder / "out" / "examples" / "sweep.csv").read_text().splitlines()) == 1 + 10 * 2
    assert (folder / "out" / "examples" / "sweep.svg").read_text().startswith("<?xml")


def weighted_sharing(out: str, _: Path) -> None:
    lines = [line for line in out.splitlines() if line.startswith("  weight")]
    assert len(lines) == 8
    for line in lines:
        weight, rate = numbers(line)[:2]
        assert rate == pytest.approx(10 * weight / 15, rel=0.1)


def rate_steps(out: str, _: Path) -> None:
    packets, time = line_of(out, "thresholds in packets"), line_of(out, "thresholds in time")
    waits = [[float(x) for x in re.findall(r"([\d.]+) ms", line)] for line in (packets, time)]
    assert waits[0][1] > 1.8 * waits[0][0]
    assert waits[1][1] == pytest.approx(waits[1][0], rel=0.1)


def upload(out: str, folder: Path) -> None:
    plain, protected = numbers(line_of(out, "drop-tail")), numbers(line_of(out, "ABC"))
    assert protected[0] > 2.5 * plain[0]
    assert protected == sorted(protected)
    assert (folder / "out" / "examples" / "upload.svg").exists()


def red_knobs(out: str, _: Path) -> None:
    rows = [line.split() for line in out.splitlines() if line.startswith(("drop ", "mark "))]
    assert len(rows) == 12
    found = {(row[0], row[1], row[3]): [float(cell.rstrip("%")) for cell in (row[4], *row[6:])] for row in rows}
    for (action, least, probability), (wait, used, lost, marked) in found.items():
        assert used > 99
        assert (lost if action == "mark" else marked) == 0
        # The thresholds hold 5 or 50 to 150 of 1500 B at 20 Mbit/s; more probability means less of a wait.
        assert int(least) * 0.6 < wait < 150 * 0.6
        assert probability == "0.02" or wait < 0.75 * found[action, least, "0.02"][0]
        other = found["drop" if action == "mark" else "mark", least, probability]
        assert wait == pytest.approx(other[0], rel=0.1)
        assert lost + marked == pytest.approx(other[2] + other[3], rel=0.15)


def splits(out: str, start: str) -> dict[str, list[float]]:
    """Shares of weight 1, 2 and 4 by marker."""
    lines = [line.removeprefix(start).strip() for line in out.splitlines() if line.startswith(start)]
    found = {line[:14].strip(): numbers(line[14:]) for line in lines}
    return {marker: [shares[0], shares[1], shares[3]] for marker, shares in found.items()}


def willing_to_pay(out: str, _: Path) -> None:
    # A window is weight over price; sending whole packets costs half of one, 3 % of the least window here.
    paid = splits(out, "WTP")
    assert len(paid) == 5
    assert all(shares == pytest.approx([1, 2, 4], rel=0.05) for shares in paid.values())
    each, once = splits(out, "MulTCP, every-mark"), splits(out, "MulTCP, once-per-rtt")
    assert all(shares == pytest.approx([1, 2, 4], rel=0.11) for shares in each.values())
    # N² + √(N⁴ + 2 N² / p) less half a packet, at independent marks with p = 0.06
    assert once["constant"] == pytest.approx([1, 2.47, 6.86], rel=0.05)
    assert once["virtual queue"][2] > 20
    assert all(shares[2] > 4.5 for shares in once.values())
    assert out in (ROOT / "docs" / "weighted_sharing.md").read_text(encoding="utf-8")


def weighted_network(out: str, _: Path) -> None:
    lines = [line for line in out.splitlines() if line.startswith("  ")]
    found = [re.findall(r"(\d+\.\d+)(?: ± (\d+\.\d+))? shares", line) for line in lines]
    simulated, predicted = ([float(row[column][0]) for row in found] for column in (0, 1))
    noise = [float(row[0][1]) for row in found]

    def near(expected: Sequence[float], share: float) -> bool:
        """Whether every mean is within a share of what is expected, and the half width of its own interval."""
        rows = zip(simulated, expected, noise, strict=True)
        return all(abs(mean - wanted) <= share * wanted + half for mean, wanted, half in rows)

    # Equal prices: weight over round trip, with 100 ms for one.
    assert near([1, 2 / 3, 4 / 2, 1, 2, 4], 0.1)
    assert near(predicted, 0.07)
    assert out in (ROOT / "docs" / "weighted_sharing.md").read_text(encoding="utf-8")


def policer_or_shaper(out: str, _: Path) -> None:
    rows = [line.split() for line in out.splitlines() if line.startswith(("policer", "shaper"))]
    assert len(rows) == 10
    least = {(row[0], row[1]): [float(cell) for cell in row[2::2]] for row in rows}
    # Reno's window goes from 2/3 to 4/3 of what the rate needs: what is above it, in the second half of its way up, are
    # W²/18 packets; at 100 and 200 ms 0.46 and 1.8 s of the rate, between what is tried below and at the size found.
    assert least["policer", "newreno"][2:] == [0.8, 2.0]
    for control in ("newreno", "cubic", "vegas", "compound", "illinois"):
        pairs = zip(least["shaper", control], least["policer", control], strict=True)
        assert all(shaper <= policer for shaper, policer in pairs)
    assert out in (ROOT / "docs" / "policing.md").read_text(encoding="utf-8")


def short_queues(out: str, _: Path) -> None:
    found = {
        name: numbers(line_of(out, name).replace("ms", "").replace("%", ""))
        for name in ("drop-tail", "CoDel", "PIE", "SFQ", "FQ-CoDel")
    }
    call, download, lost = ({name: row[at] for name, row in found.items()} for at in (0, 2, 4))
    # 250 packets of 1500 B at 10 Mbit/s are 300 ms.
    assert 200 < call["drop-tail"] < 300
    # PIE holds its target of 15 ms; CoDel's of 5 ms is where it begins, and eight flows of CUBIC push against it.
    assert call["PIE"] == pytest.approx(15, rel=0.1)
    assert 5 < call["CoDel"] < 20
    # In SFQ a packet waits for at most a packet of each download and the one in service, 1.2 ms each; a new flow of
    # FQ-CoDel waits only for that one, and for one of a download whose queue was emptied and is new as well.
    assert call["SFQ"] < 9 * 1.2
    assert call["FQ-CoDel"] < 2 * 1.2
    assert lost["SFQ"] == lost["FQ-CoDel"] == 0
    assert min(lost["drop-tail"], lost["CoDel"], lost["PIE"]) > 1
    assert download["SFQ"] > 200
    assert download["FQ-CoDel"] < 30


def borrowing(out: str, _: Path) -> None:
    everyone, quiet = out.split("The large one is quiet:")
    rates = [
        numbers(line.split(":")[1]) for part in (everyone, quiet) for line in part.splitlines() if line.startswith("  ")
    ]
    promised, capped, borrowed, ceiling = ([row[at] for at in (0, 2, 4)] for row in rates)
    assert promised == pytest.approx([2, 4, 6], rel=0.02)
    assert capped == pytest.approx([2, 4, 6], rel=0.02)
    # Six are left, shared 1 : 2, the ratio of the quanta.
    assert borrowed == pytest.approx([4, 8, 0], rel=0.03)
    assert ceiling == pytest.approx([5, 5, 0], rel=0.03)


def bleaching(out: str, _: Path) -> None:
    names = ("no middlebox", "clears ECN", "erases marks")
    found = {name: numbers(line_of(out, name).replace("%", "")) for name in names}
    for name, (rate, lost, marked, other_rate, other_lost, other_marked) in found.items():
        assert rate + other_rate > 8.5
        assert (marked == 0) == (name != "no middlebox")
        assert (lost > 0.2) == (name == "clears ECN")
        assert other_lost == 0 < other_marked
    assert found["no middlebox"][0] == pytest.approx(found["no middlebox"][3], rel=0.15)
    assert found["erases marks"][0] > 4 * found["erases marks"][3]


def marking_curve(out: str, folder: Path) -> None:
    found = {}
    for name in ("load-based", "virtual queue", "RED"):
        pairs = re.findall(r"(\d+)% costs ([\d.]+)", line_of(out, name))
        found[name] = [(float(load) / 100, float(price)) for load, price in pairs]
        assert len(pairs) == 5
        prices = [price for _, price in found[name]]
        assert prices == sorted(prices)  # more users, higher prices
    for load, price in found["load-based"]:
        assert price == pytest.approx(0.71 * (load - 0.6), abs=0.015)
    assert found["virtual queue"][-1][0] > found["virtual queue"][0][0]
    assert (folder / "out" / "examples" / "marking_curve.svg").exists()


def catching_a_cheat(out: str, _: Path) -> None:
    def table(text: str) -> dict[str, dict[str, float]]:
        head, *lines = text.strip().splitlines()
        audits = head[30:].replace("paid credit", "paid").replace("own drops", "own").split()
        values = {line[:30].strip(): map(float, re.findall(r"(-?[\d.]+) ±", line[30:])) for line in lines}
        return {cheat: dict(zip(audits, row, strict=True)) for cheat, row in values.items()}

    assert "inf" not in out
    found, ahead, others = (table(text) for text in out.split("\n\n")[:3])
    assert all(0.5 < gain < 2 for gain in found["honest"].values())
    assert found["declares 0%"]["none"] > 3 > 1 > found["declares 0%"]["both"]
    assert found["declares 0%"]["losses"] > 3  # one window of credit pays for all losses of a network that marks
    assert found["declares 50%"]["both"] < found["declares 50%"]["none"] / 2
    for share in ("50%", "25%", "0%"):
        assert max(found[f"declares {share}"][audit] for audit in ("own", "repeats")) < 1
    assert found["declares 0%, renews credit"]["marks"] > 3 > 1 > found["declares 0%, renews credit"]["ratio"]
    new_flows = ahead["declares 0%, 10 packets a flow"]
    assert new_flows["both"] > 1 > new_flows["strangers"]
    assert min(found["passes as legacy"].values()) > 3  # nobody audits it
    # Who declares too much harms himself, and nobody else.
    for cheat in ("declares 200%", "declares 1000%", "declares 10000%"):
        assert max(found[cheat].values()) < 1
        assert min(others[cheat].values()) > 0.97
    # Where its own drops count, an audit leaves the others what they have when nobody cheats.
    assert min(others[f"declares {share}"]["own"] for share in ("75%", "50%", "25%", "0%")) > 0.95
    assert out in (ROOT / "docs" / "conex" / "audits.md").read_text(encoding="utf-8")


def false_alarms(out: str, _: Path) -> None:
    rows = [line for line in out.splitlines() if line.startswith(("rfc", "linux", "ns2-linux"))]
    assert len(rows) == 3 * 4 * 5
    for row in rows:
        flows, packets, *others = (float(cell) for cell in row[48:].split())
        if row[10:28].strip() != "none":
            assert flows < 1, row  # of 1000
            assert packets < 1, row  # of 10000
            assert max(others[-2:]) == 0, row  # by what comes again, too
    # A count of three packets takes reordering for losses.
    assert min(float(row[48:].split()[2]) for row in rows if "linux     flight             losses r" in row) > 100
    assert out in (ROOT / "docs" / "conex" / "audits.md").read_text(encoding="utf-8")


def false_alarms_by_path(out: str, _: Path) -> None:
    rows = out.splitlines()[1:]
    assert len(rows) == 2 * 2 * 4
    for row in rows:
        accused = [int(count) for count in re.findall(r"(\d+) of \d+", row)]
        assert len(accused) == 4
        if row.startswith("losses") or "no credit" not in row:
            assert max(accused) == 0, row
        else:
            assert accused[:2] == [0, 0] < accused[2:], row  # a report is a round trip late, and marks are many
    assert out in (ROOT / "docs" / "conex" / "audits.md").read_text(encoding="utf-8")


def lte_cell(out: str, _: Path) -> None:
    got = {name: numbers(line_of(out, name).removeprefix(name)) for name in ("none", "by TCP's rate", "by volume")}
    assert got["none"][0] < 0.2 * got["none"][1]
    for name in ("by TCP's rate", "by volume"):
        assert got[name][0] > 3 * got["none"][0]
        assert got[name][1] < 0.1 * got["none"][1]


CHECKS: dict[str, Callable[[str, Path], None]] = {
    check.__name__: check
    for check in (
        run_scenario,
        compare_schemes,
        step_a_meter,
        sweep,
        weighted_sharing,
        rate_steps,
        upload,
        red_knobs,
        willing_to_pay,
        weighted_network,
        marking_curve,
        policer_or_shaper,
        short_queues,
        borrowing,
        bleaching,
        pages,
        video_evening,
        video_levels,
        own_rule,
        which_tcp,
        ping_under_load,
        catching_a_cheat,
        false_alarms,
        false_alarms_by_path,
        lte_cell,
    )
}


def test_every_example_has_a_check() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(CHECKS)


@pytest.mark.slow("runs a script of long simulations", only="^(?!.*step_a_meter)")
@pytest.mark.parametrize("name", sorted(CHECKS))
def test_example(name: str, work: Path) -> None:
    script = EXAMPLES / f"{name}.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 40
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=work, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    CHECKS[name](done.stdout, work)
    saved = EXAMPLES / "output" / f"{name}.txt"
    if os.environ.get("EVENFLOW_SAVE_OUTPUT"):
        saved.parent.mkdir(exist_ok=True)
        saved.write_text(done.stdout, encoding="utf-8")
    again = "Save it again: EVENFLOW_SAVE_OUTPUT=1 .venv/bin/python -m pytest tests/python/test_examples.py"
    if name != "sweep":  # it prints a table of polars, which lays it out as its version likes
        assert done.stdout == saved.read_text(encoding="utf-8"), again


def test_every_saved_output_is_of_an_example() -> None:
    assert {path.stem for path in (EXAMPLES / "output").iterdir()} == set(CHECKS)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_scenario_file(path: Path) -> None:
    import evenflow as ef

    scenario = ef.load(path)
    scenario.check()
    assert scenario.with_settings({"duration": "2 s", "warmup": "0 s"}).run().metric("packet_hops") > 0
