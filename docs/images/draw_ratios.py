"""Draw the figure of ABC's README: figures 4a and 15b of the paper from the comparisons of its results.

    .venv/bin/python docs/images/draw_ratios.py

Throughput ratio of a heavy to a light TCP user over the heavy user's flows; bars on the right: printed ranges.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import evenflow as ef

PAPER = Path(__file__).resolve().parents[2] / "papers" / "evenflow_papers" / "abc"
COLOURS = {"no ABC": "0.45", "ABC": "C0", "CSFQ": "C1"}
STYLES = {5: "o-", 50: "s--"}
PRINTED = (
    ("ABC", 5, 1.0, 1.1),
    ("ABC", 50, 1.0, 1.5),
    ("CSFQ", 5, 1.4, 1.6),
    ("CSFQ", 50, 1.0, 2.8),
)
"""Sections IV-C1, IV-H and V-C."""
PLACES = {("ABC", 5): 21.2, ("ABC", 50): 22.0, ("CSFQ", 5): 22.8, ("CSFQ", 50): 23.6}
FLOWS = (1, 5, 10, 15, 20)

Spans = dict[int, tuple[float, ...]]


def curves() -> dict[tuple[str, int], Spans]:
    """Mean and interval of the throughput ratio by scheme and delay (ms) over the number of flows.

    c118 judges the ends of CSFQ's curve at 50 ms. The means between them are ABC's plus the differences of c119.
    """
    claims: Any = json.loads(gzip.decompress((PAPER / "comparisons.json.gz").read_bytes()))

    def spans(claim: str, delay: str = "") -> Spans:
        pattern = re.compile(rf"(\d+) heavy flows?\b.*{delay}")
        rows = [(pattern.match(row["label"]), (row["mean"], *row["ci"])) for row in claims[f"abc-{claim}"]["checks"]]
        return {int(match[1]): span for match, span in rows if match}

    found = {("ABC", 5): spans("c38"), ("ABC", 50): spans("c39"), ("CSFQ", 5): spans("c117")}
    for delay in STYLES:
        shares = spans("c37", f"D_b = {delay} ms")
        found["no ABC", delay] = {f0: tuple(f0 * value for value in span) for f0, span in shares.items()}
    more = spans("c119", "D_b = 50 ms")
    between = {f0: (found["ABC", 50][f0][0] + span[0],) * 3 for f0, span in more.items()}
    found["CSFQ", 50] = dict(sorted((between | spans("c118")).items()))
    return found


def main() -> None:
    """Without and with ABC on a logarithmic axis, and ABC with CSFQ on a linear one."""
    figure, axes = ef.plots.figure(1, 2, size=(8.6, 3.6))
    for (scheme, delay), spans in sorted(curves().items(), key=lambda it: (list(COLOURS).index(it[0][0]), it[0][1])):
        mean, low, high = zip(*spans.values(), strict=True)
        beyond = [[m - lo for m, lo in zip(mean, low, strict=True)], [hi - m for m, hi in zip(mean, high, strict=True)]]
        look: dict[str, Any] = {"fmt": STYLES[delay], "ms": 3.5, "capsize": 2, "color": COLOURS[scheme]}
        for ax, without in zip(axes, ("CSFQ", "no ABC"), strict=True):
            if scheme != without:
                ax.errorbar(list(spans), mean, beyond, label=f"{scheme}, {delay} ms", **look)
    flows = range(1, FLOWS[-1] + 1)
    axes[0].plot(flows, flows, color="black", lw=0.8, label="printed: f₀/f₁")
    for scheme, delay, least, most in PRINTED:
        for ax in axes if scheme == "ABC" else axes[1:]:
            ends = [PLACES[scheme, delay]] * 2
            ax.plot(ends, [least, most], STYLES[delay][0] + "-", ms=3.5, color=COLOURS[scheme], lw=2.5)
    for ax, title in zip(axes, ("a   without and with ABC", "b   ABC and CSFQ"), strict=True):
        ax.axhline(1, color="0.6", lw=0.8, zorder=0)
        ax.axvline(20.6, color="0.6", lw=0.8, ls=":")
        ax.set_xticks([*FLOWS, 22.4], [*map(str, FLOWS), "printed"])
        ax.set_xlim(0, 24.6)
        ax.set_xlabel("flows of the heavy user f₀")
        ax.set_ylabel("throughput ratio")
        ax.set_title(title, loc="left", fontweight="bold")
    axes[0].set_yscale("log")
    axes[0].minorticks_off()
    axes[0].set_ylim(0.6, 40)
    axes[0].set_yticks((1, 2, 5, 10, 20), ("1", "2", "5", "10", "20"))
    axes[1].set_ylim(0.8, 3.2)
    axes[0].legend(loc="lower right", bbox_to_anchor=(0.84, 0.23), fontsize=8)
    axes[1].legend(loc="upper left", fontsize=8)
    print(ef.plots.save(figure, PAPER / "ratios.svg"))


if __name__ == "__main__":
    main()
