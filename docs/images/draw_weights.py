"""Draw the figure of WTP's README: figures 3a and 4a of the paper from the comparisons of its results.

    .venv/bin/python docs/images/draw_weights.py

Throughput ratio R over the ratio r of the weights for three markers, and R/r for both forms of the control.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import evenflow as ef

PAPER = Path(__file__).resolve().parents[2] / "papers" / "evenflow_papers" / "wtp"
MARKERS = {"RED": ("C0", "o-", -0.12), "VQ": ("C1", "s-", 0.0), "LB": ("C2", "^-", 0.12)}
"""Colour, symbol, and a shift to the side so that intervals do not overlap."""
RATIOS = range(1, 11)
ABOUT = 0.15

Spans = dict[int, tuple[float, ...]]


def spans(claim: str, label: str) -> Spans:
    """Mean and 90 % interval of a claim's comparisons over r; the label's `#` is r."""
    claims: Any = json.loads(gzip.decompress((PAPER / "comparisons.json.gz").read_bytes()))
    pattern = re.compile(re.escape(label).replace(r"\#", r"(\d+)"))
    rows = [(pattern.fullmatch(row["label"]), (row["mean"], *row["ci"])) for row in claims[f"wtp-{claim}"]["checks"]]
    return {int(match[1]): span for match, span in rows if match}


def proportional() -> dict[str, Spans]:
    """R/r with proportional increase: c09 has RED and LB, c13 has R − r of the virtual queue for large r."""
    found = {marker: spans("c09", f"{marker}, r = #") for marker in ("RED", "LB")}
    excess = spans("c13", "VQ, r = #: R − r")
    return found | {"VQ": {r: tuple(1 + value / r for value in span) for r, span in excess.items()}}


def small_ratios(least: int, mean: float) -> dict[int, float]:
    """R of the virtual queue at small r, from its mean at the least r of c13 and the steps of c07."""
    found = {least: mean}
    for r in range(least - 1, 0, -1):
        found[r] = found[r + 1] - spans("c07", f"VQ, r = # → {r + 1}")[r][0]
    del found[least]
    return found


def main() -> None:
    """The paper's axes, then the differences that they hide."""
    figure, axes = ef.plots.figure(1, 3, size=(9.8, 3.4))
    forms = (proportional(), {marker: spans("c19", f"{marker}, r = #: R over r") for marker in MARKERS})
    for marker, (colour, style, shift) in MARKERS.items():
        rs = list(forms[0][marker])
        throughput = {r: r * forms[0][marker][r][0] for r in rs}
        if marker == "VQ":
            throughput |= small_ratios(rs[0], throughput[rs[0]])
        axes[0].plot(*zip(*sorted(throughput.items()), strict=True), style, ms=3.5, color=colour, label=marker)
        for ax, form in zip(axes[1:], forms, strict=True):
            mean, low, high = zip(*form[marker].values(), strict=True)
            sides = zip(mean, low, high, strict=True)
            beyond = list(zip(*((m - lo, hi - m) for m, lo, hi in sides), strict=True))
            ax.errorbar([r + shift for r in form[marker]], mean, beyond, fmt=style, ms=3.5, capsize=2, color=colour)
    axes[0].plot(RATIOS, RATIOS, color="black", lw=0.8, label="printed: the diagonal")
    titles = ("a   proportional increase", "b   proportional increase", "c   inverse decrease")
    for ax, title, name in zip(axes, titles, ("throughput ratio R", "R/r", "R/r"), strict=True):
        ax.set_xticks(RATIOS)
        ax.set_xlabel("ratio of the weights r")
        ax.set_ylabel(name)
        ax.set_title(title, loc="left", fontweight="bold")
    for ax in axes[1:]:
        ax.axhspan(1 - ABOUT, 1 + ABOUT, color="0.92", lw=0, zorder=-1)
        ax.axhline(1, color="black", lw=0.8)
        ax.set_ylim(0.84, 1.3)
    axes[0].set_ylim(0, 13)
    axes[0].legend(loc="upper left", fontsize=8)
    print(ef.plots.save(figure, PAPER / "weights.svg"))


if __name__ == "__main__":
    main()
