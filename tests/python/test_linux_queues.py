"""How a kernel's queues are asked, for whatever part of the validation, and the part `shapers`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "validation")]

import linux_queues  # noqa: E402
import shapers  # noqa: E402
import validate  # noqa: E402
from linux import InvalidError  # noqa: E402
from linux_queues import Asked, Kernel, Sender  # noqa: E402

CASES = {case.name: case for case in shapers.points() if not case.steps}
CHANGED = {case.name: case for case in shapers.points() if case.steps}
ASKED = Asked([["qdisc", "add"]], [Sender(6e6, 1000)], rate=5e6, seconds=10.0, warmup=3.0)


def left(sender: int, count: int, begin: float, end: float) -> list[list[float]]:
    """So many packets of a sender, evenly from (exclusive) begin to end (inclusive), 10 ms after they were sent."""
    times = [begin + (end - begin) * (k + 1) / count for k in range(count)]
    return [[sender, number, at - 0.01, at] for number, at in enumerate(times)]


# A kernel, running or in user mode.


def test_what_is_measured() -> None:
    asked = replace(ASKED, senders=[Sender(3e6, 1000), Sender(3e6, 500)], rate=1e6)
    early, late = [0, 0, 2.5, 3.0], [1, 9, 9.9, 10.1]
    # 700 packets of 1000 bytes and as many of 500 in 7 s.
    packets = [early, *left(0, 700, 3.0, 10.0), *left(1, 700, 3.0, 10.0), late]
    assert [len(mine) for mine in asked.measured(packets)] == [700, 700]
    assert asked.rates(packets) == [800_000, 400_000]
    assert asked.carried(packets) == pytest.approx(1.2)


def test_a_run_goes_on_beyond_what_is_measured() -> None:
    assert ASKED.job(3)["seconds"] > ASKED.seconds
    assert ASKED.job(3, 0.1)["seconds"] == 0.1


@pytest.mark.parametrize(("user", "become"), [(0, []), (1000, ["--map-root-user"])])
def test_the_running_kernel_is_asked_in_a_namespace(
    monkeypatch: pytest.MonkeyPatch, user: int, become: list[str]
) -> None:
    monkeypatch.setattr(linux_queues.os, "geteuid", lambda: user)
    kernel = Kernel({"sfq": ASKED})
    command = kernel.command(Path("job"), Path("answer"))
    assert command == ["unshare", *become, "--net", sys.executable, "-B", str(kernel.program), "job", "answer"]


def test_a_user_mode_kernel_is_a_machine_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = Kernel({"sfq": ASKED})
    machine = tmp_path / "usr" / "bin" / "linux.uml"
    machine.parent.mkdir(parents=True)
    machine.touch()
    monkeypatch.setattr(linux_queues.shutil, "which", lambda name: str(machine))
    kernel.user_mode = True
    command = kernel.command(Path("job"), Path("answer"))
    assert command[0] == str(machine)
    assert command[-1] == str(tmp_path / "usr" / "lib" / "uml" / "modules")
    assert command[command.index("--") + 2 :][:3] == [str(kernel.program), "job", "answer"]


def test_a_kernel_that_cannot_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = Kernel({"fq-codel": ASKED})
    fake = tmp_path / "fake.py"
    fake.write_text('import sys; open(sys.argv[2], "w").write(\'{"cannot": "no codel here"}\')', encoding="utf-8")
    monkeypatch.setattr(kernel, "command", lambda job, answer: [sys.executable, str(fake), str(job), str(answer)])
    with pytest.raises(InvalidError, match="no codel here"):
        kernel.ask({"seconds": 0.1})
    fake.write_text('import sys; sys.exit("no namespaces")', encoding="utf-8")
    with pytest.raises(InvalidError, match="no namespaces"):
        kernel.ask({"seconds": 0.1})
    monkeypatch.setattr(linux_queues.shutil, "which", lambda name: None if name == "linux.uml" else f"/bin/{name}")
    reason = str(kernel.missing())
    assert "no namespaces" in reason
    assert "veth sch_htb sch_fq_codel" in reason
    monkeypatch.setattr(linux_queues.shutil, "which", lambda name: None)
    assert "iproute2" in str(kernel.missing())


def test_a_user_mode_kernel_is_asked_where_the_running_one_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(dict.fromkeys(("htb", "tbf"), ASKED))
    monkeypatch.setattr(linux_queues.platform, "system", lambda: "Linux")
    monkeypatch.setattr(linux_queues.shutil, "which", lambda name: f"/bin/{name}")

    def answer(job: Mapping[str, Any]) -> dict[str, Any]:
        if not kernel.user_mode:
            raise InvalidError("no htb here")
        return {"packets": [], "release": "6.1"}

    monkeypatch.setattr(kernel, "ask", answer)
    monkeypatch.setattr(linux_queues.Path, "read_bytes", lambda path: b"")
    assert kernel.missing() is None
    assert kernel.describe() == "sch_htb and sch_tbf of Linux 6.1 in user mode, 3 runs a point in real time"


def test_a_busy_machine_is_asked_again_and_then_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(linux_queues, "CACHE", tmp_path)
    kernel, asked = Kernel({"pie": ASKED}), []
    full = int(5e6 * 7 / 8000)

    def answer(job: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(job["seed"])
        return {"packets": left(0, full if len(asked) == 2 else full // 2, 3.0, 10.0)}

    monkeypatch.setattr(kernel, "ask", answer)
    found = kernel.run(ASKED, 7, fresh=False)
    assert asked == [7, 7]
    assert len(found) == full
    assert "run 7: 50.0% of the rate left" in capsys.readouterr().err
    assert kernel.run(ASKED, 7, fresh=False) == found
    assert asked == [7, 7], "what was found is kept"
    with pytest.raises(InvalidError, match="too busy"):
        kernel.run(ASKED, 8, fresh=False)
    assert len(asked) == 2 + linux_queues.TRIES


# Shapers.


def told(name: str) -> list[str]:
    return [" ".join(arguments) for arguments in CASES[name].asked.tc]


def test_what_the_kernel_is_told_of_htb() -> None:
    htb, root, b, c, d = told("priority")
    assert htb == "qdisc add dev shaped root handle 1: htb"
    same = "burst 15000b cburst 15000b"
    assert root == f"class add dev shaped parent 1: classid 1:1 htb rate 8000000bit ceil 8000000bit {same}"
    leaf = f"htb rate {{}}bit ceil 8000000bit {same} prio {{}} quantum 1514"
    assert b == "class add dev shaped parent 1:1 classid 1:2 " + leaf.format(1_000_000, 1)
    assert c == "class add dev shaped parent 1:1 classid 1:3 " + leaf.format(1_500_000, 0)
    assert d == "class add dev shaped parent 1:1 classid 1:4 " + leaf.format(500_000, 1)


def test_classes_come_after_their_parents() -> None:
    lines = told("levels")[1:]
    at = {line.split()[7]: line.split()[5] for line in map(str, lines)}
    assert at == {f"1:{n}": p for n, p in enumerate(["1:", "1:1", "1:1", "1:2", "1:2", "1:3", "1:3"], start=1)}


def test_senders_are_in_their_classes_and_never_run_dry() -> None:
    senders = CASES["levels"].asked.job(1)["senders"]
    # Handle 1:4 as a number is 0x10004; the first three have classes below them.
    assert [sender["priority"] for sender in senders] == [0x10004, 0x10005, 0x10006, 0x10007]
    assert {sender["gaps"] for sender in senders} == {"greedy"}
    assert [sender["bytes"] for sender in CASES["unlike frames"].asked.job(1)["senders"]] == [1514, 214]


def test_what_the_kernel_is_told_of_tbf() -> None:
    [one], [two] = told("one bucket"), told("two buckets")
    assert one == "qdisc add dev shaped root tbf rate 3000000bit burst 15000b limit 200000"
    assert two == f"{one} peakrate 24000000bit mtu 45000"
    assert CASES["one bucket"].asked.job(1)["senders"][0]["priority"] == 0


def test_all_that_can_leave() -> None:
    assert {case.name: case.asked.rate for case in CASES.values() if case.of == "htb"} == dict.fromkeys(
        ("quantum", "priority", "ceilings", "levels", "unlike frames"), 8e6
    )
    assert CASES["two buckets"].asked.rate == 3e6


def test_a_kernels_answer_is_read_as_rates() -> None:
    # From 2 to 12 s: 1000 frames of 1514 bytes and 2000 of 214.
    packets = left(0, 5, 1.0, 2.0) + left(0, 1000, 2.0, 12.0) + left(1, 2000, 2.0, 12.0) + left(1, 5, 12.1, 12.5)
    found = CASES["unlike frames"].metrics(packets)
    assert found == {"rate of b (bit/s)": 1_211_200, "rate of c (bit/s)": 342_400}


RATES: Mapping[str, Sequence[float]] = {
    # 5 of 8 Mbit/s are left over, and lent by 6000 to 2000.
    "quantum": (2 + 3.75, 1 + 1.25),
    # All of the 5 goes to the first priority.
    "priority": (1, 1.5 + 5, 0.5),
    "ceilings": (1.5, 2.5, 4),
    # Equal quanta count bytes, not frames.
    "unlike frames": (4, 4),
    "one bucket": (3,),
    "two buckets": (3,),
}


@pytest.mark.parametrize("name", RATES)
def test_our_side_shares_as_worked_out_by_hand(name: str) -> None:
    case = CASES[name]
    case.scenario.check()
    found = case.metrics_of_ours(case.scenario.run(1))
    assert list(found) == [f"rate of {sender} (bit/s)" for sender in case.senders]
    assert list(found.values()) == pytest.approx([1e6 * rate for rate in RATES[name]], rel=0.01)


@pytest.mark.slow("waits for a real kernel")
def test_the_kernel_keeps_to_ceilings() -> None:
    case = CASES["ceilings"]
    kernel = Kernel({case.of: case.asked})
    if (reason := kernel.missing()) is not None:
        pytest.skip(reason)
    asked = replace(case.asked, seconds=2.5, warmup=1.0)
    packets = kernel.ask(asked.job(1))["packets"]
    if asked.carried(packets) < linux_queues.CARRIED:
        pytest.skip("the machine is too busy for real time; run this test alone")
    assert asked.rates(packets) == pytest.approx([1.5e6, 2.5e6, 4e6], rel=0.03)
    assert [number for sender, number, *_ in packets if sender == 0] == list(range(sum(p[0] == 0 for p in packets)))


def test_reasons_name_points_that_exist() -> None:
    reasons = validate.Reasons(ROOT / "validation" / "differences.toml")
    assert "timers" in reasons.find("Linux", "linux-htb", "rate of d (bit/s)", CASES["levels"].point)
    every = {**CASES, **CHANGED}
    mine = [entry for entry in reasons._entries if entry["scenario"] in {case.check for case in every.values()}]
    assert mine
    assert {name for entry in mine for name in entry["where"]["case"]} <= set(every)


# Classes and filters that change on the way.


def told_on_the_way(name: str) -> list[tuple[float, list[str]]]:
    return [(at, [" ".join(command) for command in commands]) for at, commands in CHANGED[name].asked.changes]


def test_what_the_kernel_is_told_on_the_way() -> None:
    same = "burst 15000b cburst 15000b prio 0 quantum 1514"
    change = "class change dev shaped parent 1:1 classid 1:{} htb rate {}bit ceil {}bit " + same
    assert told_on_the_way("shares by level") == [
        (5.0, [change.format(3, 1_795_200, 1_795_200)]),
        (8.5, [change.format(3, 4_681_600, 4_681_600)]),
    ]
    assert told_on_the_way("a narrower root")[0][1] == [
        "class change dev shaped parent 1: classid 1:1 htb rate 4000000bit ceil 4000000bit burst 15000b cburst 15000b"
    ]
    [(_, faster), _] = told_on_the_way("another rate")
    assert faster == ["qdisc change dev shaped root tbf rate 6000000bit burst 15000b limit 200000"]
    [(_, anew), _] = told_on_the_way("shares by level, made anew")
    assert anew[0] == "qdisc del dev shaped root"
    assert anew[1:] == [
        line.replace("rate 100000bit ceil 100000bit", "rate 1795200bit ceil 1795200bit")
        for line in (" ".join(command) for command in CHANGED["shares by level, made anew"].asked.tc)
    ]


def test_senders_come_and_go_in_the_kernel_too() -> None:
    first, second = CHANGED["equal shares"].asked.job(1)["senders"]
    assert (first["begin"], first["end"], second["begin"], second["end"]) == (0.0, 8.5, 5.0, shapers.LATER)
    always = CHANGED["borrowing"].asked.job(1)["senders"]
    assert not any("begin" in sender for sender in always)


def test_all_that_can_leave_before_between_and_after() -> None:
    assert CHANGED["shares by level"].rates == [4_681_600, 6_476_800, 4_681_600]
    # 3 s of the first, 3.5 s of each of the others are measured.
    assert CHANGED["shares by level"].asked.rate == pytest.approx((3 * 4.6816 + 3.5 * 6.4768 + 3.5 * 4.6816) * 1e5)
    assert CHANGED["a narrower root"].rates == [8_000_000, 4_000_000, 6_000_000]
    assert CHANGED["another rate"].rates == [3_000_000, 6_000_000, 1_500_000]


def test_a_kernels_answer_is_read_before_between_and_after() -> None:
    packets = left(0, 300, 2.0, 5.0) + left(0, 999, 5.0, 5.5) + left(0, 600, 5.5, 8.5) + left(0, 150, 9.0, 12.0)
    found = CHANGED["another rate"].metrics(packets)
    of = "rate of a {} (bit/s)".format
    assert found == {of("before"): 811_200, of("between"): 1_622_400, of("after"): 405_600}


CHANGING: Mapping[str, Mapping[str, Sequence[float]]] = {
    "equal shares": {"b": (8, 4), "c": (4, 8)},
    "shares by level": {"b": (4.6816, 4.6816), "c": (1.7952, 4.6816)},
    "shares by level, made anew": {"b": (4.6816, 4.6816), "c": (1.7952, 4.6816)},
    # 5 of 8 Mbit/s are lent by 6000 to 2000, then the other way round; in the end b has its ceiling, c what is left.
    "borrowing": {"b": (5.75, 3.25, 2.5), "c": (2.25, 4.75, 5.5)},
    # 6, 2 and 4 Mbit/s are lent by halves, the first time up to a ceiling of 3.
    "a narrower root": {"b": (3, 2, 3), "c": (5, 2, 3)},
    # The 5.5 that are lent go to who is first, in the end up to a ceiling of 3: c's while b has its priority of before.
    "priority while it sends": {"b": (6.5, 6.5, 6.5), "c": (1.5, 1.5, 1.5)},
    "priority while it is empty": {"b": (1, 5), "c": (8, 7, 3)},
    "another rate": {"a": (3, 6, 1.5)},
}
"""Mbit/s while it sends: before, between, after."""


@pytest.mark.parametrize("name", CHANGED)
def test_our_side_changes_as_worked_out_by_hand(name: str) -> None:
    case = CHANGED[name]
    case.scenario.check()
    found = case.metrics_of_ours(case.scenario.run(1))
    for sender, rates in CHANGING[name].items():
        mine = [rate for metric, rate in found.items() if metric.startswith(f"rate of {sender} ")]
        assert mine == pytest.approx([1e6 * rate for rate in rates], rel=0.01), sender
    assert len(found) == sum(map(len, CHANGING[name].values()))


@pytest.mark.slow("waits for a real kernel")
def test_the_kernel_changes_a_class_while_it_sends() -> None:
    case = CHANGED["equal shares"]
    kernel = Kernel({case.of: case.asked})
    if (reason := kernel.missing()) is not None:
        pytest.skip(reason)
    [(_, commands), _] = case.asked.changes
    both = [replace(sender, span=None) for sender in case.asked.senders]
    asked = replace(case.asked, senders=both, changes=[(1.0, commands)], seconds=2.5, warmup=1.5, rate=8e6)
    packets = kernel.ask(asked.job(1))["packets"]
    if asked.carried(packets) < linux_queues.CARRIED:
        pytest.skip("the machine is too busy for real time; run this test alone")
    assert asked.rates(packets, (1.5, 2.5)) == pytest.approx([4e6, 4e6], rel=0.03)
    assert asked.rates(packets, (0.3, 1.0))[1] == pytest.approx(1e5, rel=0.5)
