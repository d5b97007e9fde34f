"""What the paper leaves open or contradicts itself about: choices one can make otherwise, and what is done here.

An option is chosen with `evenflow reproduce abc --option NAME=VALUE`; `--sensitivity` tries each other value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow.claims import Data
from evenflow.paper import Choices, Deviation, Option

from . import network as net
from .measures import Lab, Spot, share_from
from .notes import mean, short, span

if TYPE_CHECKING:
    from evenflow.study import Label

OPTIONS: tuple[Option, ...] = (
    Option(
        "write",
        ("512", "any"),
        "Bytes in which an application fills its TCP send buffer; “any”: it is always full, so every segment is whole",
        "The paper says ns-3.26 and flows that “have always data to send”. ns-3's application for that is "
        "BulkSendApplication, whose attribute SendSize is 512 B by default (read in ns-3.43; 3.26's own file was not "
        "at hand), so that a short segment follows where a write does not fit. The paper names neither the "
        "application nor the attribute.",
        paper_scale=("fig04", "fig06", "fig08", "fig13"),
    ),
    Option(
        "timeout_window_once",
        ("true", "false"),
        "Whether a timeout before the last one is repaired leaves the window as it is",
        "NewReno of ns-3.26 does: its congestion state is still CA_LOSS then, and only entering that state "
        "sets the window to one segment. RFC 5681 (section 3.1) sets it after every timeout.",
        paper_scale=("fig06", "fig14", "fig15"),
    ),
)


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option; the defaults are the first values above."""

    write: str = "512"
    timeout_window_once: str = "true"

    @property
    def stack(self) -> Mapping[str, Any]:
        """Lines of every TCP user's stack that differ from ns-3.26's; none by default, so that scenarios stay equal."""
        usual = {line.name: line.default for line in fields(self)}
        values: Mapping[str, Any] = {"write": "any", "timeout_window_once": False}
        return {name: value for name, value in values.items() if getattr(self, name) != usual[name]}


def _alternatives(data: Data, what: str) -> list[tuple[Mapping[str, Label], Spot]]:
    """The points of abc-x-sensitivity about one choice; none where the experiment is not shown."""
    table = data.get("abc-x-sensitivity")
    return [] if table is None else [it for it in Lab(table).points() if it[0]["what"] == what]


NOT_SHOWN = "Its numbers need abc-x-sensitivity at the paper's scale."


def _be_offset(data: Data) -> str:
    from .beyond.runs import SENSITIVITY_PRIORITY

    found = _alternatives(data, SENSITIVITY_PRIORITY)
    longest = {
        how: tuple(
            max(float(getattr(spot, name).mean()) for labels, spot in found if labels["how"] == how)
            for name in ("delay_ef", "delay_be")
        )
        for how in ("2", "1.5")
        if any(labels["how"] == how for labels, _ in found)
    }
    if len(longest) < 2:
        return f"Decides claim c31. {NOT_SHOWN}"
    (ef, be), (ef_less, be_less) = longest["2"], longest["1.5"]
    return (
        f"Decides claim c31: EF packets wait up to {short(ef)} ms with 2, {short(ef_less)} ms with 1.5, against the 5 "
        f"ms "
        f"of the paper. The longest wait of best effort in Fig. 3c is {short(be)} and {short(be_less)} ms. "
        f"Throughputs do "
        "not change: the AQM ignores classes."
    )


def _meter_start(data: Data) -> str:
    from .beyond.runs import SENSITIVITY_MEASURES, SENSITIVITY_METER

    measure, _ = SENSITIVITY_MEASURES[SENSITIVITY_METER]
    found = {
        (labels["how"], labels["delay_ms"]): spot.of(measure) for labels, spot in _alternatives(data, SENSITIVITY_METER)
    }
    if not found:
        return f"Decides c94 and c95. {NOT_SHOWN}"
    return (
        f"Decides c94 and c95: at 5 ms an upload has brought {mean(found['run', 5])} kB after 1 s with t0 = 0, and "
        f"{mean(found['first-packet', 5])} kB with t0 = its first packet, where the head start of an idle user is "
        f"gone. At "
        f"50 ms slow start itself is the limit: {mean(found['run', 50])} and {mean(found['first-packet', 50])} kB."
    )


def _tcp_window(data: Data) -> str:
    from .beyond.runs import SENSITIVITY_USE, SENSITIVITY_WINDOW

    said = []
    for flows in (1, 2):
        found = [
            (labels["how"], spot.ratio)
            for labels, spot in _alternatives(data, SENSITIVITY_WINDOW)
            if labels["setting"] == f"figure 8, s = 16, flows: {flows}"
        ]
        if found:
            which = ", ".join(f"{mean(values)} with {how}" for how, values in found)
            said.append(f"c8{flows - 1}: TR is {which}.")
    use: dict[str, list[float]] = {}
    for labels, spot in _alternatives(data, SENSITIVITY_USE):
        use.setdefault(str(labels["how"]), []).append(float(spot.utilisation.mean()))
    lowest = ", ".join(f"{short(min(values))} with {how}" for how, values in use.items())
    if lowest:
        said.append(f"c63 needs a window that binds: the lowest utilisation is {lowest}.")
    return " ".join(said) or f"Decides c80 and c63. {NOT_SHOWN}"


def _csfq_form(data: Data) -> str:
    from .beyond.runs import SENSITIVITY_CSFQ

    found = _alternatives(data, SENSITIVITY_CSFQ)
    if not found:
        return f"Bears on c117, c118, c121, c122 and c125. {NOT_SHOWN}"
    overflow = partial(share_from, net.AT_DROP, 24)
    said: dict[str, list[str]] = {}
    for labels, spot in found:
        where = f"{labels['setting']}, {labels['delay_ms']} ms"
        values = (
            f"{mean(100 * spot.of(overflow))} % of drops by overflow"
            if labels["setting"] == "figure 16"
            else f"TR {mean(spot.ratio)}"
        )
        said.setdefault(where, []).append(f"{values} ({labels['how']})")
    return "; ".join(f"{where}: {', '.join(values)}" for where, values in said.items()) + "."


def _processing(data: Data) -> str:
    from .beyond.runs import SENSITIVITY_HOSTS

    found = _alternatives(data, SENSITIVITY_HOSTS)
    said = [
        f"{labels['setting']}, {labels['delay_ms']} ms, {labels['how']}: TR {span(spot.ratio)}"
        for labels, spot in found
    ]
    text = "Identical flows behind drop-tail fall into step (c15, c37, c47)."
    return f"{text} In single runs: {'; '.join(said)}." if said else f"{text} {NOT_SHOWN}"


NOT_MEASURED = "Not varied in our runs; none of the claims is known to depend on it."

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        id="be-offset",
        subject="BE offset of the MEDF scheduler",
        paper_says=(
            "δ_BE = 2 in sections III-D2 and IV-A3, 1.5 in Table 1. The printed formula lacks the factor 8 for bits."
        ),
        we_do="δ_BE = 2: best effort yields to EF packets for 57.6 ms, twice the time a full buffer takes.",
        alternatives="δ_BE = 1.5, 43.2 ms (abc-x-sensitivity).",
        sensitivity=_be_offset,
    ),
    Deviation(
        id="queue-length",
        subject="What the queue length counts",
        paper_says="Q is the queue's length; whether the packet in service counts is not said.",
        we_do=(
            "Waiting packets only, both classes together, at most 24: an ns-3.26 device takes a packet from its queue "
            "when it sends it."
        ),
        alternatives="Counting the packet in service.",
        sensitivity="It would shift the histograms of Fig. 16 (c123 to c125) by one packet and little else.",
    ),
    Deviation(
        id="shared-buffer",
        subject="One buffer for both classes",
        paper_says=(
            "The AQM takes the sum of both queues as its input; whether the buffer's limit is shared is not said."
        ),
        we_do="One limit of 24 packets for both classes together.",
        alternatives="A limit for each class.",
        sensitivity=(
            "With thresholds below 24 packets the AQM acts on the sum before the limit does, so that only experiments "
            "without "
            "ABC (c47, c48, c71) could notice."
        ),
    ),
    Deviation(
        id="meter-start",
        subject="When an activity meter starts",
        paper_says="At t0, which is not given; a user who starts sending is said to enjoy a low activity at first.",
        we_do="t0 = 0 for all meters, the start of the simulation.",
        alternatives="t0 = the user's first packet (abc-x-sensitivity).",
        sensitivity=_meter_start,
    ),
    Deviation(
        id="what-is-metered",
        subject="What is metered",
        paper_says="The traffic of a user at the edge.",
        we_do=(
            "Every packet upstream, SYN and retransmissions included, with all its bytes, before the AQM; ACKs "
            "downstream are not."
        ),
        alternatives="Without the two bytes of the link's header, or payload only.",
        sensitivity="A constant factor on all sizes cancels in A − A_avg (c11).",
    ),
    Deviation(
        id="drop-reason",
        subject="Drops at a full buffer",
        paper_says="Fig. 10c shows the share of tail drops; which reason counts when both apply is not said.",
        we_do="A drop at 24 waiting packets is a tail drop even where the activity threshold was reached too.",
        alternatives="Counting it as a drop by the AQM.",
        sensitivity=(
            "Only Fig. 10c near Q_base = 24 (c93); with the chosen parameters hardly a drop meets a full buffer (c123)."
        ),
    ),
    Deviation(
        id="plain-scheduler",
        subject="Scheduler without ABC",
        paper_says="Prioritisation without ABC is reported in words; the scheduler is not named.",
        we_do="Strict priority for the claims; MEDF beside it in abc-fig05n and abc-fig07n.",
        alternatives="MEDF with the BE offset of the ABC experiments.",
        sensitivity="Decides c48: ratios of 200 and more need strict priority. c47 and c71 are judged under both.",
    ),
    Deviation(
        id="mean-ratio",
        subject="Mean of the throughput ratio",
        paper_says="Mean values over 10 runs; T_R is the quotient of the groups' mean throughputs.",
        we_do=(
            "Mean of the runs' ratios. Where a run's light user may get nothing: ratio of the means (Fieller's "
            "interval), as labelled."
        ),
        alternatives="Ratio of the means throughout: given beside it in the figures' data.",
        sensitivity=(
            "Without effect where both users get much. Decisive without ABC for R0 ≥ 10 Mbit/s, in abc-fig05n, and "
            "where "
            "runs are bistable, which the rows of c65, c69 and c79 name."
        ),
    ),
    Deviation(
        id="ratio-at-long-delay",
        subject="Fig. 4a at 50 ms",
        paper_says="A ratio of at most 1.1 in section IV-C1, below 1.5 in V-C, 1.0 to 1.5 in IV-H.",
        we_do="1.1 is the literal reading of c39, 1.5 the relaxed one.",
        alternatives="None.",
        sensitivity="c39 alone.",
    ),
    Deviation(
        id="grids",
        subject="Grids of the figures",
        paper_says="Few values are named; neither the number of flows nor the rates at the right end are given.",
        we_do="f0 = 1 to 20 and R0 up to 20 Mbit/s, with the named values among them.",
        alternatives="f0 up to 10: delays and utilisations quoted for the right end of Fig. 4 and 5 then do not fit.",
        sensitivity="Claims about a curve's end: c45, c50, c52, c55, c56, c58, c110, c118.",
    ),
    Deviation(
        id="tcp-window",
        subject="TCP window",
        paper_says="NewReno of ns-3.26; buffers are not mentioned.",
        we_do="The simulator's default of 131072 B for both buffers: at most 90.6 packets in flight.",
        alternatives="115 to 127 kB, and 1 MB (abc-x-sensitivity).",
        sensitivity=_tcp_window,
    ),
    Deviation(
        id="first-packet",
        subject="First threshold in Fig. 13b",
        paper_says="The drop threshold is initially 12 packets.",
        we_do="Judged from the first data segment on; thresholds drawn clipped to 12 and 24 packets.",
        alternatives=(
            "From the SYN on: metered below the reference rate, it meets A_avg = 0 and a threshold above Q_base."
        ),
        sensitivity="c108 alone.",
    ),
    Deviation(
        id="csfq-form",
        subject="CSFQ form and its threshold for a short queue",
        paper_says=(
            "The original ns-2 code with both amendments, memories 100 ms, a buffer of 24 packets; no threshold is "
            "given."
        ),
        we_do="The rules of that code, re-written; a queue below 12 packets (half the buffer) counts as short.",
        alternatives=(
            "A threshold of 6 packets; the form of the published pseudo-code, started at the link's rate "
            "(abc-x-sensitivity)."
        ),
        sensitivity=_csfq_form,
    ),
    Deviation(
        id="upload-start",
        subject="Upload of Fig. 11",
        paper_says="It starts 100 s after all other users; the memories shown are not named.",
        we_do=(
            "At 115 s, 100 s after the last possible start; meter memories of 1, 3 and 10 s; in-order bytes at the "
            "receiver."
        ),
        alternatives="None.",
        sensitivity=NOT_MEASURED,
    ),
    Deviation(
        id="users",
        subject="Light users in Fig. 4 to 8, 14 and 15",
        paper_says="One light user in the captions, ten in Table 1.",
        we_do="One, as the captions say.",
        alternatives="Ten.",
        sensitivity="All claims on these figures; ten light users are a different experiment (Fig. 9 to 12).",
    ),
    Deviation(
        id="random-streams",
        subject="Random numbers",
        paper_says="Nothing.",
        we_do=(
            "A stream of its own for every user's arrivals and start, the fair meter, and CSFQ; all schemes see the "
            "same arrivals."
        ),
        alternatives="One stream for all.",
        sensitivity="Narrows differences between schemes; no mean depends on it.",
    ),
    Deviation(
        id="host-queues",
        subject="Queues inside hosts",
        paper_says="Nothing; ns-3.26 by default puts a queue of 1000 packets with back-pressure above every device.",
        we_do="None: with it the 24-packet buffer could never overflow, so the authors must have removed it.",
        alternatives="With it.",
        sensitivity="With it nothing would be dropped at the bottleneck at all.",
    ),
    Deviation(
        id="processing",
        subject="Time hosts spend on a packet",
        paper_says="Nothing; ns-3.26 has none.",
        we_do="None: hosts answer at once.",
        alternatives="A random time of up to 1.2 ms a packet (abc-x-sensitivity).",
        sensitivity=_processing,
    ),
    Deviation(
        id="dead-connections",
        subject="Connections that give up",
        paper_says="Nothing.",
        we_do=(
            "As ns-3.26: six fruitless retransmissions end a connection; dead flows are counted in the figures' data."
        ),
        alternatives="Unlimited retries.",
        sensitivity=(
            "Ratios without ABC in overload and under strict priority (c48, c60, c69, c71), which are judged by "
            "ratios of means."
        ),
    ),
    Deviation(
        id="repeated-timeouts",
        subject="Repeated timeouts",
        paper_says="NewReno as provided by the simulator.",
        we_do=(
            "As ns-3.26: a timeout while the flow still recovers from one neither halves nor resets the window, and "
            "the whole "
            "window is sent again from the first missing byte."
        ),
        alternatives="RFC 5681: the window is one segment after every timeout.",
        sensitivity=(
            "A flow can stay in that state to the end of a run, with a timeout a second and half of its packets lost: "
            "the "
            "option `timeout_window_once`, whose table says which claims it decides; c114 names the runs."
        ),
    ),
    Deviation(
        id="tcp-details",
        subject="TCP details of ns-3.26",
        paper_says="NewReno as provided by the simulator.",
        we_do=(
            "The profile ns3.26: no SACK, initial window 1, an ACK for every second segment, growth once an ACK, "
            "retransmission "
            "timeout of at least 1 s, limited transmit."
        ),
        alternatives="Modern stacks: a different study.",
        sensitivity="All TCP figures; what gives the 15 of c81 is not explained by any single one of them.",
    ),
    Deviation(
        id="misprints",
        subject="Misprints",
        paper_says=(
            "The faster user gets the lower activity (IV-B1); user 0 gets the link beyond 10 Mbit/s (IV-B1); queues "
            "are shorter at "
            "5 ms (IV-C1); the heavy user suffers the queueing delay (IV-C2); 24 packets are 31.6 ms (IV-B2); a_BE = "
            "3 (IV-D2); "
            "the upload at 50 ms compared with 50 ms (IV-G2)."
        ),
        we_do=(
            "Where a claim rests on a misprint its literal reading is still judged (c06, c41); the others are read as "
            "the rest of the "
            "sentence demands."
        ),
        alternatives="None.",
        sensitivity="c06 and c41 are judged as printed; what was found instead is told in their notes.",
    ),
)
