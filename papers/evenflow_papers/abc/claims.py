"""What each claim compares; what is accepted, and the notes, are in claims.toml."""

from __future__ import annotations

import math

import numpy as np

from evenflow.claims import Check, Data
from evenflow.kit import Accept, Claims
from evenflow.lab import Floats, chosen_by_others, linear_correlation, rank_correlation
from evenflow.study import Run
from evenflow.values import (
    Comparison,
    Metric,
    Values,
    between,
    computed,
    each,
    extremum,
    joined,
    listed,
    of_runs,
    pooled,
    ratio_of_means,
    worse_of,
)

from . import analytic
from . import experiments as ex
from . import network as net
from .measures import (
    AVERAGE,
    BELOW_Q_BASE,
    DBE,
    DEF,
    DROPS_AT_0,
    DROPS_AT_24,
    DROPS_BELOW_12,
    INVERSE,
    LOSS_HEAVY,
    LOSS_LIGHT,
    T0,
    T1,
    TAIL,
    TAIL_PERCENT,
    TR,
    U_PERCENT,
    WORDS,
    Q,
    U,
    adaptation_s,
    data_packet_bytes,
    data_segments,
    histogram,
    offered_mbps,
    packet_bytes,
    payload_bytes,
    received_kb,
    round_trip_ms,
    seconds_to_full_rate,
    total_histogram,
    variation,
)
from .network import ABC, CSFQ, CSFQ_Q_MIN, EF1, EF3, EF3_STRICT, FAIR, NO_ABC, NO_ABC_MEDF, NO_ABC_STRICT

claim = Claims("abc", __file__, words=WORDS)


def sensitivity(what: str, metric: Metric, **labels: str | float) -> Values:
    """A metric of the experiment with alternatives to open choices."""
    return metric("x-sensitivity", what=what, **labels)


# --- The sources, the network, the meter and the AQM ------------------------------------------------------------------

claim(
    "c01",
    each(
        "size_error",
        "UDP packets: largest error of the mean size",
        pooled(lambda runs: max(abs(packet_bytes(run) - 1500) for run in runs), scheme=ABC),
    ),
    # a flow's first round trips at 50 ms: nothing lost yet, and no window that would cut a segment short
    each("size", "TCP packets: mean size", Metric(data_packet_bytes)("x-checks", what=ex.RTT, delay_ms=50)),
    each("payload", "TCP packets: mean payload", Metric(payload_bytes)("x-checks", what=ex.RTT, delay_ms=50)),
    each(
        "offered",
        "{r0}, {r1}: offered over nominal",
        Metric(offered_mbps)(scheme=ABC).map(lambda v, r0, r1: v / (r0 + r1)),
    ),
)
claim(
    "c02",
    each("at_1_mbps", "1 Mbit/s", Metric(variation)(what=ex.POISSON, rate_mbps=1.0)),
    each("at_10_mbps", "10 Mbit/s", Metric(variation)(what=ex.POISSON, rate_mbps=10.0)),
)
claim(
    "c03",
    each(
        "more",
        "{delay_ms}: round trip − 2 (D_a + D_b)",
        Metric(round_trip_ms)(what=ex.RTT).map(lambda v, delay_ms: v - 2 * (0.1 + delay_ms)),
    ),
)
claim(
    "c04",
    each(
        "at_{delay_ms:g}_ms",
        "{delay_ms}",
        computed(lambda delay_ms: round(2 * (0.1 + delay_ms) * 1e-3 * 10e6 / 12000, 1), delay_ms=(5, 25, 50)),
    ),
)
PACKET_S = net.PACKET_BYTES * 8 / (net.BOTTLENECK_MBPS * 1e6)
claim("c05", each("packet", "a full packet", PACKET_S * 1e3), each("memory", "packets in 0.3 s", 0.3 / PACKET_S))
claim(
    "c06",
    each("drain_time", "24 packets at 10 Mbit/s", net.DRAIN_TIME_MS),
    in_service=net.DRAIN_TIME_MS * (net.BUFFER_PACKETS + 1) / net.BUFFER_PACKETS,
)
claim(
    "c07",
    each("sum", "S after 15 s at 5 Mbit/s", computed(lambda: analytic.weighted_sum_bytes(3.0, 15.0) / 1e6)),
)
claim(
    "c08",
    each("burst", "sent at one instant", computed(lambda: analytic.bytes_until_equal_activity(3.0) / 1e6)),
    each(
        "sent",
        "sent at {rate:g} Mbit/s",
        computed(lambda rate: analytic.bytes_until_equal_activity_at(3.0, rate * 1e6) / 1e6, rate=(6.0, 10.0, 100.0)),
    ),
)
claim(
    "c09",
    each(
        "per_second",
        "{m_am}: volume over memory",
        computed(lambda m_am: analytic.bytes_until_equal_activity(m_am) / m_am / 1e6, m_am=(1.0, 3.0, 10.0)),
    ),
)
claim(
    "c10",
    each(
        "violations",
        "packets whose sign of A contradicts R_m against R_r",
        computed(lambda: float(analytic.sign_violations())),
    ),
    each("error", "largest error of A(2R) − A(R) = 1", computed(analytic.doubling_error)),
)


def drop_sequence(run: Run) -> tuple[bytes, bytes]:
    """When and to which flow packets were dropped, exactly."""
    times, flows = run.series("events.drop.flow")
    return times.tobytes(), flows.tobytes()


@claim.measure("c11")
def scaled_reference_rates(data: Data, accept: Accept) -> list[Check]:
    """Drops with scaled reference rates against those of the same seed without."""
    runs = data["abc-x-scale"].runs
    plain = {run.seed: drop_sequence(run) for run in runs if run.labels["factor"] == 1.0}
    found = []
    for factor in sorted({float(run.labels["factor"]) for run in runs} - {1.0}):
        scaled = [run for run in runs if run.labels["factor"] == factor]
        if math.log2(factor).is_integer():
            wrong = sum(drop_sequence(run) != plain[run.seed] for run in scaled)
            found.append(accept("differing", f"s = {factor:g}: runs with another drop sequence", float(wrong)))
        else:
            drops = sum(len(drop_sequence(run)[0]) for run in scaled) / sum(len(plain[run.seed][0]) for run in scaled)
            found.append(accept("drops", f"s = {factor:g}: drops over those at s = 1", drops))
    return found


claim(
    "c12",
    each("error", "{s}: largest error of the shift", computed(lambda s: analytic.shift_error(s), s=analytic.FACTORS)),
)


def drops_below_q_min(runs: list[Run]) -> float:
    """Drops of ABC at a queue shorter than Q_min."""
    found = 0.0
    for run in runs:
        q_min = int(min(float(run.labels.get("q_min", 12)), float(run.labels.get("q_base", 20))))
        found += float(histogram(net.AT_DROP, run)[:q_min].sum())
    return found


@claim.measure("c13")
def drops_in_short_queues(data: Data, accept: Accept) -> list[Check]:
    """Drops below Q_min in every run that counts them, and decisions stepped directly."""
    found = []
    for number in (9, 10, 12, 16):
        runs = [run for run in data[f"abc-fig{number:02d}"].runs if run.labels.get("scheme", ABC) == ABC]
        label = f"figure {number}, {len(runs)} runs: drops at Q < Q_min"
        found.append(accept("drops", label, drops_below_q_min(runs)))
    changed = {
        "when all activities shift by 3": analytic.changed_decisions(3.0),
        "when all activities shift by −8": analytic.changed_decisions(-8.0),
        "with the size of packets": analytic.changed_decisions(0.0, 200),
    }
    return [
        *found,
        accept("drops", "stepped by hand: drops at Q < Q_min", float(analytic.drops_below_q_min())),
        *(accept("changed", f"decisions that change {how}", float(count)) for how, count in changed.items()),
    ]


claim(
    "c14",
    each(
        "relative",
        "{r0}, {r1}: (T0/T1) / (R0/R1)",
        TR(scheme=NO_ABC).where(lambda r0, r1: r0 + r1 >= 12).map(lambda v, r0, r1: v / (r0 / r1)),
    ),
)
PER_FLOW = each("per_flow", "{f0}, {delay_ms}: TR / f0", TR("fig04", scheme=NO_ABC).map(lambda v, f0: v / f0))
IN_STEP = {
    "alike": TR("fig04", scheme=NO_ABC, f0=1, delay_ms=5),
    "apart": sensitivity(ex.HOSTS, TR, how="1.2 ms", setting=ex.IN_STEP, delay_ms=5),
}
claim(
    "c15",
    PER_FLOW,
    each("per_flow", "10 flows against 10 users with one, {delay_ms}: TR / 10", TR("fig09", scheme=NO_ABC) / 10),
    **IN_STEP,
)

# --- Figure 3: two users who send Poisson traffic ---------------------------------------------------------------------


def overloaded(r0: float, r1: float) -> bool:
    """Offered load of 1.25 times the capacity and more."""
    return r0 + r1 >= 12.5


PUSHED = T0(scheme=ABC, r1=7.5)
TOP = T0(scheme=ABC, r1=10)
STEP = "T0, step {before} → {after} Mbit/s"
claim("c16", each("step", "T0, {r1}, step {before} → {after} Mbit/s", T0(scheme=NO_ABC).steps("r0")))
claim(
    "c17",
    each("utilisation", "{r0}, {r1}: utilisation", U(scheme=NO_ABC).where(overloaded)),
    each("queue", "{r0}, {r1}: queue", Q(scheme=NO_ABC).where(overloaded)),
)
claim(
    "c18",
    each(
        "relative",
        "{r0}, {r1}: T0 with ABC over T0 without",
        T0(scheme=ABC).where(lambda r0, r1: r0 + r1 <= 8.5) / T0(scheme=NO_ABC),
    ),
)
claim(
    "c19",
    each("t0", "{r0}: T0", T0(scheme=ABC, r1=2.5, r0=between(9))),
    each("t1", "{r0}: T1", T1(scheme=ABC, r1=2.5, r0=between(9))),
)
claim("c20", each("step", STEP, T0(scheme=ABC, r1=2.5).steps("r0")))
NEAR = math.log2(7.5 / 7)
claim(
    "c21",
    each("tracks", "{r0}: T0 over R0", PUSHED.at(r0=between(hi=6)).map(lambda v, r0: v / r0)),
    each("height", "highest T0", PUSHED.peak("r0")),
    extremum("place", "T0", PUSHED, "r0", unit="Mbit/s"),
    near=NEAR,
    packets=16 * NEAR,
)
claim(
    "c22",
    each("step", STEP, PUSHED.at(r0=between(7.5, 9)).steps("r0")),
    each("t0", "{r0}: T0", PUSHED.at(r0=between(9))),
    each("t1", "{r0}: T1", T1(scheme=ABC, r1=7.5, r0=between(9))),
)
claim(
    "c23",
    each("tracks", "{r0}: T0 over R0", TOP.at(r0=between(hi=7.5)).map(lambda v, r0: v / r0)),
    each("step", STEP, TOP.at(r0=between(10, 12.5)).steps("r0")),
    each("t0", "{r0}: T0", TOP.at(r0=between(12.5))),
)
claim(
    "c24",
    each("t0", "R0 = R1 = {r0:g} Mbit/s: T0", T0(scheme=ABC, r0=[7.5, 10.0]).where(lambda r0, r1: r0 == r1)),
)
claim(
    "c25",
    each(
        "more",
        "{r0}, {r1}: loss ratio, faster − slower",
        (LOSS_HEAVY(scheme=ABC) - LOSS_LIGHT(scheme=ABC))
        .where(lambda r0, r1: r0 + r1 > 10 + 1e-6 and abs(math.log(r0 / r1)) >= 0.1)
        .map(lambda v, r0, r1: v if r0 > r1 else -v),
    ),
)
claim(
    "c26",
    each("relative", "{r0}, {r1}: queue with ABC over without", (Q(scheme=ABC) / Q(scheme=NO_ABC)).where(overloaded)),
    each("utilisation", "{r0}, {r1}: utilisation with ABC", U(scheme=ABC).where(overloaded)),
)
claim(
    "c27",
    each(
        "share",
        "{r0}, {r1}: share of time with Q < 20",
        BELOW_Q_BASE(scheme=ABC).where(lambda r0, r1: overloaded(r0, r1) and abs(r0 / r1 - 1) > 0.15),
    ),
)
claim("c28", each("difference", "{r0}: T0 as EF − T0 as BE", T0(scheme=EF1) - T0(scheme=ABC)))
claim(
    "c29",
    each("relative", "{r0}: T0 at a_EF 3 over T0 at a_EF 1", T0(scheme=EF3, r0=between(3, 7.5)) / T0(scheme=EF1)),
    each("t0", "{r0}: T0 at a_EF 3", T0(scheme=EF3, r0=between(3))),
)
claim("c30", each("wait", "{scheme:short}, {r0}", DEF(scheme=[EF1, EF3]).where(lambda r0: r0 <= 5 or r0 >= 8)))
claim(
    "c31",
    each("height", "longest mean wait of EF", DEF(scheme=EF1).peak("r0")),
    extremum("place", "mean wait of EF", DEF(scheme=EF1), "r0", unit="ms"),
)
for name in ("c32", "c33"):
    claim(name, each("longest", "longest mean wait of BE, at {r0}", DBE(scheme=EF1).peak("r0")))
claim("c34", each("wait", "{r0}", DBE(scheme=EF3)))
claim(
    "c35",
    each("more", "{r0}: BE wait at a_EF 1 − at a_EF 3", DBE(scheme=EF1, r0=between(4, 10)) - DBE(scheme=EF3)),
)
claim(
    "c36",
    each(
        "less",
        "{r0}: EF wait at a_EF 3 − at a_EF 1",
        DEF(scheme=EF3, r0=between(3)) - DEF(scheme=EF1),
        defined=True,
    ),
)

# --- Figures 4 and 5: a heavy TCP user against a light one ------------------------------------------------------------

claim("c37", PER_FLOW, **IN_STEP)
claim("c38", each("ratio", "{f0}, {delay_ms}: TR", TR(scheme=ABC, delay_ms=[5])))
claim("c39", each("ratio", "{f0}, {delay_ms}: TR", TR(scheme=ABC, delay_ms=[50])))
SHORT, LONG = (TR(scheme=ABC, delay_ms=delay, f0=between(2)) for delay in (5, 50))
claim("c40", each("relative", "{f0}: TR at 5 ms over TR at 50 ms", SHORT / LONG), short=SHORT, long=LONG)
claim("c41", each("longer", "{scheme}, {f0}: queue at 5 ms − at 50 ms", Q(delay_ms=5) - Q(delay_ms=50)))
claim("c42", each("rank", "{scheme}, {delay_ms}: rank correlation", Q().reduce("f0", rank_correlation)))
claim(
    "c43",
    each("relative", "{f0}, {delay_ms}: queue with ABC over without", Q(scheme=ABC) / Q(scheme=NO_ABC)),
    saved=Q(scheme=NO_ABC) - Q(scheme=ABC),
)
claim("c44", each("utilisation", "{scheme}, {f0}", U(delay_ms=5)))
claim(
    "c45",
    each("start", "{scheme}, {f0}", U(delay_ms=50, f0=[1])),
    each("end", "{scheme}, {f0}", U(delay_ms=50, f0=[20])),
    each("rise", "{scheme}: from 1 to 20 flows", U(delay_ms=50, f0=20) - U(delay_ms=50, f0=1)),
)
USE_GAP = U(scheme=ABC) - U(scheme=NO_ABC)
USE_ELSEWHERE = each(
    "elsewhere",
    "{f0}, {delay_ms}: utilisation with − without ABC",
    USE_GAP.where(lambda f0, delay_ms: (f0, delay_ms) != (1, 50)),
)
claim(
    "c46",
    each("exception", "{f0}, {delay_ms}: utilisation with − without ABC", USE_GAP.at(f0=[1], delay_ms=[50])),
    USE_ELSEWHERE,
    abc=U(scheme=ABC, f0=1, delay_ms=50),
    plain=U(scheme=NO_ABC, f0=1, delay_ms=50),
)
claim.wider(
    "c46",
    each(
        "apart",
        "{f0}, {delay_ms}: utilisation with and without ABC apart",
        # in whichever direction: for each seed that of the other seeds' mean
        USE_GAP.at(f0=[1], delay_ms=[50]).map(lambda v: v * np.sign(v.sum() - v)),
    ),
    USE_ELSEWHERE,
)


def with_over_without_priority(scheme: str) -> Values:
    """TR with priority over TR without, both without ABC, at 50 ms."""
    return TR("fig05n", scheme=[scheme], delay_ms=50) / TR("fig04", scheme=NO_ABC, delay_ms=50)


WITH_OVER_WITHOUT = "{scheme:short}, {f0}: TR with over without priority"
claim(
    "c47",
    each("relative", WITH_OVER_WITHOUT, with_over_without_priority(NO_ABC_STRICT)),
    medf=with_over_without_priority(NO_ABC_MEDF),
    at_once=sensitivity(ex.HOSTS, TR, how="none", setting=ex.IN_STEP_STRICT, delay_ms=50),
    slower=sensitivity(ex.HOSTS, TR, how="1.2 ms", setting=ex.IN_STEP_STRICT, delay_ms=50),
)
claim.wider("c47", each("relative", WITH_OVER_WITHOUT, with_over_without_priority(NO_ABC_MEDF)))
claim(
    "c48",
    each(
        "inverse",
        "{f0}: mean T1 over mean T0",
        ratio_of_means(T1(scheme=NO_ABC_STRICT, delay_ms=5), T0(scheme=NO_ABC_STRICT, delay_ms=5)),
    ),
    medf=ratio_of_means(T0(scheme=NO_ABC_MEDF, delay_ms=5), T1(scheme=NO_ABC_MEDF, delay_ms=5)),
)


def from_to(metric: Metric, scheme: str, delay_ms: int, names: str = "") -> list[Comparison]:
    """The two ends of a curve of figure 5, and that it rises between them."""
    one, most = (metric(scheme=scheme, delay_ms=[delay_ms], f0=[f0]) for f0 in (1, 20))
    return [
        each(f"start{names}", "{f0}, {delay_ms}", one),
        each(f"end{names}", "{f0}, {delay_ms}", most),
        each("rise", "{delay_ms}: increase from 1 to 20 flows", most.unlabelled("f0") - one.unlabelled("f0")),
    ]


claim("c49", each("ratio", "{f0}: TR", TR(scheme=EF1, delay_ms=5)))
claim("c50", *from_to(TR, EF1, 50))
claim("c51", each("ratio", "{f0}: TR", TR(scheme=EF3, delay_ms=5)))
claim("c52", *from_to(TR, EF3, 50))
claim("c53", each("relative", "{f0}, {delay_ms}: TR at a_EF 3 over a_EF 1", TR(scheme=EF3) / TR(scheme=EF1)))
claim("c54", each("wait", "{scheme:short}, {f0}, {delay_ms}", DEF()), share=DEF() / DBE())
claim("c55", *from_to(DBE, EF1, 5, "_5_ms"), *from_to(DBE, EF1, 50, "_50_ms"))
claim(
    "c56",
    each("level_5_ms", "{f0}, {delay_ms}", DBE(scheme=EF3, delay_ms=[5])),
    *from_to(DBE, EF3, 50, "_50_ms"),
)


def use_at_three(delay_ms: int) -> Comparison:
    """Utilisation with EF bytes counted three times, less that with once."""
    gap = U(scheme=EF3, delay_ms=delay_ms) - U(scheme=EF1, delay_ms=delay_ms)
    return each("difference", "{f0}: utilisation at a_EF 3 − at a_EF 1", gap)


claim(
    "c57",
    each("utilisation", "{scheme:short}, {f0}", U(delay_ms=5)),
    use_at_three(5),
    idle=100 - U_PERCENT("fig05", delay_ms=5),
)
claim("c58", *from_to(U, EF1, 50))
claim("c59", use_at_three(50))

# --- Figures 6 and 7: a UDP user against a user with one TCP flow -----------------------------------------------------

INVERSE_OF_MEANS = ratio_of_means(T1("fig06", scheme=NO_ABC), T0("fig06", scheme=NO_ABC))
T1_OVER_T0 = "{r0}, {delay_ms}: mean T1 over mean T0"
claim(
    "c60",
    each("inverse_at_6", T1_OVER_T0, INVERSE_OF_MEANS.at(r0=[6.0])),
    each("inverse_at_8", T1_OVER_T0, INVERSE_OF_MEANS.at(r0=[8.0])),
    each("inverse", T1_OVER_T0, INVERSE_OF_MEANS.where(lambda r0: r0 > 5 and r0 not in (6.0, 8.0))),
)
claim(
    "c61",
    each("at_10", "{r0}, {delay_ms}: queue", Q(scheme=NO_ABC, r0=[10.0])),
    each("at_12_5", "{r0}, {delay_ms}: queue", Q(scheme=NO_ABC, r0=[12.5])),
)
claim("c62", each("utilisation", "{r0}", U(scheme=NO_ABC, delay_ms=5)))
USE_AT_50 = U(scheme=NO_ABC, delay_ms=50)
claim(
    "c63",
    each("lowest", "lowest, at {r0}", USE_AT_50.trough("r0")),
    extremum("place", "utilisation", USE_AT_50, "r0", lowest=True),
    each("full", "{r0}", USE_AT_50.at(r0=between(11))),
    window=131072 / 1446,
)
HIGHEST = "{delay_ms}: highest TR, at {r0}"
PLAIN_PEAK = TR("fig06", scheme=ABC, r0=between(hi=10)).peak("r0")
ONCE_PEAK, THRICE_PEAK = (TR("fig07", scheme=scheme, r0=between(hi=10)).peak("r0") for scheme in (EF1, EF3))
claim("c64", each("height", HIGHEST, PLAIN_PEAK), heights=listed("{value} at {delay_ms:g} ms", PLAIN_PEAK, ", "))
TORN = listed("{value:runs} at {r0:g} Mbit/s", TR("fig06", scheme=ABC, delay_ms=50, r0=[9.0, 10.0, 11.0]), ", ")
claim(
    "c65",
    each("plateau", "{r0}, {delay_ms}: TR", TR(scheme=ABC, delay_ms=[50], r0=between(5, 10))),
    each("fall", "{r0}, {delay_ms}: TR", TR(scheme=ABC, r0=between(12.5))),
    torn=TORN,
)
claim("c66", each("t0", "{r0}, {delay_ms}: T0", T0(scheme=ABC, r0=[20.0])))
claim(
    "c67",
    each(
        "relative",
        "{r0}, {delay_ms}: queue with ABC over without",
        (Q(scheme=ABC) / Q(scheme=NO_ABC)).where(lambda r0: r0 > 10),
    ),
)
USE_GAP_AT_50 = U(scheme=ABC, delay_ms=50) - USE_AT_50
claim(
    "c68",
    each("small", "{r0}: utilisation with − without ABC", USE_GAP_AT_50.at(r0=between(1, 2))),
    each("larger", "{r0}: utilisation with − without ABC", USE_GAP_AT_50.at(r0=between(5, 9))),
)
claim(
    "c69",
    each("with_abc", "{r0}, {delay_ms}: TR with ABC", TR(scheme=ABC)),
    each("without", T1_OVER_T0 + " without ABC", INVERSE_OF_MEANS.at(r0=between(10))),
    torn=TORN,
)
STARVED = T1("fig07n", scheme=EF3_STRICT).where(lambda r0: r0 > 10)
claim(
    "c70",
    each("strict", "{r0}, {delay_ms}: T1, strict priority", STARVED),
    each("medf", "{r0}, {delay_ms}: T1, MEDF", T1("fig07", scheme=EF3).at_points_of(STARVED)),
    kept=listed("{value:runs} Mbit/s at {r0} and {delay_ms:g} ms", STARVED),
)


def worse_with_priority(scheme: str) -> Comparison:
    """T1/T0 with priority less that without, both without ABC: lower means a higher TR."""
    gap = INVERSE("fig07n", scheme=[scheme]) - INVERSE("fig06", scheme=NO_ABC)
    return each("inverse", "{scheme:short}, {r0}, {delay_ms}: T1/T0, EF − BE", gap)


claim("c71", worse_with_priority(NO_ABC_STRICT))
claim.wider("c71", worse_with_priority(NO_ABC_MEDF))
claim(
    "c72",
    each(
        "height",
        "{delay_ms}: highest TR, with over without priority",
        ONCE_PEAK.unlabelled("r0") / PLAIN_PEAK.unlabelled("r0"),
    ),
    each("fall", "{r0}, {delay_ms}: TR", TR("fig07", scheme=EF1, r0=between(12.5))),
    once=TR("fig07", scheme=EF1, delay_ms=5, r0=between(12.5)),
    without=TR("fig06", scheme=ABC, delay_ms=5, r0=between(12.5)),
    waits=DBE("fig07", scheme=EF1, delay_ms=5, r0=between(12.5)),
)
claim(
    "c73",
    each("height", HIGHEST, THRICE_PEAK),
    each(
        "relative",
        "{delay_ms}: highest TR at a_EF 3 over a_EF 1",
        THRICE_PEAK.unlabelled("r0") / ONCE_PEAK.unlabelled("r0"),
    ),
)
LONGEST = DBE(scheme=EF1).peak("r0").unlabelled("r0")
claim(
    "c74",
    each("longest", "{delay_ms}: longest mean wait", LONGEST),
    extremum("place", "{delay_ms}: mean wait", DBE(scheme=EF1), "r0", unit="ms"),
    each("fall", "{delay_ms}: wait at 20 Mbit/s over the longest", DBE(scheme=EF1, r0=20.0) / LONGEST),
)
claim(
    "c75",
    each(
        "less",
        "{r0}, {delay_ms}: BE wait at a_EF 3 − at a_EF 1",
        DBE(scheme=EF3, r0=between(5, 8)) - DBE(scheme=EF1),
    ),
)
claim("c76", each("wait", "{scheme:short}, {r0}, {delay_ms}", DEF()))
claim(
    "c77",
    each(
        "more",
        "{r0}: utilisation at a_EF 3 − at a_EF 1",
        U(scheme=EF3, delay_ms=50, r0=between(2, 3)) - U(scheme=EF1, delay_ms=50),
    ),
)
claim(
    "c78",
    each(
        "difference",
        "{r0}, {delay_ms}: utilisation with − without priority",
        U("fig07", scheme=EF1) - U("fig06", scheme=ABC),
    ),
)

# --- Figures 8 to 10: reference rates, and the parameters of the AQM --------------------------------------------------

claim("c79", each("relative", "{s}, {flows}: TR over s", TR(delay_ms=5).map(lambda v, s: v / s)))
for name, flows in (("c80", 1), ("c81", 2)):
    claim(
        name,
        each("ratio", "{s}, {flows}, {delay_ms}", TR(s=[16], flows=[flows], delay_ms=[50])),
        windows=listed(
            "{value} with {how}", sensitivity(ex.TCP_WINDOW, TR, setting=ex.FIGURE_8.format(flows=flows)), ", "
        ),
    )
ONE, TWO = (TR(s=[8, 16], flows=flows, delay_ms=50).map(lambda v, s: np.abs(s - v)) for flows in (1, 2))
claim(
    "c82",
    each("closer", "{s}: distance to s with one flow − with two", ONE - TWO),
    each("lower", "{s}, {flows}: TR at 5 ms − at 50 ms", TR(s=[8, 16], delay_ms=5) - TR(delay_ms=50)),
)
Q_MINS = [3, 6, 12]
"""Figure 9's; our 18 is extra and no claim covers it."""
GAMMA_ONE = TR(scheme=ABC, gamma=[1], q_min=Q_MINS)
claim(
    "c83",
    each("ratio", "{gamma}, {q_min}, {delay_ms}: TR", GAMMA_ONE),
    short=GAMMA_ONE.at(delay_ms=5),
    long=GAMMA_ONE.at(delay_ms=50),
)
claim("c84", each("ratio", "{gamma}, {delay_ms}: TR", TR(scheme=ABC, q_min=12, gamma=between(8, 32))))
claim(
    "c85",
    each(
        "relative",
        "{delay_ms}: TR at γ = 128 over γ = 16",
        TR(scheme=ABC, q_min=12, gamma=128) / TR(scheme=ABC, q_min=12, gamma=16),
    ),
)
claim(
    "c86",
    each(
        "lower",
        "{gamma}, {q_min}: TR at 5 ms − at 50 ms",
        TR(scheme=ABC, q_min=Q_MINS, delay_ms=5) - TR(scheme=ABC, delay_ms=50),
    ),
)


def against_q_min_12(metric: Metric) -> Values:
    """A metric less that at Q_min = 12."""
    return metric(scheme=ABC, q_min=[3, 6], gamma=between(hi=16)) - metric(scheme=ABC, q_min=12)


claim(
    "c87",
    each("ratio", "{gamma}, {delay_ms}: TR at Q_min {q_min:g} − at 12", against_q_min_12(TR)),
    each("queue", "{gamma}, {delay_ms}: queue at Q_min {q_min:g} − at 12", against_q_min_12(Q)),
)
claim(
    "c88",
    each(
        "step",
        "queue, {q_min}, {delay_ms}, step {before} → {after}",
        Q(scheme=ABC, q_min=Q_MINS).steps("gamma"),
    ),
    each(
        "longer",
        "{gamma}, {q_min}: queue at 5 ms − at 50 ms",
        Q(scheme=ABC, q_min=Q_MINS, delay_ms=5) - Q(scheme=ABC, delay_ms=50),
    ),
)
claim(
    "c89",
    each("short", "ABC, 5 ms", U(scheme=ABC, delay_ms=5, gamma=16, q_min=12)),
    each("long", "ABC, 50 ms", U(scheme=ABC, delay_ms=50, gamma=16, q_min=12)),
    each("without", "no ABC, 50 ms", U(scheme=NO_ABC, delay_ms=50)),
)
STEEP = U(scheme=ABC, gamma=128, q_min=Q_MINS, delay_ms=50)
claim(
    "c90",
    each(
        "relative",
        "{q_min}: utilisation at γ = 128 over γ = 16",
        STEEP / U(scheme=ABC, gamma=16, delay_ms=50),
    ),
    each("step", "utilisation at γ = 128 over Q_min, step {before} → {after}", STEEP.steps("q_min")),
)


def spread(_: list[float], curve: Floats) -> Floats:
    """Largest less smallest value of a curve, both chosen for each seed by the others."""
    places = range(len(curve))
    return chosen_by_others(curve, places) - chosen_by_others(curve, places, lowest=True)


AT_24 = "{gamma}, {delay_ms}: TR at Q_base 24 over 22"
claim(
    "c91",
    each(
        "spread",
        "{gamma}, {delay_ms}: largest − smallest TR, Q_base 16 to 22",
        TR(gamma=[16], q_base=between(16, 22)).reduce("q_base", spread),
    ),
    each(
        "level",
        "{gamma}, {q_base}, {delay_ms}: TR over that at 20",
        TR(q_base=between(16, 22)).where(lambda q_base: q_base != 20) / TR(q_base=20),
    ),
    each("full", AT_24, TR(q_base=24, gamma=between(hi=4)) / TR(q_base=22)),
    each("full_large_gamma", AT_24, TR(q_base=24, gamma=between(4.1)) / TR(q_base=22)),
)
claim(
    "c92",
    each("step", "queue, {gamma}, {delay_ms}, step {before} → {after}", Q().steps("q_base")),
    each("whole", "{gamma}, {delay_ms}: queue at Q_base {after} over {before}", Q().last_over_first("q_base")),
)
TAIL_LABEL = "{gamma}, {q_base}, {delay_ms}: tail drops of all drops"
claim(
    "c93",
    each("below", TAIL_LABEL, TAIL(q_base=between(hi=22))),
    each("at_23", TAIL_LABEL, TAIL(q_base=[23], gamma=between(hi=16))),
    each("at_24", TAIL_LABEL, TAIL(q_base=[24], gamma=between(hi=16))),
    full=TAIL_PERCENT(q_base=24, gamma=between(hi=16)),
)

# --- Figures 11 to 13: memories of meters and averager ----------------------------------------------------------------


def received(after_s: float, memory_s: float | None, **labels: float | list[float]) -> Values:
    """Kilobytes received after so long, with ABC and a meter memory, or without ABC."""
    return received_kb(after_s)("fig11", scheme=NO_ABC if memory_s is None else net.upload_label(memory_s), **labels)


def gain_at_the_end(f1: int, delay_ms: int) -> Comparison:
    """Received after 50 s with ABC over that without."""
    one, other = (received(50, memory, f1=[f1], delay_ms=[delay_ms]) for memory in (3, None))
    return each("end", "{f1}, {delay_ms}: received after 50 s, with ABC over without", ratio_of_means(one, other))


claim(
    "c94",
    each(
        "relative",
        "{f1}: received after 1 s, with ABC over without",
        ratio_of_means(received(1, 3, delay_ms=5), received(1, None, delay_ms=5)),
    ),
)
claim(
    "c95",
    each(
        "step",
        "{f1}: received after 1 s, meter memory, step {before} → {after} s",
        joined(*(received(1, memory, delay_ms=5).labelled(m_am=memory) for memory in (1, 3, 10))).steps("m_am"),
    ),
)


def memory_ratio(after_s: float) -> Values:
    """Received with the longest memory over that with the shortest."""
    shortest = received(after_s, 1, delay_ms=5).map(lambda v: np.where(v > 0, v, math.nan))
    return received(after_s, 10, delay_ms=5) / shortest


claim(
    "c96",
    each(
        "less",
        "{f1}: received with 10 s over 1 s of memory, after 2 s − after 50 s",
        memory_ratio(2) - memory_ratio(50),
    ),
)
claim("c97", gain_at_the_end(1, 5))
claim("c98", gain_at_the_end(2, 5))


def early_gain(after_s: float, delay_ms: int) -> Values:
    """Received with ABC less that without."""
    return received(after_s, 3, delay_ms=delay_ms) - received(after_s, None, delay_ms=delay_ms)


claim(
    "c99",
    *(
        each(
            "smaller",
            f"{{f1}}: gain by ABC after {after:g} s, at 5 ms − at 50 ms",
            early_gain(after, 5) - early_gain(after, 50),
        )
        for after in (1, 2)
    ),
    gain_at_the_end(2, 50),
)
claim("c100", each("ratio", "{m_am}, {delay_ms}: TR", TR(m_aa=0.3, m_am=between(2))))
claim("c101", each("ratio", "{m_am}, {delay_ms}: TR", TR(m_aa=0.3, m_am=between(0, 0.25))))
claim(
    "c102",
    each("step", "queue, {delay_ms}, meter memory, step {before} → {after} s", Q(m_aa=0.3).steps("m_am")),
    each("longer", "{m_am}: queue at 5 ms − at 50 ms", Q(m_aa=0.3, delay_ms=5) - Q(m_aa=0.3, delay_ms=50)),
)
claim(
    "c103",
    each(
        "relative",
        "{m_am}, {delay_ms}: utilisation over that at 3 s",
        U(m_aa=0.3).where(lambda m_am: m_am > 0.5 and m_am != 3) / U(m_aa=0.3, m_am=3),
    ),
)


def other_averagers(metric: Metric) -> Values:
    """A metric where the averager's memory is not 0.3 s."""
    return metric(m_aa=lambda m_aa: m_aa != 0.3, m_am=between(0.5))


AVERAGER = "{m_am}, {delay_ms}: %s at averager memory {m_aa:g} s %s 0.3 s"
claim(
    "c104",
    each("ratio", AVERAGER % ("TR", "− at"), other_averagers(TR) - TR(m_aa=0.3)),
    each("queue", AVERAGER % ("queue", "over"), other_averagers(Q) / Q(m_aa=0.3)),
    each("utilisation", AVERAGER % ("utilisation", "over"), other_averagers(U) / U(m_aa=0.3)),
)
WITHOUT, WITH = (of_runs(seconds_to_full_rate, scheme=scheme, m_aa=0.3) for scheme in (NO_ABC, ABC))
claim("c105", each("at_{delay_ms:g}_ms", "{scheme}, {delay_ms}", of_runs(seconds_to_full_rate, m_aa=0.3)))
for name, delay in (("c106", 25), ("c107", 50)):
    claim(
        name,
        each(
            "gain",
            "{delay_ms}: seconds to full rate, without − with ABC",
            WITHOUT.at(delay_ms=[delay]) - WITH.at(delay_ms=[delay]),
        ),
    )
ADAPTATION = of_runs(adaptation_s, scheme=ABC)
claim(
    "c108",
    each(
        "first",
        "{m_aa}: first data segment",
        of_runs(lambda runs: float(data_segments(runs[0])[1][0]), scheme=ABC, delay_ms=5),
    ),
    each(
        "smallest",
        "{m_aa}: smallest",
        of_runs(lambda runs: float(data_segments(runs[0])[1].min()), scheme=ABC, delay_ms=5),
    ),
    each("time_at_{m_aa:name}_s", "{m_aa}: time to 19 packets", ADAPTATION.at(delay_ms=5)),
)
claim(
    "c109",
    each(
        "later",
        "{delay_ms}: time to 19 packets, averager memory {after} s − {before} s",
        ADAPTATION.steps("m_aa"),
    ),
)

# --- Figures 14 to 16: the fair meter, and core-stateless fair queueing -----------------------------------------------

claim("c110", each("t0", "{r0}, {r1}: T0", T0(panel="a", scheme=FAIR, r0=[20.0], r1=[5.0, 7.5])))
claim("c111", each("t0", "{r0}, {r1}: T0", T0(panel="a", scheme=FAIR, r0=[20.0], r1=[2.5])))
claim(
    "c112",
    each(
        "more",
        "{r0}, {r1}: T0, fair − normal meter",
        T0(panel="a", scheme=FAIR, r0=[15.0, 20.0], r1=[5.0, 7.5]) - T0(panel="a", scheme=ABC),
    ),
)


def fair_ratio(fair: Values, normal: Values, where: str) -> list[Comparison]:
    """TR with the fair meter, and less that with the normal one."""
    return [
        each("ratio", f"{where}, {{delay_ms}}: TR, fair meter", fair),
        each("more", f"{where}, {{delay_ms}}: TR, fair − normal meter", fair - normal),
    ]


claim("c113", *fair_ratio(TR(panel="b", scheme=FAIR, f0=between(2)), TR(panel="b", scheme=ABC), "{f0}"))
FAIR_MIXED = TR(panel="c", scheme=FAIR, r0=between(7.5))
claim("c114", *fair_ratio(FAIR_MIXED, TR(panel="c", scheme=ABC), "{r0}"), fair=FAIR_MIXED)


def max_min_share(r0: float, r1: float, capacity: float = net.BOTTLENECK_MBPS) -> float:
    """User 0's max-min fair throughput in Mbit/s when the users offer `r0` and `r1`."""
    return min(r0, max(capacity / 2, capacity - r1))


claim(
    "c115",
    each(
        "relative",
        "{r0}, {r1}: T0 over the max-min share",
        T0(panel="a", scheme=CSFQ).where(overloaded).map(lambda v, r0, r1: v / max_min_share(r0, r1)),
    ),
)
UDP_CSFQ, UDP_ABC, UDP_FAIR = (
    T0(figure, panel="a", scheme=scheme, r1=7.5, r0=[15.0, 20.0])
    for figure, scheme in (("fig15", CSFQ), ("fig14", ABC), ("fig14", FAIR))
)
claim(
    "c116",
    each("relative", "{r0}: T0, normal meter over CSFQ", UDP_ABC / UDP_CSFQ),
    each("more", "{r0}: T0, fair meter − CSFQ", UDP_FAIR - UDP_CSFQ),
)
TCP_CSFQ = TR("fig15", panel="b", scheme=CSFQ)
MIXED_CSFQ = TR("fig15", panel="c", scheme=CSFQ)
claim("c117", each("ratio", "{f0}", TCP_CSFQ.at(delay_ms=5, f0=between(2))))
claim(
    "c118",
    each("start", "{f0}", TCP_CSFQ.at(delay_ms=50, f0=[1])),
    each("end", "{f0}", TCP_CSFQ.at(delay_ms=50, f0=[20])),
    each("rise", "increase from 1 to 20 flows", TCP_CSFQ.at(delay_ms=50, f0=20) - TCP_CSFQ.at(delay_ms=50, f0=1)),
)
claim("c119", each("more", "{f0}, {delay_ms}: TR, CSFQ − ABC", TCP_CSFQ.at(f0=between(2)) - TR("fig04", scheme=ABC)))
claim(
    "c120",
    each("at_5", "{r0}, {delay_ms}: TR", MIXED_CSFQ.at(r0=[5.0])),
    each(
        "correlation",
        "{delay_ms}: correlation of TR with R0 up to 5 Mbit/s",
        MIXED_CSFQ.at(r0=between(hi=5)).reduce("r0", linear_correlation),
    ),
)
claim("c121", each("ratio", "{r0}", MIXED_CSFQ.at(delay_ms=5).where(lambda r0: r0 > 5)))
STARVING_T1, STARVING_T0 = (metric(panel="c", scheme=CSFQ, delay_ms=50, r0=between(10)) for metric in (T1, T0))
claim("c122", each("inverse", "{r0}: mean T1 over mean T0", ratio_of_means(STARVING_T1, STARVING_T0)))


def drops(scheme: str, first: int, last: int | None = None) -> Values:
    """Drops in all runs of a scheme at these queue lengths."""
    return pooled(lambda runs: float(total_histogram(net.AT_DROP, runs)[first:last].sum()), "fig16", scheme=scheme)


def overflows(runs: list[Run]) -> float:
    """Drops by overflow in all runs."""
    return float(sum(run.json["links"]["bottleneck"]["drops"].get("limit", 0) for run in runs))


claim(
    "c123",
    each("drops", "drops at Q < 12", drops(ABC, 0, 12)),
    each("drops", "drops at Q > 23", drops(ABC, 24)),
    each("drops", "drops by overflow", pooled(overflows, scheme=ABC)),
    full=drops(ABC, 24),
    early=drops(ABC, 0, 12),
    all=drops(ABC, 0),
)
claim(
    "c124",
    each("empty", "share of drops at Q = 0", DROPS_AT_0(scheme=CSFQ)),
    each("short", "share of drops at Q < 12", DROPS_BELOW_12(scheme=CSFQ)),
)
claim("c125", each("share", "share of drops at Q = 24", DROPS_AT_24(scheme=CSFQ)))
claim(
    "c126",
    each("drops", "drops at Q < 12 with the change", drops(CSFQ_Q_MIN, 0, 12)),
    each("change", "TR with − without the change", TR(scheme=CSFQ_Q_MIN) - TR(scheme=CSFQ)),
)
KNOBS = set(net.abc().queue) | set(net.abc().stage or {})
claim(
    "c127",
    each(
        "loss",
        "{delay_ms}: loss of fairness or utilisation, told 20 % too much",
        worse_of(TR(told=12.0) / TR(told=10.0) - 1, 1 - U(told=12.0) / U(told=10.0)),
    ),
    each("knobs", "parameters of ABC that name a capacity", float(len(KNOBS & {"capacity", "rate"}))),
    **{
        f"{name}_{how}": metric(told=told)
        for name, metric in (("tr", TR), ("use", U))
        for how, told in (("right", 10.0), ("wrong", 12.0))
    },
)


def received_less_accepted(metric: Metric) -> Values:
    """A metric with the average over received packets, less that over accepted ones."""
    return metric(scheme=net.RECEIVED_TOO) - metric(scheme=net.ACCEPTED)


AGAINST = "{r0} against {light}: %s, received − accepted"
claim(
    "c128",
    each("average", AGAINST % "A_avg", received_less_accepted(AVERAGE)),
    each("t1", AGAINST % "T1", received_less_accepted(T1)),
    each("loss", AGAINST % "loss ratio of the heavy user", received_less_accepted(LOSS_HEAVY)),
)

# --- Numbers in choices.toml ------------------------------------------------------------------------------------------

claim(
    "be-offset",
    **{
        f"{name}_{how.replace('.', '_')}": sensitivity(ex.BE_OFFSET, metric, how=how)
        for name, metric in (("ef", DEF), ("be", DBE))
        for how in ("2", "1.5")
    },
)
claim(
    "meter-start",
    **{
        f"{name}_{delay}": sensitivity(ex.METER_START, received_kb(1), how=how, delay_ms=delay)
        for name, how in (("run", "run"), ("packet", "first-packet"))
        for delay in (5, 50)
    },
)
claim(
    "tcp-window",
    **{
        name: listed(
            "{value} with {how}", sensitivity(ex.TCP_WINDOW, TR, setting=ex.FIGURE_8.format(flows=flows)), ", "
        )
        for name, flows in (("one", 1), ("two", 2))
    },
    use=listed("{value} with {how}", sensitivity(ex.TCP_WINDOW_USE, U), ", "),
)
claim(
    "csfq-form",
    ratio=listed(
        "{setting}, {delay_ms:g} ms: TR {value} ({how})",
        sensitivity(ex.CSFQ_VARIANT, TR).where(lambda setting: setting != ex.CSFQ_FIGURE_16),
    ),
    overflow=listed(
        "{delay_ms:g} ms: {value} % ({how})",
        sensitivity(ex.CSFQ_VARIANT, DROPS_AT_24, setting=ex.CSFQ_FIGURE_16).map(lambda v: 100 * v),
    ),
)
claim(
    "processing",
    ratio=listed("{setting}, {delay_ms:g} ms, {how}: TR {value:runs}", sensitivity(ex.HOSTS, TR)),
)
