"""Draw the figure of docs/policing.md: a policer against a shaper, five congestion controls, four round trips.

    .venv/bin/python docs/images/draw_policing.py

720 runs; about half a minute on two cores. The table above it is examples/policer_or_shaper.py's.
"""

import sys
from pathlib import Path

import evenflow as ef

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))

from policer_or_shaper import BOXES, CONTROL, CONTROLS, DELAY, GOODPUT, SIZES, TRIPS, study  # noqa: E402

RULES = (0.1, 0.8)


def main() -> None:
    """A panel for each box and round trip, a line for each control."""
    figure, axes = ef.plots.figure(2, 4, size=(11.0, 5.4), sharex=True, sharey=True)
    panels = iter(axes)
    for box in BOXES:
        table, size = study(box), f"stages.box.{next(iter(BOXES[box]))}"
        for delay, ms in TRIPS.items():
            ax = next(panels)
            for control in CONTROLS:
                where = {CONTROL: control, DELAY: delay}
                ef.plots.line_with_band(
                    ax, table, GOODPUT, lambda labels, size=size: SIZES[labels[size]], where, label=control, scale=1e-6
                )
            for rule in RULES if box == "policer" else ():
                ax.axvline(rule, color="0.6", lw=0.8, zorder=0)
            ax.set_xscale("log")
            x = "" if box == "policer" else "size (s at the rate)"
            y = "goodput (Mbit/s)" if ms == 10 else ""
            ef.plots.name_axes(ax, x, y, title=f"{box}, {ms} ms", legend=ms == 200)
    print(ef.plots.save(figure, HERE / "policing.svg"))


if __name__ == "__main__":
    main()
