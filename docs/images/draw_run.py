"""Draw the first picture of the README: one run of examples/scenarios/call.toml, from inside.

    .venv/bin/python docs/images/draw_run.py

The eight windows of the download, and the queue in which the calls' packets wait behind it.
"""

from pathlib import Path

import evenflow as ef
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
FILE = HERE.parent.parent / "examples" / "scenarios" / "call.toml"
WINDOWS = "groups.download.users[0].flows[*].window"
QUEUE = "links.line.queue.packets"
UNTIL_S = 20.0


def draw(record: ef.Record) -> Figure:
    """Windows above, the queue below, over the same seconds."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for name in record.series_names:
        if name != QUEUE:
            above.plot(*record.arrays(name), linewidth=1)
    below.plot(*record.arrays(QUEUE), linewidth=0.8, color="#0b5a8a")
    below.axhline(50, color="#5b6670", linewidth=0.8, linestyle="--")
    below.annotate("limit", (0.1, 50), (0, 3), textcoords="offset points", color="#5b6670", fontsize=9)
    above.set_ylabel("windows (packets)")
    below.set_ylabel("queue (packets)")
    below.set_xlabel("time (s)")
    below.set_xlim(0, UNTIL_S)
    above.set_ylim(0)
    below.set_ylim(0, 60)
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Run the scenario once and draw it."""
    series = [{"of": WINDOWS, "every": "20 ms"}, {"of": QUEUE, "every": "20 ms"}]
    record = ef.load(FILE).set("record.series", series).run(seed=1)
    with ef.plots.style():
        figure = draw(record)
    print(ef.plots.save(figure, HERE / "call.svg"))


if __name__ == "__main__":
    main()
