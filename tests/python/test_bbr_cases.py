"""The example test cases of the BBR draft (draft-ietf-ccwg-bbr, editors' copy of 3 August 2026), each in a network.

The table of docs/validation/bbr.md has their numbers. `python tests/python/test_bbr_cases.py` prints it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import evenflow as ef
import numpy as np
import pytest

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
PAGE = Path(__file__).parents[2] / "docs" / "validation" / "bbr.md"
PAYLOAD = 20e6 * 1448 / 1500
BDP = PAYLOAD * 0.0406 / 8 / 1448
NAMES = (
    "state", "pacing_gain", "cwnd_gain", "bandwidth", "bandwidth_shortterm", "inflight_longterm",
    "inflight_shortterm", "extra_acked", "window", "flight", "min_rtt", "pacing_rate", "app_limited",
)  # fmt: skip


class Flow:
    """One BBR flow over 20 Mbit/s and 40 ms, or over another link, with its series."""

    def __init__(self, duration: float, **settings: Any) -> None:
        link = settings.get("link") or line(settings.get("rate", '"20 Mbit/s"'), settings.get("limit", 264))
        flow = "groups.a.users[0].flows[0]"
        series = ", ".join(f'{{ of = "{flow}.{name}", every = "1 ms" }}' for name in NAMES)
        text = f"""
            duration = "{duration} s"
            record.series = [{series}]
            links.line = {{ {link}{settings.get("more", "")} }}
            {settings.get("stage", "")}
            [groups.a]
            users = 1
            path = [{settings.get("path", '"line"')}]
            traffic = {{ {settings.get("traffic", 'kind = "bulk"')} }}
            [groups.a.tcp]
            stack = "linux"
            pacing_rule = "{settings.get("pacing", "draft")}"
            congestion_control = {{ kind = "bbr"{settings.get("bbr", "")} }}
        """
        self.record = ef.run(tomllib.loads(text), seed=1)
        columns = {name: self.record.arrays(f"{flow}.{name}") for name in NAMES}
        self.time = columns["state"][0]
        self.of = {name: values for name, (_, values) in columns.items()}
        states = self.of["state"]
        known = np.flatnonzero(~np.isnan(states))
        changes = [i for n, i in enumerate(known) if n == 0 or states[i] != states[known[n - 1]]]
        self.path = [(float(self.time[i]), int(states[i])) for i in changes]

    def at(self, name: str, time: float) -> float:
        return float(self.of[name][np.searchsorted(self.time, time)])

    def stays(self, state: int) -> list[tuple[float, float, int]]:
        """Begin, end, and the next state of each stay in `state` that ends."""
        return [(begin, end, after) for (begin, of), (end, after) in pairwise(self.path) if of == state]

    def first(self, state: int, after: float = 0) -> float:
        return next(time for time, of in self.path if of == state and time > after)

    def within(self, name: str, begin: float, end: float = np.inf) -> np.ndarray[Any, np.dtype[np.float64]]:
        values = self.of[name][(self.time >= begin) & (self.time < end)]
        return values[~np.isnan(values)]


def metric(flow: Flow, name: str) -> float:
    value = flow.record.metric(name)
    assert value is not None
    return value


def line(rate: str, limit: int) -> str:
    return f'rate = {rate}, delay = "20 ms", queue = {{ limit = "{limit} packets" }}'


def steps(at: float, before: str, after: str) -> str:
    return f'{{ steps = [["0 s", "{before}"], ["{at:.3f} s", "{after}"]] }}'


ALONE = Flow(30)
"""One flow with four products of buffer."""

PARTS = 'kind = "request-response", response = "600 kB", think = "5 ms"'
"""Responses of 600 kB on a fast link: most samples are application-limited."""

AGGREGATION = ', reverse = { rate = "20 Mbit/s", delay = "20 ms", serve = { kind = "grants", every = "30 ms" } }'
"""ACKs come in batches."""


def startup_on_plateau() -> tuple[str, bool]:
    left = ALONE.first(DRAIN)
    known = ALONE.at("bandwidth", left) / PAYLOAD
    return f"DRAIN at {left:.2f} s, max_bw {known:.3f} of the line; rounds: unit test", abs(known - 1) < 0.02


def startup_on_loss() -> tuple[str, bool]:
    loss = ', loss = { probability = 0.05, from = "3 s", until = "3.3 s" }'
    flow = Flow(5, link='rate = "500 Mbit/s", delay = "20 ms"', more=loss, traffic=PARTS)
    left = flow.path[1][0]
    return f"STARTUP for 3 s, left {1e3 * (left - 3):.0f} ms after the first loss", 3 < left < 3.3


def drain_on_inflight() -> tuple[str, bool]:
    (begin, end, _), *_ = ALONE.stays(DRAIN)
    gain, flight = ALONE.at("pacing_gain", begin), ALONE.at("flight", end)
    return f"gain {gain}; {flight:.0f} packets in flight at the end, a product has {BDP:.0f}", (
        gain == 0.5 and flight <= BDP + 2
    )


def drain_on_time() -> tuple[str, bool]:
    flow = Flow(4, rate=steps(ALONE.first(DRAIN), "20 Mbit/s", "10 Mbit/s"), limit=1000)
    (begin, end, after), *_ = flow.stays(DRAIN)
    flight = flow.at("flight", end)
    return f"rate halved: {end - begin:.2f} s in DRAIN, then DOWN with {flight:.0f} packets in flight", (
        after == DOWN and flight > BDP and end - begin > 3 * 0.08
    )


def up_on_plateau() -> tuple[str, bool]:
    times = [end - begin for begin, end, after in ALONE.stays(UP) if after == DOWN]
    low, high = min(times), max(times)
    drops = sum(ALONE.record.json["links"]["line"]["drops"].values())
    return f"{len(times)} probes of {low:.2f} to {high:.2f} s, then DOWN; {drops:.0f} losses", (
        drops == 0 and low > 3 * 0.04 and high < 5 * 0.05
    )


def up_on_loss_when_limited() -> tuple[str, bool]:
    early = ', loss = { probability = 0.05, from = "3 s", until = "3.3 s" }'
    first = Flow(12, link='rate = "500 Mbit/s", delay = "20 ms"', more=early, traffic=PARTS)
    up = first.first(UP)
    more = f', loss = {{ probability = 0.05, from = "{up:.3f} s", until = "{up + 0.2:.3f} s" }}'
    # Two links: the loss that ends STARTUP, then that of the probe.
    stage = f'links.second = {{ delay = "0 s"{more} }}'
    flow = Flow(
        12, link='rate = "500 Mbit/s", delay = "20 ms"', more=early, traffic=PARTS, stage=stage, path='"line", "second"'
    )
    begin, end, after = flow.stays(UP)[0]
    # DOWN finds little in flight and ends with the same ACK.
    return f"DOWN {1e3 * (end - begin):.0f} ms after losses of 5 % began", (
        after in (DOWN, CRUISE) and end - begin < 0.12
    )


def limited_stays() -> tuple[str, bool]:
    flow = Flow(60, link='rate = "500 Mbit/s", delay = "20 ms"', traffic=PARTS)
    return "STARTUP for 60 s; UP: unit test", [state for _, state in flow.path] == [STARTUP]


def down_on_inflight() -> tuple[str, bool]:
    flow = Flow(30, limit=12)
    ends = [(end, flow.at("flight", end)) for _, end, after in flow.stays(DOWN) if after == CRUISE]
    most = max(flight for _, flight in ends)
    bound = 0.85 * float(np.nanmin(flow.of["inflight_longterm"]))
    return f"{len(ends)} times CRUISE with {most:.0f} packets in flight; 0.85 of the bound is {bound:.0f}", (
        len(ends) > 5 and most <= max(BDP, bound) + 1
    )


def down_on_time() -> tuple[str, bool]:
    at = ALONE.first(DOWN)
    flow = Flow(10, rate=steps(at, "20 Mbit/s", "18 Mbit/s"), limit=1000)
    begin, end, after = flow.stays(DOWN)[0]
    return f"{end - begin:.2f} s in DOWN, then REFILL", after == REFILL and 1.9 < end - begin <= 3.1


def probe_rtt() -> tuple[str, bool]:
    stays = ALONE.stays(PROBE_RTT)
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(stays)]
    times = [end - begin for begin, end, _ in stays]
    gain = ALONE.at("cwnd_gain", stays[0][0] + 0.01)
    every, lasting = (f"{min(values):.2f} to {max(values):.2f} s" for values in (gaps, times))
    holds = min(gaps) >= 5 and gain == 0.5 and all(0.2 < time < 0.35 for time in times)
    return f"every {every} for {lasting}, gain {gain}; then CRUISE", (
        holds and all(after == CRUISE for *_, after in stays)
    )


def skipped_probe_rtt() -> tuple[str, bool]:
    flow = Flow(60, traffic='kind = "request-response", response = "4 MB", think = "6 s"')
    count = sum(state == PROBE_RTT for _, state in flow.path)
    return f"{count} PROBE_RTT in 60 s with pauses of 6 s", count == 0


def aggregation_in_startup() -> tuple[str, bool]:
    flow = Flow(30, more=AGGREGATION)
    left = flow.first(DRAIN)
    product = PAYLOAD * float(np.nanmin(flow.of["min_rtt"])) / 8 / 1448
    extra, window = max(flow.within("extra_acked", 0, left)), max(flow.within("window", 0, left)) / product
    known = flow.at("bandwidth", left) / PAYLOAD
    return f"extra_acked {extra:.0f} packets, window {window:.1f} products, max_bw {known:.2f} of the line", (
        extra > 0 and window > 2 and known > 0.98
    )


def aggregation_in_cruise() -> tuple[str, bool]:
    flow = Flow(30, more=AGGREGATION)
    cruising = flow.of["state"] == CRUISE
    extra = float(np.nanmean(flow.of["extra_acked"][cruising]))
    used = metric(flow, "links.line.utilisation")
    return f"extra_acked {extra:.0f} packets on average; utilisation {used:.3f}", extra > 0 and used > 0.95


def sub_packet_product() -> tuple[str, bool]:
    flow = Flow(30, link='rate = "1 Mbit/s", delay = "100 us", queue = { limit = "50 packets" }')
    window = min(flow.within("window", 2))
    rate = float(np.nanmedian(flow.of["pacing_rate"][flow.of["state"] == CRUISE])) / (PAYLOAD / 20)
    used = metric(flow, "links.line.utilisation")
    return f"least window {window:.0f} packets, pacing rate {rate:.3f} of the line, utilisation {used:.3f}", (
        window == 4 and abs(rate - 1) < 0.02 and used > 0.99
    )


def ten_times_more() -> tuple[str, bool]:
    flow = Flow(30, rate=steps(20, "10 Mbit/s", "100 Mbit/s"), limit=1000)
    up = flow.first(UP, 20)
    there = float(flow.time[np.argmax(flow.of["bandwidth"] > 0.9 * 5 * PAYLOAD)])
    return f"90 % of 100 Mbit/s {(there - up) / 0.0406:.0f} round trips after UP began", there - up < 25 * 0.0406


def ten_times_less() -> tuple[str, bool]:
    flow = Flow(50, rate=steps(20, "100 Mbit/s", "10 Mbit/s"), limit=200)
    short = float(flow.time[np.argmax((flow.time > 20) & ~np.isnan(flow.of["bandwidth_shortterm"]))])
    there = float(flow.time[np.argmax((flow.time > 20) & (flow.of["bandwidth"] < 1.05 * PAYLOAD / 2))])
    cycles = sum(state == DOWN and 20 < time <= there + 0.1 for time, state in flow.path)
    return f"bw_shortterm {short - 20:.1f} s after the step; max_bw falls to 10 Mbit/s with cycle {cycles}", (
        short < 21.5 and cycles <= 3 and there < 50
    )


def policed() -> tuple[str, bool]:
    stage = 'stages.p = { kind = "policer", rate = "10 Mbit/s", burst = "200 kB" }'
    flow = Flow(40, link='rate = "100 Mbit/s", delay = "20 ms"', stage=stage, path='"p", "line"')
    stage_record = flow.record.json["stages"]["p"]
    lost = stage_record["red"] / (stage_record["red"] + stage_record["green"])
    short = float(np.nanmedian(flow.of["bandwidth_shortterm"][flow.time > 20])) / (PAYLOAD / 2)
    rate = metric(flow, "groups.a.throughput_bps") / 1e6
    return f"bw_shortterm {short:.2f} of the token rate; {rate:.1f} of 10 Mbit/s pass; {100 * lost:.1f} % lost", (
        rate > 9 and lost < 0.1 and abs(short - 1) < 0.1
    )


def spurious_recovery() -> tuple[str, bool]:
    up = ALONE.first(UP)
    window = f'from = "{up + 0.03:.3f} s", until = "{up + 0.06:.3f} s"'
    flow = Flow(up + 1, more=f', jitter = {{ normal = "20 ms", order = "reorder", {window} }}')
    after = [state for time, state in flow.path if up < time < up + 0.1]
    return f"recoveries end in UP {after.count(UP)} times", DOWN in after and UP in after[after.index(DOWN) :]


def spurious_timeout() -> tuple[str, bool]:
    up = ALONE.first(UP)
    rates = (
        f'{{ steps = [["0 s", "20 Mbit/s"], ["{up + 0.03:.3f} s", "0 bit/s"], ["{up + 0.43:.3f} s", "20 Mbit/s"]] }}'
    )
    flow = Flow(up + 1, rate=rates)
    lost = flow.first(DOWN, up)
    back = flow.first(UP, lost)
    free = not np.isfinite(flow.at("inflight_longterm", back + 0.01))
    return f"UP again {1e3 * (back - up - 0.43):.0f} ms after an outage of 400 ms; the bound is gone", (
        flow.at("window", back - 0.005) == 1 and free and flow.at("window", back + 0.01) > BDP
    )


def probe_rtt_in_startup() -> tuple[str, bool]:
    fast = 'rate = "1 Gbit/s", delay = "20 ms", queue = { limit = "4000 packets" }'
    flow = Flow(3, link=fast, bbr=', probe_rtt_interval = "200 ms"')
    order = [state for _, state in flow.path[:3]]
    return f"STARTUP, PROBE_RTT for {flow.path[2][0] - flow.path[1][0]:.2f} s, STARTUP", order == [0, 6, 0]


def loss_in_up() -> tuple[str, bool]:
    first = Flow(30, limit=12)
    up = first.first(UP)
    before = first.at("inflight_longterm", up)
    loss = f', loss = {{ probability = 0.1, from = "{up + 0.01:.3f} s", until = "{up + 0.2:.3f} s" }}'
    flow = Flow(up + 1, limit=12, more=loss)
    begin, end, after = next(stay for stay in flow.stays(UP) if stay[0] >= up - 0.001)
    bound = flow.at("inflight_longterm", end + 0.001)
    return f"DOWN {1e3 * (end - begin):.0f} ms after UP began; inflight_longterm {before:.0f} to {bound:.0f} packets", (
        after == DOWN and end - begin < 0.11 and bound < before
    )


def limited_in_refill() -> tuple[str, bool]:
    flow = Flow(60, traffic='kind = "request-response", response = "1 MB", think = { exponential = "100 ms" }')
    stays = flow.stays(REFILL)
    limited = [stay for stay in stays if np.mean(flow.within("app_limited", stay[0], stay[1])) > 0.3]
    low = min(flow.within("bandwidth", 3)) / PAYLOAD
    return f"{len(limited)} of {len(stays)} REFILL limited; all go to UP; max_bw at least {low:.3f} of the line", (
        len(limited) > 0 and low > 0.98 and all(after == UP for *_, after in stays)
    )


CASES: list[tuple[str, str, Callable[[], tuple[str, bool]]]] = [
    ("STARTUP ends on a plateau", "max_bw within 2 %; DRAIN after 3 rounds below 25 %", startup_on_plateau),
    ("STARTUP ends on loss, application-limited", "leaves on losses above 2 %", startup_on_loss),
    ("DRAIN ends on inflight", "gain 0.5 until a product is in flight", drain_on_inflight),
    ("DRAIN ends on time", "after 3 rounds with more than a product in flight", drain_on_time),
    ("UP ends on a plateau", "DOWN after 3 rounds without growth, no loss", up_on_plateau),
    ("UP ends on loss, application-limited", "DOWN within a round trip or two", up_on_loss_when_limited),
    ("STARTUP and UP do not end, application-limited", "no change without loss", limited_stays),
    ("DOWN ends on inflight", "CRUISE at a product and 0.85 of the bound", down_on_inflight),
    ("DOWN ends on time", "REFILL after bw_probe_wait, without CRUISE", down_on_time),
    ("PROBE_RTT", "after 5 s, gain 0.5, 200 ms and a round trip", probe_rtt),
    ("PROBE_RTT skipped after idle", "none", skipped_probe_rtt),
    ("STARTUP with aggregation", "window above 2 products, full bandwidth found", aggregation_in_startup),
    ("CRUISE with aggregation", "extra_acked in the window, full utilisation", aggregation_in_cruise),
    ("Product below a packet", "window of 4, pacing at the rate", sub_packet_product),
    ("Rate times 10", "found in O(log BDP) round trips", ten_times_more),
    ("Rate divided by 10", "bw_shortterm falls; max_bw follows after 2 cycles", ten_times_less),
    ("Token bucket policer", "stable at the token rate, little loss", policed),
    ("Spurious fast recovery", "state and bounds restored", spurious_recovery),
    ("Spurious timeout", "state and bounds restored", spurious_timeout),
    ("PROBE_RTT during STARTUP", "back to STARTUP", probe_rtt_in_startup),
    ("Loss in UP with a bound", "DOWN at once, lower bound", loss_in_up),
    ("Application-limited REFILL", "max_bw stays, then UP", limited_in_refill),
]


def row(name: str, expected: str, measured: str) -> str:
    return f"| {name} | {expected} | {measured} |"


@pytest.mark.parametrize(("name", "expected", "case"), CASES, ids=[case.__name__ for *_, case in CASES])
def test_case(name: str, expected: str, case: Callable[[], tuple[str, bool]]) -> None:
    measured, holds = case()
    assert holds, measured
    assert row(name, expected, measured) in PAGE.read_text(), row(name, expected, measured)


if __name__ == "__main__":
    for name, expected, case in CASES:
        measured, holds = case()
        print(row(name, expected, measured), "" if holds else "FAILS")
