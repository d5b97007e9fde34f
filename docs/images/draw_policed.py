"""Draw the figure of docs/validation/conex-policed.md from the validation that ships.

    .venv/bin/python docs/images/draw_policed.py

U over the filling rate with unequal access delays: ns-2 as points with intervals, Evenflow as lines with bands.
"""

from pathlib import Path

import evenflow as ef
from evenflow.run import evidence

HERE = Path(__file__).resolve().parent
CHECK, METRIC, VARIANT, ACCESS = "conex-policed", "U", "DTConEx", "0.5 to 1.5 ms"
TITLES = {"arrival": "charge on arrival", "pass": "charge what passes"}
COLOURS = {"soft": "C0", "mild": "C1", "strict": "C2"}
APART_PACKETS = {"soft": -0.4, "mild": 0.0, "strict": 0.4}


def main() -> None:
    """A panel for each meaning of a charge."""
    document = evidence.shipped()
    assert document is not None
    figure, axes = ef.plots.figure(1, 2, size=(8.0, 3.4), sharex=True, sharey=True)
    for ax, (charge, title) in zip(axes, TITLES.items(), strict=True):
        for harshness, colour in COLOURS.items():
            where = {"variant": VARIANT, "harshness": harshness, "charge": charge, "access": ACCESS}
            rows = [
                row
                for row in document["rows"]
                if (row["check"], row["metric"]) == (CHECK, METRIC) and row["point"].items() >= where.items()
            ]
            rates = [float(row["point"]["r"]) for row in rows]
            ours, theirs = ([row[side] for row in rows] for side in ("ours", "theirs"))
            ax.plot(rates, [span["mean"] for span in ours], color=colour, label=f"{harshness}, Evenflow")
            ax.fill_between(rates, [s["lo"] for s in ours], [s["hi"] for s in ours], color=colour, alpha=0.2, lw=0)
            means = [span["mean"] for span in theirs]
            beyond = [[s["mean"] - s["lo"] for s in theirs], [s["hi"] - s["mean"] for s in theirs]]
            beside = [rate + APART_PACKETS[harshness] for rate in rates]
            ax.errorbar(beside, means, beyond, fmt="o", ms=4, capsize=3, color=colour, label=f"{harshness}, ns-2")
        ax.axhline(1, color="0.6", lw=0.8, ls="--", zorder=0)
        ax.set_yscale("log")
        y = "U: heavy / light throughput" if charge == "arrival" else ""
        ef.plots.name_axes(ax, "filling rate r (packets/s)", y, title=title, zero=False, legend=charge == "pass")
    print(ef.plots.save(figure, HERE / "policed.svg"))


if __name__ == "__main__":
    main()
