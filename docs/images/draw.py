"""Draw the figure of the README: what a user gains by opening more TCP flows, under four sharing schemes.

    .venv/bin/python docs/images/draw.py

480 runs; about half a minute on two cores.
"""

from pathlib import Path

import evenflow as ef
import numpy as np
from evenflow.study import Curve
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
FILE = HERE.parent.parent / "examples" / "scenarios" / "newreno-droptail.toml"
LIMIT = {"limit": "24 packets"}
SCHEMES = {
    "drop-tail": (None, {"kind": "droptail", **LIMIT}),
    "CSFQ": ("csfq-edge", {"kind": "csfq", **LIMIT}),
    "ABC": ("activity-meter", {"kind": "activity-aqm", **LIMIT}),
    "fair queueing (DRR)": (None, {"scheduler": {"kind": "drr", "per": "user"}, **LIMIT}),
}
FLOWS = (1, 2, 4, 8, 16, 32)
DELAYS = ("5 ms", "50 ms")


def scenario(scheme: str, delay: str, flows: int) -> ef.Scenario:
    """Two users at one link; the edge stage and the queue are the scheme's."""
    edge, queue = SCHEMES[scheme]
    settings = {"links.bottleneck.queue": queue, "links.bottleneck.delay": delay, "groups.heavy.traffic.flows": flows}
    if edge is not None:
        path = ["access", "edge", "bottleneck"]
        settings |= {"stages.edge": {"kind": edge, "per": "user"}}
        settings |= {"groups.heavy.path": path, "groups.light.path": path}
    return ef.load(FILE).with_settings(settings)


def ratio(table: ef.Table, where: dict[str, str | int]) -> ef.stats.Interval:
    """The heavy user's throughput over the light one's, paired by seed."""
    heavy, light = (table.values(f"groups.{group}.throughput_bps", where) for group in ("heavy", "light"))
    return ef.stats.ratio_of_means(heavy, light)


def draw(table: ef.Table) -> Figure:
    """Two panels, a curve with its 95 % band for each scheme."""
    figure, axes = ef.plots.figure(1, len(DELAYS), size=(7.2, 3.0), sharey=True)
    for ax, delay in zip(axes, DELAYS, strict=True):
        for scheme in SCHEMES:
            found = [ratio(table, {"scheme": scheme, "delay": delay, "flows": flows}) for flows in FLOWS]
            mean, lo, hi, n = (np.array([getattr(i, name) for i in found]) for name in ("mean", "lo", "hi", "n"))
            ef.plots.band(ax, Curve(np.array(FLOWS, dtype=float), mean, lo, hi, n), label=scheme)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.set_xticks(FLOWS, [str(n) for n in FLOWS])
        ax.set_yticks(FLOWS, [str(n) for n in FLOWS])
        words = f"one-way delay {delay}"
        ef.plots.name_axes(ax, "TCP flows of the heavy user", "", title=words, zero=False, legend=ax is axes[0])
    axes[0].set_ylabel("bandwidth, heavy user : light user")
    return figure


def main() -> None:
    """Run the study and draw it."""
    points = [
        ef.Point({"scheme": scheme, "delay": delay, "flows": flows}, scenario(scheme, delay, flows))
        for scheme in SCHEMES
        for delay in DELAYS
        for flows in FLOWS
    ]
    table = ef.run_study(ef.Study(points, seeds=range(1, 11)), progress=True)
    with ef.plots.style():
        figure = draw(table)
    print(ef.plots.save(figure, HERE / "sharing.svg"))


if __name__ == "__main__":
    main()
