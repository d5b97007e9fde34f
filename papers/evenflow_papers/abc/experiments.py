"""The paper's experiments: grids, the columns of their data, captions, and figures.

The values that the paper's text names are in every grid; it names few, so that the rest is ours. Each point has the
paper's 200 s and 10 seeds; scale quick thins grids and seeds.
"""

from __future__ import annotations

from itertools import product

from evenflow.claims import Scale
from evenflow.experiments import Experiments, Grid, grid, thin
from evenflow.figures import Figures, Looks, Mark, bars, curves, dots, drawn
from evenflow.lab import finite, optional
from evenflow.scenario import Scenario
from evenflow.stats import ratio_of_means as mean_ratio
from evenflow.study import Point, Run
from evenflow.values import Metric, Values, of_runs, ratio_of_means

from . import network as net
from .measures import (
    AXES,
    DBE,
    DEAD_LIGHT,
    DEF,
    DROPS_AT_0,
    DROPS_AT_24,
    DROPS_BELOW_12,
    T0,
    T1,
    TAIL,
    TAIL_PERCENT,
    TR,
    U_PERCENT,
    WORDS,
    Q,
    U,
    drop_shares,
    over_time,
    received_curve,
    received_kb,
    time_to_full_rate,
)

DELAYS_MS = (5, 50)
"""One-way delays D_b of the bottleneck (Table 1)."""
R0_UDP = (
    1.0,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.0,
    6.5,
    7.0,
    7.25,
    7.5,
    7.75,
    8.0,
    9.0,
    9.5,
    10.0,
    10.5,
    11.0,
    12.5,
    15.0,
    20.0,
)
R0_MIXED = (0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 10.0, 11.0, 12.5, 15.0, 17.5, 20.0)
R0_PRIORITY = thin(R0_MIXED, (2.5, 5.0, 6.0, 8.0, 12.5, 20.0))
F0 = thin((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20), (1, 2, 5, 10, 20))
R1_PRIORITY = 7.5
"""User 1's rate in the experiments with priority, Mbit/s."""

BAND = "Lines are means over the runs, bands their 95 % confidence intervals."
LINK = "Bottleneck of 10 Mbit/s with 24 packets of buffer."
PRIORITY = (net.EF1, net.EF3)


def tr_of_means(runs: list[Run]) -> float | None:
    """Mean T0 over mean T1 of a point."""
    return finite(mean_ratio([T0.of(run) for run in runs], [T1.of(run) for run in runs]).mean)


MEANS = {"TR_of_means": tr_of_means}
SHARES = {"T0_mbps": T0, "T1_mbps": T1, "TR": TR}
ALL = {**SHARES, "Q_packets": Q, "U": U}
WAITS = {**ALL, "dBE_ms": DBE, "dEF_ms": DEF}
DEAD = {"dead_light_flows": DEAD_LIGHT}

experiment = Experiments("abc", runs=(10, 3))
figure = Figures(WORDS, AXES)
BY_SCHEME = Looks("scheme", "delay_ms", "{scheme:legend}, {delay_ms:legend}")
FAIR = [Mark(y=1.0)]
MEAN_RATIO = "throughput ratio TR (ratio of means)"


def tr_by_means(**labels: str) -> Values:
    """TR as mean T0 over mean T1: a run's T1 may be zero."""
    return ratio_of_means(T0(**labels), T1(**labels))


# --- Figure 3: two UDP users ------------------------------------------------------------------------------------------

experiment(
    "fig03",
    "Two UDP users: throughput of user 0 over its rate, without and with ABC, without and with priority",
    grid(
        net.udp_pair,
        "r0",
        scheme=[net.NO_ABC, net.ABC],
        r0=thin(R0_UDP, (2.5, 5.0, 6.0, 7.0, 8.0, 10.0, 20.0)),
        r1=[2.5, 7.5, 10.0],
    ),
    grid(
        net.udp_pair,
        "r0",
        scheme=PRIORITY,
        r0=thin(R0_UDP, (2.5, 5.0, 6.0, 7.0, 8.0, 10.0, 20.0)),
        r1=R1_PRIORITY,
    ),
    columns={**WAITS, **MEANS},
    caption="Two users send Poisson traffic, one-way delay 5 ms. Throughput of user 0 without priority (a), and with "
    "its packets as EF against 7.5 Mbit/s of best effort (b); mean queueing delay by class (c). "
    f"{LINK} {BAND}",
    figure=figure(
        curves(
            T0(scheme=[net.NO_ABC, net.ABC]),
            x="r0",
            looks=Looks("r1", "scheme", "{scheme:legend}, user 1 sends {r1:g} Mbit/s"),
        ),
        curves(
            T0(scheme=[net.ABC, *PRIORITY], r1=R1_PRIORITY), x="r0", looks=Looks("scheme", legend="{scheme:legend}")
        ),
        curves(
            DBE(scheme=PRIORITY, r1=R1_PRIORITY).labelled(who="best-effort user 1"),
            DEF(scheme=PRIORITY, r1=R1_PRIORITY).labelled(who="EF user 0"),
            x="r0",
            y="mean queueing delay (ms)",
            looks=Looks("scheme", "who", "{who}, {scheme:legend}"),
            marks=[Mark(y=net.DRAIN_TIME_MS, words="a full buffer")],
        ),
        height=4.2,
        own_legends=True,
    ),
)

# --- Figures 4 to 7: TCP users, and a UDP user against a TCP user -----------------------------------------------------

experiment(
    "fig04",
    "A heavy TCP user with many flows against a light one with a single flow",
    grid(net.tcp_pair, "f0", scheme=[net.NO_ABC, net.ABC], f0=F0, delay_ms=DELAYS_MS),
    columns={**ALL, **MEANS},
    caption="Throughput ratio of heavy to light user (a), mean queue (b) and utilisation (c) over the heavy user's "
    f"number of flows. {LINK} {BAND}",
    figure=figure(
        curves(TR(), x="f0", log="y", y_range=(0.7, 40), whole=True, marks=FAIR),
        curves(Q(), x="f0", whole=True),
        curves(U_PERCENT(), x="f0", y_range=(80, 100.5), whole=True),
        looks=BY_SCHEME,
    ),
)
experiment(
    "fig05",
    "As figure 4 with ABC, the heavy user's packets as EF",
    grid(net.tcp_pair, "f0", scheme=PRIORITY, f0=F0, delay_ms=DELAYS_MS),
    columns={**WAITS, **MEANS},
    caption="Throughput ratio (a), mean queueing delay of best effort (b) and utilisation (c) when the heavy user's "
    f"packets are EF under MEDF, counted once or three times by its meter. {LINK} {BAND}",
    figure=figure(
        curves(TR(), x="f0", whole=True, marks=FAIR),
        curves(DBE(), x="f0", whole=True),
        curves(U_PERCENT(), x="f0", y_range=(80, 100.5), whole=True),
        looks=BY_SCHEME,
    ),
)
experiment(
    "fig05n",
    "As figure 5 without ABC (in the paper without figure)",
    grid(
        net.tcp_pair,
        "f0",
        scheme=[net.NO_ABC_STRICT, net.NO_ABC_MEDF],
        f0=thin((1, 2, 5, 10, 20), (2, 10)),
        delay_ms=DELAYS_MS,
    ),
    columns={**WAITS, **DEAD, **MEANS},
    caption="Throughput ratio when the heavy TCP user's packets are EF and nothing else protects the light one. Ratio "
    "of the means over all runs, as a run's light user may get nothing; bands are Fieller's 95 % intervals where they "
    "are bounded.",
    figure=figure(curves(tr_by_means(), x="f0", y=MEAN_RATIO, log="y", least=1e-3), height=4.0, looks=BY_SCHEME),
)
experiment(
    "fig06",
    "A UDP user against a user with one TCP flow",
    grid(
        net.mixed_pair,
        "r0",
        scheme=[net.NO_ABC, net.ABC],
        r0=thin(R0_MIXED, (1.0, 2.5, 5.0, 6.0, 8.0, 10.0, 12.5, 20.0)),
        delay_ms=DELAYS_MS,
    ),
    columns={**ALL, **DEAD, **MEANS},
    caption="Throughput ratio of UDP to TCP user (a: ratio of the means over all runs, on a logarithmic axis and from "
    f"0 to 3), mean queue (b) and utilisation (c) over the UDP user's rate. {LINK} {BAND}",
    figure=figure(
        curves(tr_by_means(), x="r0", y=MEAN_RATIO, title="a", log="y", y_range=(0.02, 1e5), least=1e-3, marks=FAIR),
        curves(tr_by_means(), x="r0", y=MEAN_RATIO, title="a   0 to 3", y_range=(0, 3), marks=FAIR),
        curves(Q(), x="r0", title="b"),
        curves(U_PERCENT(), x="r0", title="c", y_range=(50, 101)),
        looks=BY_SCHEME,
    ),
)
experiment(
    "fig07",
    "As figure 6 with ABC, the UDP user's packets as EF",
    grid(net.mixed_pair, "r0", scheme=PRIORITY, r0=R0_PRIORITY, delay_ms=DELAYS_MS),
    columns={**WAITS, **MEANS},
    caption="Throughput ratio (a), mean queueing delay of best effort (b) and utilisation (c) when the UDP user's "
    f"packets are EF under MEDF, counted once or three times by its meter. {LINK} {BAND}",
    figure=figure(
        curves(TR(), x="r0", marks=FAIR),
        curves(DBE(), x="r0"),
        curves(U_PERCENT(), x="r0", y_range=(50, 101)),
        looks=BY_SCHEME,
    ),
)
experiment(
    "fig07n",
    "As figure 7 without ABC, and ABC under strict priority (in the paper without figure)",
    grid(
        net.mixed_pair,
        "r0",
        scheme=[net.NO_ABC_MEDF, net.NO_ABC_STRICT, net.EF3_STRICT],
        r0=thin((5.0, 8.0, 10.0, 12.5, 15.0, 20.0), (5.0, 10.0, 20.0)),
        delay_ms=DELAYS_MS,
    ),
    columns={**WAITS, **DEAD, **MEANS},
    caption="Throughput ratio (a: ratio of the means) and throughput of the TCP user (b) when the UDP user's packets "
    f"are EF. {LINK} {BAND}",
    figure=figure(
        curves(tr_by_means(), x="r0", y=MEAN_RATIO, log="y", least=1e-3),
        curves(T1(), x="r0"),
        height=4.0,
        looks=BY_SCHEME,
    ),
)

# --- Figures 8 to 10: reference rates, and the parameters of the AQM --------------------------------------------------


def tuned(o: net.Options, gamma: float, delay_ms: float, q_min: float = 12, q_base: float = 20) -> Scenario:
    """The crowd with other parameters of the AQM."""
    return net.crowd(o, net.abc(gamma=gamma, q_min=min(q_min, q_base), q_base=q_base), delay_ms)


CROWD = f"The heavy user has 10 flows, each of 10 light users one. {LINK} {BAND}"
experiment(
    "fig08",
    "Two TCP users with different reference rates",
    grid(net.weighted, "s", s=thin((1, 2, 4, 8, 12, 16), (1, 4, 8, 16)), flows=[1, 2], delay_ms=DELAYS_MS),
    columns={**ALL, **MEANS},
    caption="Throughput ratio over the ratio of the users' reference rates; with perfect control it would be the grey "
    f"line. {LINK} {BAND}",
    figure=figure(
        curves(TR(), x="s", marks=[Mark(words="TR = s")]),
        height=4.0,
        looks=Looks("flows", "delay_ms", "{flows}, {delay_ms:legend}"),
    ),
)
experiment(
    "fig09",
    "Parameters γ and Q_min: one heavy TCP user among ten light ones",
    grid(
        tuned,
        "gamma",
        scheme=net.ABC,
        gamma=thin((0.5, 1, 2, 4, 8, 16, 32, 64, 128), (1, 4, 16, 128)),
        q_min=thin((3, 6, 12, 18), (3, 12)),
        delay_ms=DELAYS_MS,
    ),
    grid(net.crowd, scheme=net.NO_ABC, delay_ms=DELAYS_MS),
    columns={**ALL, "tail_share": TAIL, **MEANS},
    caption=f"Throughput ratio (a), mean queue (b) and utilisation (c) over γ. {CROWD}",
    figure=figure(
        curves(TR(scheme=net.ABC), x="gamma", log="x", marks=FAIR),
        curves(Q(scheme=net.ABC), x="gamma", log="x"),
        curves(U_PERCENT(scheme=net.ABC), x="gamma", log="x", y_range=(90, 100.4)),
        looks=Looks("q_min", "delay_ms", "{q_min} packets, {delay_ms:legend}"),
    ),
)
experiment(
    "fig10",
    "Parameter Q_base: one heavy TCP user among ten light ones",
    grid(
        tuned,
        "q_base",
        gamma=thin((1, 4, 16, 64), (1, 16)),
        q_base=thin((12, 14, 16, 18, 20, 22, 23, 24), (16, 20, 22, 24)),
        delay_ms=DELAYS_MS,
    ),
    columns={**ALL, "tail_share": TAIL, **MEANS},
    caption="Throughput ratio (a), mean queue (b) and share of drops that a full buffer caused (c) over Q_base. "
    f"{CROWD}",
    figure=figure(
        curves(TR(), x="q_base", marks=FAIR),
        curves(Q(), x="q_base"),
        curves(TAIL_PERCENT(), x="q_base"),
        looks=Looks("gamma", "delay_ms", "{gamma}, {delay_ms:legend}"),
    ),
)

# --- Figures 11 to 13: memories of meters and averager ----------------------------------------------------------------


def remembering(o: net.Options, m_am: float, m_aa: float, delay_ms: float) -> Scenario:
    """The crowd with other memories."""
    return net.crowd(o, net.abc(meter_memory_s=m_am, averager_memory_s=m_aa), delay_ms)


UPLOADS = [net.NO_ABC, *(net.upload_label(memory) for memory in (1, 3, 10))]
experiment(
    "fig11",
    "A sudden upload among ten users with one or two flows each",
    grid(net.late_upload, scheme=UPLOADS, f1=[1, 2], delay_ms=DELAYS_MS),
    columns={f"received_kB_after_{after:g}_s": received_kb(after) for after in (1, 2, 5, 10, 20, 50, 100)},
    caption="Bytes of an upload that the server has received in order, over the time since its start, at 5 ms (a) and "
    f"50 ms (b) of one-way delay. The upload's meter has long been running. {LINK} {BAND}",
    figure=figure(
        *(
            drawn(
                of_runs(received_curve, delay_ms=delay),
                x_title="time since the upload's start (s)",
                y="received in order (kB)",
                title=f"{letter}   one-way delay {delay} ms",
                log="xy",
                x_range=(0.1, net.UPLOAD_S),
                y_range=(1, 3e4),
            )
            for letter, delay in zip("ab", DELAYS_MS, strict=True)
        ),
        height=4.4,
        looks=Looks("scheme", "f1", "{scheme:legend}, {f1}"),
    ),
)
experiment(
    "fig12",
    "Memories of meters and averager: one heavy TCP user among ten light ones",
    grid(
        remembering,
        "m_am",
        m_am=thin((0.1, 0.25, 0.5, 1, 2, 3, 4, 6, 10), (0.25, 1, 3, 10)),
        m_aa=thin((0.1, 0.3, 1), (0.3, 1)),
        delay_ms=DELAYS_MS,
    ),
    columns={**ALL, **MEANS},
    caption=f"Throughput ratio (a), mean queue (b) and utilisation (c) over the meters' memory. {CROWD}",
    figure=figure(
        curves(TR(), x="m_am", log="x", marks=FAIR),
        curves(Q(), x="m_am", log="x"),
        curves(U_PERCENT(), x="m_am", log="x", y_range=(90, 100.4)),
        looks=Looks("m_aa", "delay_ms", "{m_aa}, {delay_ms:legend}"),
    ),
)
experiment(
    "fig13",
    "A single TCP flow: its rate after the start, and the threshold it meets",
    grid(net.single_flow, scheme=[net.NO_ABC, net.ABC], m_aa=0.3, delay_ms=[5, 25, 50]),
    grid(net.single_flow, scheme=net.ABC, m_aa=[0.1, 1], delay_ms=[5, 25, 50]),
    columns={"seconds_to_98_percent": Metric(time_to_full_rate)},
    caption="Rate of one flow behind the bottleneck, measured with 0.5 s of memory (a), and the drop threshold of its "
    f"packets at 5 ms, clipped to 12 and 24 packets (b). Single runs without any randomness. {LINK}",
    runs=(1, 1),
    figure=figure(
        drawn(
            of_runs(over_time(net.MONITOR_RATE, net.SINGLE_FLOW_START_S, per=1e6), m_aa=0.3),
            x_title="time since the flow's start (s)",
            y="rate behind the bottleneck (Mbit/s)",
            x_range=(0, 30),
            marks=[Mark(y=net.BOTTLENECK_MBPS)],
            looks=Looks("delay_ms", "scheme", "{scheme:legend}, {delay_ms:legend}"),
        ),
        drawn(
            of_runs(
                over_time(net.THRESHOLD, net.SINGLE_FLOW_START_S + 0.011, clip=(12, net.BUFFER_PACKETS)),
                scheme=net.ABC,
                delay_ms=5,
            ),
            x_title="time since the flow's start (s)",
            y="drop threshold of arriving packets (packets)",
            x_range=(0, 15),
            y_range=(11, 24.5),
            looks=Looks("m_aa", legend="{m_aa}"),
        ),
        height=4.0,
        own_legends=True,
    ),
)

# --- Figures 14 to 16: the fair meter, and core-stateless fair queueing -----------------------------------------------


def three_panels(schemes: list[str], r1: list[float]) -> list[Grid]:
    """The settings of figures 3a, 4a and 6a."""
    few = thin(R0_UDP, (2.5, 5.0, 8.0, 10.0, 20.0))
    return [
        grid(net.udp_pair, "r0", panel="a", scheme=schemes, r0=few, r1=r1),
        grid(net.tcp_pair, "f0", panel="b", scheme=schemes, f0=F0, delay_ms=DELAYS_MS),
        grid(net.mixed_pair, "r0", panel="c", scheme=schemes, r0=R0_PRIORITY, delay_ms=DELAYS_MS),
    ]


UDP_PANEL = curves(
    T0(panel="a"),
    x="r0",
    looks=Looks("r1", "scheme", "{scheme:legend}, user 1 sends {r1:g} Mbit/s"),
)
TCP_PANEL = curves(TR(panel="b"), x="f0", whole=True, marks=FAIR)
LOG_RATIO = figure(
    UDP_PANEL,
    TCP_PANEL,
    curves(tr_by_means(panel="c"), x="r0", y=MEAN_RATIO, log="y", y_range=(0.02, None), least=1e-3, marks=FAIR),
    curves(tr_by_means(panel="c"), x="r0", y=MEAN_RATIO, title="c   0 to 3", y_range=(0, 3), marks=FAIR),
    height=4.4,
    own_legends=True,
    looks=BY_SCHEME,
)
experiment(
    "fig14",
    "The fair activity meter in the settings of figures 3a, 4a and 6a",
    *three_panels([net.ABC, net.FAIR], [2.5, 5.0, 7.5]),
    columns={**ALL, **MEANS},
    caption="Normal and fair activity meter: two UDP users (a), two TCP users (b), a UDP user against a TCP user (c). "
    f"{LINK} {BAND}",
    figure=LOG_RATIO,
)
experiment(
    "fig15",
    "CSFQ in the settings of figures 3a, 4a and 6a",
    *three_panels([net.CSFQ], [2.5, 7.5, 10.0]),
    columns={**ALL, **MEANS},
    caption="Core-stateless fair queueing: two UDP users (a), two TCP users (b), a UDP user against a TCP user (c: "
    f"ratio of the means, on a logarithmic axis and from 0 to 3). {LINK} {BAND}",
    figure=LOG_RATIO,
)


def drops_at(scheme: str) -> Values:
    """Shares of a scheme's drops by queue length, in per cent."""
    return Values(
        lambda shown: [
            ({"length": length}, 100 * share)
            for _, shares in of_runs(drop_shares, scheme=scheme).cells(shown)
            for length, share in enumerate(shares)
        ]
    )


experiment(
    "fig16",
    "Queue lengths at drops under ABC and CSFQ",
    grid(net.crowd, scheme=[net.ABC, net.CSFQ, net.CSFQ_Q_MIN, net.CSFQ_WRONG]),
    columns={
        **ALL,
        "share_at_0": DROPS_AT_0,
        "share_below_12": DROPS_BELOW_12,
        "share_at_24": DROPS_AT_24,
        **MEANS,
    },
    caption="Distribution of the queue length that dropped packets met: means over the runs, with 95 % confidence "
    f"intervals. One TCP user with 10 flows among 10 users with one, one-way delay 50 ms. {LINK}",
    figure=figure(
        *(
            bars(drops_at(scheme), x="length", y="share of all drops (%)", title=title, x_range=(-0.7, 24.7))
            for scheme, title in (
                (net.ABC, "a   ABC"),
                (net.CSFQ, "b   CSFQ"),
                (net.CSFQ_Q_MIN, "c   CSFQ, no random drop below 12"),
            )
        ),
        height=3.2,
    ),
)


def told(o: net.Options, told: float, delay_ms: float) -> Scenario:
    """The crowd under CSFQ that is told another capacity than the link's (section V-E2)."""
    return net.crowd(o, net.csfq(capacity_mbps=told), delay_ms)


experiment(
    "x-capacity",
    "CSFQ told a capacity that the link does not have (in the paper without figure)",
    grid(told, "told", told=thin((8.0, 10.0, 12.0), (10.0, 12.0)), delay_ms=DELAYS_MS),
    columns={**ALL, **MEANS},
    caption="Throughput ratio (a) and utilisation (b) under CSFQ over the capacity that it is told; the link has 10 "
    "Mbit/s. One TCP user with 10 flows among 10 users with one. Bands are 95 % confidence intervals.",
    figure=figure(
        curves(TR(), x="told", y_range=(None, None), marks=[Mark(x=net.BOTTLENECK_MBPS)]),
        curves(U_PERCENT(), x="told", y_range=(None, None), marks=[Mark(x=net.BOTTLENECK_MBPS)]),
        looks=Looks(dash="delay_ms", legend="{delay_ms:legend}"),
    ),
)

# --- What has no figure in the paper ----------------------------------------------------------------------------------

POISSON, RTT = "Poisson source", "round-trip time"
"""What the points of x-checks are about."""
experiment(
    "x-checks",
    "What the method section states in passing: Poisson sources and round-trip times",
    grid(net.poisson_alone, what=POISSON, rate_mbps=[1.0, 10.0], delay_ms=0),
    grid(net.first_round_trips, what=RTT, rate_mbps=0.0, delay_ms=[5, 25, 50]),
    columns={"T0_mbps": Metric(optional(T0.of)), "T1_mbps": Metric(optional(T1.of))},
)
experiment(
    "x-scale",
    "Scaling all reference rates by one factor",
    grid(net.scaled, factor=thin((1e-3, 0.5, 1.0, 2.0, 10.0, 1e3, 1e6), (1e-3, 0.5, 1.0, 2.0))),
    columns={**ALL, **MEANS},
    caption=f"Throughput ratio with 10 flows against one at 5 ms, over a factor on all reference rates. {LINK} {BAND}",
    figure=figure(curves(TR(), x="factor", log="x", marks=FAIR)),
)
experiment(
    "x-memory",
    "The head start of a user who was idle",
    grid(net.head_start, m_am=[1.0, 3.0, 10.0]),
    columns={},
    caption="Activities of a user who begins to send 20 Mbit/s after a long silence and of one who has sent 5 Mbit/s "
    "all the time, on a link that drops nothing. The curves cross after the volume that the head start is worth.",
    runs=(1, 1),
    figure=figure(
        drawn(
            *(
                of_runs(over_time(net.ACTIVITY.format(copy=copy), net.MEMORY_START_S)).labelled(who=who)
                for copy, who in ((0, "starts at 20 Mbit/s"), (1, "steady at 5 Mbit/s"))
            ),
            x_title="time since the second user's start (s)",
            y="activity A",
            y_range=(4, 11.5),
        ),
        height=4.0,
        looks=Looks("m_am", "who", "{m_am}, user {who}"),
    ),
)
experiment(
    "x-average",
    "Averaging the activity of all received packets, as the earlier design did",
    grid(
        net.averaged,
        "r0",
        scheme=[net.ACCEPTED, net.RECEIVED_TOO],
        light=["UDP 7.5 Mbit/s", "one TCP flow"],
        r0=thin((12.5, 15.0, 20.0), (12.5, 20.0)),
    ),
    columns={**ALL, **MEANS},
    caption=f"Throughput of user 1 (a) and mean queue (b) in overload by user 0, one-way delay 5 ms. {LINK} {BAND}",
    figure=figure(
        curves(T1(), x="r0"),
        curves(Q(), x="r0"),
        height=4.0,
        looks=Looks("scheme", "light", "{scheme}, against {light}"),
    ),
)
experiment(
    "x-rate",
    "Beyond the paper: a bottleneck whose rate halves for 35 s",
    grid(net.halving, scheme=[net.BY_PACKETS, net.BY_DELAY, net.CSFQ_STALE], delay_ms=DELAYS_MS),
    columns={**ALL, **MEANS},
    caption="Throughput ratio and utilisation when the bottleneck has 10, then 5, then again 10 Mbit/s in the measured "
    "time; one TCP user with 10 flows among 10 users with one. Bars are 95 % confidence intervals.",
    figure=figure(
        dots(TR(), marks=[Mark(x=1.0)]), dots(U_PERCENT()), height=0, looks=Looks(legend="{scheme}, {delay_ms:g} ms")
    ),
)
experiment(
    "x-drr",
    "Beyond the paper: deficit round robin per user",
    *three_panels([net.ABC, net.DRR], [7.5]),
    columns={**ALL, **MEANS},
    caption="What per-user state in the bottleneck achieves in the settings of figures 3a, 4a and 6a, beside ABC. "
    f"{LINK} {BAND}",
    figure=figure(
        UDP_PANEL,
        TCP_PANEL,
        curves(TR(panel="c"), x="r0", marks=FAIR),
        height=4.4,
        own_legends=True,
        looks=BY_SCHEME,
    ),
)

# --- Alternatives to what the paper leaves open, at the points where claims depend on them ----------------------------

WINDOWS = ("115000 B", "119000 B", "123000 B", "127000 B", "131072 B", "1048576 B")
"""Around ns-3.26's 131072 B, and one that never binds."""
BE_OFFSET = "BE offset of the MEDF scheduler"
TCP_WINDOW = "TCP window"
TCP_WINDOW_USE = "TCP window and utilisation"
CSFQ_VARIANT = "CSFQ variant"
HOSTS = "time hosts spend on each packet, random up to"
METER_START = "start of the activity meter"
FIGURE_8 = "figure 8, s = 16, flows: {flows}"
IN_STEP, IN_STEP_STRICT = "figure 4a without ABC, one flow each", "without ABC, strict priority, f0 = 2"
CSFQ_FIGURE_16 = "figure 16"


def alternatives(o: net.Options, scale: Scale) -> list[Point]:
    """Labels: what is varied, how, at which setting; and the delay. At scale quick the TCP window alone."""
    found: list[Point] = []

    def add(what: str, how: str, setting: str, delay_ms: int, scenario: Scenario) -> None:
        found.append(Point({"what": what, "how": how, "setting": setting, "delay_ms": delay_ms}, scenario))

    quick = scale == "quick"
    for window, flows in product(WINDOWS[1::3] if quick else WINDOWS, (1,) if quick else (1, 2)):
        add(TCP_WINDOW, window, FIGURE_8.format(flows=flows), 50, net.weighted(o, 16, flows, 50, window))
    if quick:
        return found
    for delta, r0 in product((1.5, 2.0), (6, 6.5, 7, 7.25, 7.5, 7.75, 8)):
        scheme = net.ef(net.medf(net.accounting(net.abc(), 1), delta_be=delta))
        add(BE_OFFSET, f"{delta:g}", f"R0 = {r0:g} Mbit/s", 5, net.udp_pair(o, scheme, r0, R1_PRIORITY))
    for window, r0 in product(WINDOWS[-2:], (1, 2)):
        scenario = net.mixed_pair(o, net.NO_ABC, r0, 50, window)
        add(TCP_WINDOW_USE, window, f"figure 6c, R0 = {r0:g} Mbit/s", 50, scenario)
    variants = {
        "code, threshold 12 packets": net.csfq(),
        "code, threshold 6 packets": net.csfq(q_threshold=6),
        "paper form": net.csfq(form="paper"),
    }
    for (how, scheme), delay in product(variants.items(), DELAYS_MS):
        add(CSFQ_VARIANT, how, "figure 15b, f0 = 10", delay, net.tcp_pair(o, scheme, 10, delay))
        add(CSFQ_VARIANT, how, "figure 15c, R0 = 12.5 Mbit/s", delay, net.mixed_pair(o, scheme, 12.5, delay))
        add(CSFQ_VARIANT, how, CSFQ_FIGURE_16, delay, net.crowd(o, scheme, delay))
    for (setting, label, f0), delay in product(
        ((IN_STEP, net.NO_ABC, 1), (IN_STEP_STRICT, net.NO_ABC_STRICT, 2)), DELAYS_MS
    ):
        scenario = net.tcp_pair(o, label, f0, delay)
        add(HOSTS, "none", setting, delay, scenario)
        add(HOSTS, "1.2 ms", setting, delay, net.with_processing(scenario, 1.2))
    for how, delay in product(("run", "first-packet"), DELAYS_MS):
        add(METER_START, how, "figure 11, f1 = 1", delay, net.late_upload(o, net.abc(meter_start=how), 1, delay))
    return found


experiment(
    "x-sensitivity",
    "Alternatives to what the paper leaves open",
    alternatives,
    columns={**WAITS, **MEANS},
    caption="Each open choice with its alternatives, at the points where claims depend on it. Bars are 95 % confidence "
    "intervals.",
    figure=figure(
        *(
            dots(metric(what=what), title=what)
            for what, metric in (
                (BE_OFFSET, DEF),
                (TCP_WINDOW, TR),
                (TCP_WINDOW_USE, U_PERCENT),
                (CSFQ_VARIANT, TR),
                (HOSTS, T1),
                (METER_START, received_kb(1)),
            )
        ),
        columns=1,
        height=0,
        looks=Looks(legend="{setting}, {delay_ms:g} ms: {how}"),
    ),
)
