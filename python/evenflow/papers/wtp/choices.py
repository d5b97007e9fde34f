"""What the paper leaves open: as named options, each with its values, the default and why; and all of it in words.

An option is chosen with `evenflow reproduce wtp --option NAME=VALUE`; the same options make the sensitivity table,
which says for each other value which claims change their verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.paper import Choices, Deviation, Option, varied_by

OPTIONS: tuple[Option, ...] = (
    Option(
        "packet",
        ("1000", "500", "1500"),
        "Bytes of a data packet on the wire",
        "Not stated. Three of Table 2's four maxima are whole multiples of 0.8 ms, which 1000 B take at 10 Mbit/s "
        "(112, 28 "
        "and 48 packets); 1000 B is ns-2's default, headers not counted until late 2001.",
    ),
    Option(
        "red_limit",
        ("mark", "ignore"),
        "What B = 30 packets means for RED: all packets marked at a queue that long, or nothing",
        "Table 2 has waits of 89.6 ms, 112 packets, so B is no physical buffer; section 4.1 marks instead of "
        "dropping when the "
        "buffer limit is exceeded.",
    ),
    Option(
        "red_spread",
        ("floyd", "ns2", "bernoulli"),
        "RED's count rule: marks evenly spread as published in 1993, ns-2's later default (`wait`), or independent",
        "With ns-2's rule RED (3, 9, 0.95) does not run as low as Table 2 and figure 9 have it; with the rule of 1993 "
        "it does.",
    ),
    Option(
        "population",
        ("A", "B", "C"),
        "Who has which weight in figures 3, 4 and 11a: 5 connections of weight 1 and 5 of weight r (A), 9 and 1 (B), "
        "or one "
        "each of 1 to 10 in a single run (C)",
        "The caption gives N = 10 alone; A mirrors the two-link captions. A, B and C are all run and drawn; the "
        "option says "
        "which one the claims look at.",
    ),
    Option(
        "ratio",
        ("class-means", "tagged"),
        "Of what the throughput ratio is made: the classes' means, or one connection of each",
        "The axis says ratio of throughput, the text of figure 5 “two connections”; class means are less noisy.",
    ),
    Option(
        "rtt_spread",
        ("0", "0.05", "0.25"),
        "Spread of round-trip times within a class, as a share to either side, dealt evenly (throughput experiments)",
        "Captions give one round-trip time.",
    ),
    Option(
        "rtt_spread_delay",
        ("0.05", "0"),
        "The same for Table 2's queueing delays",
        "With exactly equal round-trip times self-clocked trains of packets serialise themselves and queues are "
        "unrealistically "
        "short; Table 2's deviations, smaller than the means, fit mixed phases.",
    ),
    Option(
        "start",
        ("none", "slow-start-until-mark"),
        "How a willingness-to-pay connection begins: with a window of one packet, or by slow start until its first "
        "mark",
        "Slow start is not described; only congestion avoidance is to be observed.",
    ),
    Option(
        "access",
        ("100", "1000", "20"),
        "Rate of the access links, Mbit/s",
        "Not stated; fast enough not to matter, slow enough not to send a window as one instant.",
    ),
    Option(
        "mixture",
        ("half", "separate"),
        "Figures 8 to 10: half of the connections with weight 1 and half with 6, or two homogeneous experiments",
        "“w_inc = 1 and 6” in the captions; one curve a marker is drawn.",
    ),
    Option(
        "vq_mark",
        ("busy-arrival", "busy-departure", "overflow"),
        "Which packets a virtual queue marks",
        "Section 4.2: all that arrive from the virtual loss until the virtual buffer first becomes empty.",
    ),
    Option(
        "load_count",
        ("arrivals", "departures"),
        "What load-based marking counts",
        "Section 4.3 leaves it open; departures cannot show an overload.",
    ),
    Option(
        "load_window",
        ("fixed", "sliding"),
        "How load-based marking averages: one interval after the other, or sliding",
        "Section 4.3 leaves it open; fixed is the simplest.",
    ),
    Option(
        "multcp_react",
        ("once-per-rtt", "every-mark"),
        "Whether MulTCP takes the marks of a round trip as one congestion event",
        "Crowcroft and Oechslin 1998, section 3: as TCP does.",
    ),
    Option(
        "multcp_feedback",
        ("per-packet", "classic"),
        "MulTCP's feedback: each ACK has its own packet's mark, or the echo of RFC 3168 until the window was reduced",
        "Not stated; the same feedback as for willingness to pay makes the comparison one of window rules.",
    ),
    Option(
        "base_weight",
        ("1", "0.25", "0.5", "2"),
        "Weight of the light connections in figures 3 and 4; the others have r times that",
        "The captions give ratios alone; 1 is what Table 1 has.",
        paper_scale=("fig03", "fig04"),
    ),
    Option(
        "marked_ack",
        ("increase", "none"),
        "Whether an ACK that carries a mark adds to the window of willingness to pay as any other does",
        "Equation 4 is one formula: the increase does not depend on f. TCP's senders add nothing on such an ACK (RFC "
        "3168, section 6.1.2). Table 1's ratios of throughput speak for the formula, its probabilities for the other.",
        paper_scale=("fig03", "fig04", "tab01"),
    ),
)


@dataclass(frozen=True)
class Options(Choices):
    """One choice for each option; the defaults are the first values above."""

    packet: int = 1000
    red_limit: str = "mark"
    red_spread: str = "floyd"
    population: str = "A"
    ratio: str = "class-means"
    rtt_spread: float = 0.0
    rtt_spread_delay: float = 0.05
    start: str = "none"
    access: int = 100
    mixture: str = "half"
    vq_mark: str = "busy-arrival"
    load_count: str = "arrivals"
    load_window: str = "fixed"
    multcp_react: str = "once-per-rtt"
    multcp_feedback: str = "per-packet"
    base_weight: float = 1.0
    marked_ack: str = "increase"


NO_CLAIM = "A slip of the pen: nothing depends on it."


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        id="packet-size",
        subject="Size of a packet",
        paper_says="Not stated.",
        we_do=(
            "1000 B on the wire, headers included: 0.8 ms at 10 Mbit/s. Three of Table 2's four maxima are whole "
            "numbers of 0.8 ms (112, 28, 48), and it is the default of ns-2."
        ),
        alternatives="500 or 1500 B (option packet).",
        sensitivity=f"{varied_by('packet')} Delays in Table 2 move with the size.",
    ),
    Deviation(
        id="meaning-of-b",
        subject="What B = 30 packets is",
        paper_says=(
            "B is a buffer of the link, or a value that stands for a target delay (section 4.2); RED marks where its "
            "limit is exceeded (section 4.1)."
        ),
        we_do=(
            "The real buffer is unlimited: Table 2 has waits of 112 packets, and nothing may be lost. B is what the "
            "virtual queue imitates, and the queue from which on RED marks everything."
        ),
        alternatives="RED knows no such limit (option red_limit).",
        sensitivity=varied_by("red_limit"),
    ),
    Deviation(
        id="populations",
        subject="Which of the ten connections has which weight",
        paper_says="N = 10 (Figs. 3, 4, 11); that one weight is 1 and the other r is nowhere said.",
        we_do="Five of weight 1 and five of weight r (A), as the captions of the second network have it.",
        alternatives="Nine and one (B), or one connection of each weight from 1 to 10 (C) (option population).",
        sensitivity=(
            f"{varied_by('population')} Figs. 3, 4 and 11a draw all three. Under the virtual queue they differ in "
            "whom it favours "
            "(wtp-x-base-weight)."
        ),
    ),
    Deviation(
        id="base-weight",
        subject="The weight of the light connections in Figs. 3 and 4",
        paper_says="The ratio of the weights; neither of the two.",
        we_do="1 for the light connections, as in Table 1, and r for the heavy ones.",
        alternatives="0.25, 0.5 or 2, and r times that (option base_weight).",
        sensitivity=(
            f"{varied_by('base_weight')} Under proportional increase it decides whom the virtual queue favours "
            "(wtp-x-base-weight, and the note of c13)."
        ),
    ),
    Deviation(
        id="marked-ack",
        subject="Whether an ACK with a mark also adds to the window",
        paper_says="cwnd += κ̄ (w̄ / cwnd − f) (Eq. 4), one formula for f = 0 and 1.",
        we_do="As printed: every ACK adds, and one with a mark also takes.",
        alternatives="Nothing is added on a marked ACK, as TCP does (option marked_ack).",
        sensitivity=(
            f"{varied_by('marked_ack')} Table 1's ratios of throughput speak against it, its marking probabilities "
            "for it (wtp-x-table)."
        ),
    ),
    Deviation(
        id="ratio-and-interval",
        subject="What the ratio of throughput is, and its interval",
        paper_says=(
            "The ratio of throughput with its 90 % interval from 10 runs; the text of Fig. 5 has “two connections”."
        ),
        we_do="The ratio of the classes' means in each run, then the mean over the runs with Student's interval.",
        alternatives="One connection of each class (option ratio).",
        sensitivity=varied_by("ratio"),
    ),
    Deviation(
        id="equal-round-trips",
        subject="Whether round trips are equal",
        paper_says="One round-trip time in each caption.",
        we_do=(
            "Equal for all throughputs. For Table 2 spread evenly by ± 5 %: with equal ones self-clocked trains of "
            "packets take turns and hardly wait for each other."
        ),
        alternatives="0, 5 or 25 % for throughputs (option rtt_spread), 0 for Table 2 (option rtt_spread_delay).",
        sensitivity=(
            f"{varied_by('rtt_spread', 'rtt_spread_delay')} Table 2 depends on it much: with equal round trips "
            "self-clocked "
            "trains of packets hardly wait for each other (wtp-x-load has its first row so)."
        ),
    ),
    Deviation(
        id="red-at-low-load",
        subject="RED where few packets are marked",
        paper_says="Figs. 8 and 9 show RED at utilisations down to about 0.6.",
        we_do=(
            "Connections always have data to send. With few of them RED marks little, windows are large and the link "
            "is full, so that utilisation first falls as connections are added: the curve is folded. It is drawn as "
            "it is, in the order of N, and judged where load and marks grow together."
        ),
        alternatives="Connections that cannot fill the link for other reasons (wtp-x-low-load).",
        sensitivity=(
            "Decides what is said of RED at low utilisations: c52 fails, c51 and c62 are open without a slope below "
            "0.82, and c56, c59, "
            "c60 and c63 without comparisons that the branch does not reach. What brings the branch lower is under "
            "c52 and in "
            "wtp-x-low-load: a larger gain does; Poisson traffic gives the published shape."
        ),
    ),
    Deviation(
        id="red-count-rule",
        subject="How RED spreads its marks",
        paper_says="The probability as a function of the average queue; not how marks are drawn from it.",
        we_do="Evenly, by the count rule published with RED in 1993.",
        alternatives="ns-2's later default, which waits first, or independent marks (option red_spread).",
        sensitivity=(
            f"{varied_by('red_spread')} With ns-2's rule RED (3, 9, 0.95) does not run as low as 0.90, so that Table "
            "2's "
            "second row has to be read at its least utilisation."
        ),
    ),
    Deviation(
        id="window-traces",
        subject="The setting of Fig. 1",
        paper_says="Two window traces without marker, number of connections, round trip or scale of time.",
        we_do="Independent marks with probability 0.1 at 200 ms, where the window is 40 packets; and in a network.",
        alternatives="Any other probability: times scale with 1/p, deviations with 1/√p.",
        sensitivity="The claims c01 to c06 compare two settings of the same experiment and scale alike.",
    ),
    Deviation(
        id="two-weights",
        subject="“w_inc = 1 and 6” in Figs. 8 to 10",
        paper_says="Both weights in the caption, one curve a marker in the figure.",
        we_do="Half of the connections have weight 1 and half 6, in one experiment.",
        alternatives="Two experiments, each with a single weight (option mixture).",
        sensitivity=(
            f"{varied_by('mixture')} Table 2 and RED's curves depend on it: with connections of weight 1 alone, three "
            "and a "
            "half times as many with windows of a few packets, RED's curve has no rising branch to speak of."
        ),
    ),
    Deviation(
        id="marking-loads",
        subject="How the load is varied in Figs. 8 to 10",
        paper_says="Marking probability over utilisation; the numbers of connections are not given.",
        we_do="Endless connections, 2 to 50 of them (half of weight 1, half of 6), at the same places at both scales.",
        alternatives="Fewer loads; background traffic that does not answer to marks (wtp-x-low-load, wtp-x-buffer).",
        sensitivity=(
            "Lines and parabolas through a curve depend on where it ends: the note of c49 has the virtual queue's R² "
            "up to several "
            "loads. Utilisation and probability are measured, each with its interval; comparisons at equal p or ρ are "
            "by seed, "
            "linear between neighbouring loads."
        ),
    ),
    Deviation(
        id="table-2-load",
        subject="Connections and weights of Table 2",
        paper_says="Long transfers at a utilisation of about 0.90.",
        we_do=(
            "For each row the number of connections, half of weight 1 and half of 6, whose mean utilisation is "
            "nearest to 0.90; the figure and the comparisons say which."
        ),
        alternatives="Table 2 over all loads and row 1 with other weights, round trips, access links (wtp-x-load).",
        sensitivity=(
            "The notes of c64 to c75 have each cell over all numbers of connections, and of RED's first row with "
            "other weights, round "
            "trips, access links and a gain of 1 (wtp-x-load). The first row comes out at about half of the paper's; "
            "of these "
            "only the larger gain changes that."
        ),
    ),
    Deviation(
        id="figure-10-values",
        subject="Values of θ and B in Fig. 10",
        paper_says="In the figure's legend only.",
        we_do="θ from 0.80 to 1.00 and B from 10 to 100 packets; θ scales rate and buffer, as section 4.2 says.",
        alternatives="Separate factors for rate and buffer, which is the same as another B (wtp-x-factors).",
        sensitivity=(
            "The claims are orders along θ and B, and about separate factors: those with the same product give the "
            "same runs bit for bit "
            "(c89)."
        ),
    ),
    Deviation(
        id="figure-11-weights",
        subject="Weights of Fig. 11",
        paper_says="Weights along the axis of Fig. 11b; the form of willingness to pay is not named.",
        we_do="Fig. 11b: all ten connections have the same weight. Proportional increase.",
        alternatives="5 and 5 connections in Fig. 11b as well.",
        sensitivity=(
            "Not varied. Fig. 11b draws both utilisations over the common weight; their curves cross, and MulTCP uses "
            "the link better from "
            "there on."
        ),
    ),
    Deviation(
        id="multcp-ecn",
        subject="How MulTCP answers to marks",
        paper_says="MulTCP follows the double multiplicative decrease of TCP.",
        we_do=(
            "It decreases once a round trip, does not increase on an ACK that reports a mark, and each ACK reports "
            "its own packet's mark."
        ),
        alternatives=(
            "The echo of RFC 3168 (option multcp_feedback); a decrease for each mark (option multcp_react); both in "
            "wtp-x-multcp."
        ),
        sensitivity=(
            f"{varied_by('multcp_feedback', 'multcp_react')} wtp-x-multcp draws all three reactions: reacting to "
            "every mark MulTCP favours "
            "small weights. Reacting once a round trip, where every round trip has a mark, the window is 2N² (1 − p) "
            "packets, so "
            "that shares go with the square of the weights; reacting to each mark it is N √(2/p)."
        ),
    ),
    Deviation(
        id="load-averaging",
        subject="How load-based marking averages",
        paper_says="Over some interval; what is counted, and whether the interval slides, is not said.",
        we_do="Arrivals in one interval after the other; the probability holds for the next.",
        alternatives="Departures (option load_count), a sliding interval (option load_window).",
        sensitivity=f"{varied_by('load_count', 'load_window')} A sliding interval reacts sooner and swings more.",
    ),
    Deviation(
        id="virtual-queue-mark",
        subject="Which packets a virtual queue marks",
        paper_says=(
            "Those that arrive from the virtual loss on until the virtual buffer is first empty; other kinds exist."
        ),
        we_do="As said, on arrival; the packet that is virtually lost is marked and does not enter the virtual buffer.",
        alternatives="Packets that leave in that time, or only those virtually lost (option vq_mark).",
        sensitivity=f"{varied_by('vq_mark')} wtp-x-burst shows whom the other kinds favour.",
    ),
    Deviation(
        id="third-class",
        subject="The weight of connections over R2–R3 alone (Fig. 7, Table 1)",
        paper_says="1 in the caption of Table 1; not said for Fig. 7.",
        we_do="1 throughout; Table 1 is Fig. 7 at r = 1.",
        alternatives="A weight that grows with r.",
        sensitivity="Not varied: c36 and c37 ask only whether the ratio grows with r.",
    ),
    Deviation(
        id="throughput",
        subject="Which bytes are throughput",
        paper_says="Not said.",
        we_do="All bytes of data packets that arrive in [60, 180] s; nothing is ever sent twice.",
        alternatives="Without headers.",
        sensitivity="None: all sizes are equal, and ratios do not notice.",
    ),
    Deviation(
        id="red-sample",
        subject="What RED's average is made of",
        paper_says="The average queue length.",
        we_do="Waiting packets without the one in service, at each arrival; it decays while the link is idle.",
        alternatives="With the packet in service.",
        sensitivity="Not varied; it would shift both thresholds by one packet.",
    ),
    Deviation(
        id="axes-of-figure-3b",
        subject="The horizontal axis of Figs. 3b and 4b",
        paper_says="The ratio of average throughput.",
        we_do="The ratio R that was measured at each r, not r.",
        alternatives="r.",
        sensitivity="The claims compare M with R or with r as the text does (c15 to c17, c20).",
    ),
    Deviation(
        id="start",
        subject="How a connection begins",
        paper_says="At a random time within 5 s; only congestion avoidance is to be observed.",
        we_do="Willingness to pay starts with a window of one packet and has no slow start.",
        alternatives="Slow start until the first mark (option start).",
        sensitivity=(
            f"{varied_by('start')} Inversely proportional decrease with large weights and few marks needs a minute to "
            "settle, as long as the warm-up."
        ),
    ),
    Deviation(
        id="access-links",
        subject="Access links",
        paper_says="Drawn in Fig. 2, without rate or delay.",
        we_do="100 Mbit/s, one a connection, with 40 ms of the way (15 ms where a connection enters at R2).",
        alternatives="20 Mbit/s or 1 Gbit/s (option access).",
        sensitivity=varied_by("access"),
    ),
    Deviation(
        id="slip-link-names",
        subject="Links of Table 1 in the text",
        paper_says="R1–R2 and R3–R4 implement RED (section 5.1); there is no R4.",
        we_do="R1–R2 and R2–R3, as in Fig. 2b and in the rest of the section.",
        alternatives="None.",
        sensitivity=NO_CLAIM,
    ),
    Deviation(
        id="slip-caption-1",
        subject="Caption of Table 1",
        paper_says="C of R1–R3, RTT of R1–R2 = 100 ms though the rows vary it, ω_p = 0.002, and no B.",
        we_do="C of R2–R3, RTT of R2–R3 = 100 ms, w_q = 0.002, and B = 30 packets as in all other captions.",
        alternatives="None that fits the rows.",
        sensitivity="Read so, the theory of section 5.1 gives the paper's own 0.236 and 0.25 (c44).",
    ),
    Deviation(
        id="slip-equation-6",
        subject="The name of Eq. 6",
        paper_says="Section 5.2 calls it proportional decrease, section 3 inversely proportional decrease.",
        we_do="Inversely proportional decrease: the step of a mark is divided by the weight.",
        alternatives="None.",
        sensitivity=NO_CLAIM,
    ),
    Deviation(
        id="slip-figure-11",
        subject="Caption of Fig. 11",
        paper_says="“MultTCP”.",
        we_do="MulTCP, as in the text and in the work of Crowcroft and Oechslin.",
        alternatives="None.",
        sensitivity=NO_CLAIM,
    ),
    Deviation(
        id="slip-units",
        subject="Weights in the comparison with theory",
        paper_says="w = 1/200 and 1/300 without units (section 5.1).",
        we_do="Marks a millisecond: w̄ = 1 mark a round trip of 200 or 300 ms.",
        alternatives="None.",
        sensitivity="None: only the ratio of the two is used (c44).",
    ),
)
