"""What figures 8 to 10 leave open."""

from __future__ import annotations

from evenflow.paper import Deviation

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        id="marking-loads",
        subject="How the load is varied in Figs. 8 to 10",
        paper_says="Marking probability over utilisation; the numbers of connections are not given.",
        we_do="Endless connections, 2 to 50 of them (half of weight 1, half of 6), at the same places at both scales.",
        alternatives="Fewer loads; background traffic that does not answer to marks (wtp-x-low-load, wtp-x-buffer).",
        sensitivity=(
            "Lines and parabolas through a curve depend on where it ends: R² of the virtual queue (c49) is 0.955 "
            "up to 50 connections, 0.972 up to 40, 0.986 up to 26. c61 and c84 hold by little (R² 0.950; slopes "
            "21 % apart). Utilisation and probability are measured, each with its interval; comparisons at equal "
            "p or ρ are by seed, linear between neighbouring loads."
        ),
    ),
    Deviation(
        id="marking-mixture",
        subject="“w_inc = 1 and 6” in the captions of Figs. 8 to 10",
        paper_says="Two weights and one curve for each marker.",
        we_do="Half of the connections have each weight.",
        alternatives="Two homogeneous experiments with the same sums of weights (option mixture = separate).",
        sensitivity=(
            "With connections of weight 1 alone, three and a half times as many with windows of a few packets, "
            "RED's curve has no rising branch to speak of: c51, c61 and c62 fail; c54 fails by 0.004 in the "
            "windows; the others are decided as with the mixture, or need more runs."
        ),
    ),
    Deviation(
        id="red-low-load",
        subject="RED at low utilisations",
        paper_says="Fig. 8a has RED's curve below a utilisation of 0.80, beside the other markers'.",
        we_do=(
            "RED's curve folds back below eight connections: few endless connections need few marks, so the link "
            "stays busy. That branch is drawn dotted; statements on RED's curve are judged from eight connections"
            " on."
        ),
        alternatives="Thirteen changes, one at a time, and traffic that does not answer (wtp-x-low-load).",
        sensitivity=(
            "Decides c52, leaves c51 and c62 without the slope below 0.82, and takes part in c60. No change but a"
            " gain of twice the paper's brings RED's branch below 0.80; Poisson traffic gives the published "
            "shape."
        ),
    ),
    Deviation(
        id="red-count-marking",
        subject="RED's count rule and its measured curve",
        paper_says="RED of ns-2; the rule by which marks are spread is not stated.",
        we_do="The rule of 1993 (option red_spread = floyd); p is measured, never computed from the formula.",
        alternatives="ns-2's later default, or independent marks.",
        sensitivity=(
            "Fig. 9's RED has its least utilisation at 0.82 with the rule of 1993, 0.85 with independent marks, "
            "0.92 with ns-2's, where p then falls and rises at nearly the same utilisation: c61 fails (R² 0.04), "
            "and c56 has no value at p = 0.15. Fig. 8's RED hardly changes: 0.83, 0.84, 0.85."
        ),
    ),
    Deviation(
        id="marking-rtt",
        subject="Equal round trips in Figs. 8 to 10",
        paper_says="One round trip, 200 ms.",
        we_do="Exactly that.",
        alternatives="Round trips ± 5 % and ± 25 % (option rtt_spread).",
        sensitivity=(
            "With ± 5 % the virtual queue's curve is straighter (R² 0.974, c49 holds) and RED's no longer convex:"
            " c62 fails, c51 is open; with ± 25 % c51, c61 and c62 fail. Both spreads let the virtual queue's "
            "queue fluctuate more than RED's (c54 fails). c85 and c87 fail alike; c82 fails with ± 25 %, where θ "
            "= 0.85 and 0.90 cross at p = 0.1."
        ),
    ),
    Deviation(
        id="vq-parameters",
        subject="Values of θ and B in Fig. 10",
        paper_says="The curves' legends are in no text.",
        we_do="θ = 0.80 to 1.00 at B = 30 packets, and B = 10 to 100 packets at θ = 0.95; θ scales rate and room.",
        alternatives="Separate factors for rate and room (footnote 5), marks on departure.",
        sensitivity=(
            "Separate factors with the same product give the same runs bit for bit (c89). With θ on the rate "
            "alone, or marks on departure, the effect of B (c85, c87) has the same sign."
        ),
    ),
    Deviation(
        id="load-averaging",
        subject="How load-based marking averages",
        paper_says="The utilisation is measured over t_avg; fixed or sliding, arrivals or departures is not said.",
        we_do="Fixed intervals, arrivals; an interval's probability holds for the next one.",
        alternatives="A sliding interval; departures (options load_window, load_count).",
        sensitivity=(
            "Departures change no verdict of c60, c90 and c91. A sliding interval reacts sooner and swings more: "
            "with α = 1 the slope is 9 % above α and c90 fails."
        ),
    ),
)
