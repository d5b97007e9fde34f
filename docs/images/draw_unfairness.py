"""Draw the figure of ConEx's README from the comparisons of its two results.

    .venv/bin/python docs/images/draw_unfairness.py

U over the filling rate r, with three drop functions and both meanings of a charge; grey: heavy users have less.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import evenflow as ef

PAPER = Path(__file__).resolve().parents[2] / "papers" / "evenflow_papers" / "conex"
CHARGES = {"arrival": ("", "-"), "pass": ("charge=pass/", "--")}
COLOURS = {"soft": "C0", "mild": "C1", "strict": "C2"}
RATES = (2, 5, 10, 20, 45, 90, 180)
LOWEST = 0.03


def curves(folder: str) -> tuple[float, dict[str, dict[float, float]]]:
    """U without a policer, and by drop function over r: c05 has differences to it, c08 the value at r = 180."""
    claims: Any = json.loads(gzip.decompress((PAPER / folder / "comparisons.json.gz").read_bytes()))
    free = float(claims["conex-c02"]["checks"][0]["mean"])
    found: dict[str, dict[float, float]] = {}
    for check in claims["conex-c05"]["checks"]:
        harshness, rest = check["label"].split(", ", 1)
        if rest.endswith(": U"):
            found.setdefault(harshness, {})[float(rest[4:-3])] = free + check["mean"]
    for check in claims["conex-c08"]["checks"]:
        found[check["label"].split(", ")[0]][180.0] = check["mean"]
    return free, found


def main() -> None:
    """A linear panel as in the paper, and a logarithmic one."""
    figure, axes = ef.plots.figure(1, 2, size=(8.6, 3.2))
    for charge, (folder, style) in CHARGES.items():
        free, found = curves(folder)
        for harshness, colour in COLOURS.items():
            rates = sorted(found[harshness])
            for ax in axes:
                values = [found[harshness][rate] for rate in rates]
                ax.plot(rates, values, style, color=colour, label=f"{harshness}, {charge}")
    for ax, title, low in zip(axes, ("a   as in the paper", "b   logarithmic"), (0.0, LOWEST), strict=True):
        ax.axhline(free, color="0.4", linewidth=0.8)
        ax.axhspan(low, 1, color="0.88", linewidth=0)
        ax.set_xscale("log")
        ax.set_xticks(RATES, [str(rate) for rate in RATES])
        ax.minorticks_off()
        ax.set_xlabel("filling rate r (tokens/s)")
        ax.set_ylabel("unfairness U")
        ax.set_title(title, loc="left", fontweight="bold")
    axes[0].set_ylim(0, 40)
    axes[0].annotate("no policing", (2, free), va="bottom")
    axes[1].set_yscale("log")
    axes[1].set_ylim(LOWEST, 50)
    axes[1].annotate("heavy users have less", (16, 0.04))
    axes[0].legend(loc="upper left", bbox_to_anchor=(0.0, 0.88))
    print(ef.plots.save(figure, PAPER / "unfairness.svg"))


if __name__ == "__main__":
    main()
