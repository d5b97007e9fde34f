"""Draw docs/images/testbeds.svg: shares on public testbeds and in Evenflow, from the shipped validation.

.venv/bin/python docs/images/draw_testbeds.py
"""

from pathlib import Path

import evenflow as ef
import matplotlib as mpl
from evenflow.run import evidence

NAMES = {
    "testbed-dualpi2": "DualPI2: CUBIC, Prague",
    "testbed-fq-codel": "FQ-CoDel: CUBIC, Prague",
    "testbed-pfifo": "drop-tail, 240 ms: CUBIC, Prague",
    "testbed-classic": "CoDel, PIE: Prague, CUBIC, Reno",
    "testbed-bbr": "drop-tail: BBRv1, CUBIC",
}
WITHIN = 10


def main() -> None:
    """One point a cell, with the interval over runs."""
    shipped = evidence.shipped()
    assert shipped is not None
    figure, [ax] = ef.plots.figure(1, 1, size=(6.4, 4.4))
    ax.fill_between([0, 100], [-WITHIN, 100 - WITHIN], [WITHIN, 100 + WITHIN], color="#eeeeee", lw=0)
    for (check, name), marker in zip(NAMES.items(), "os^vD", strict=True):
        rows = [row for row in shipped["rows"] if row["check"] == check]
        x, y = ([row[whose]["mean"] for row in rows] for whose in ("theirs", "ours"))
        half = [(row["ours"]["hi"] - row["ours"]["lo"]) / 2 for row in rows]
        ax.errorbar(x, y, half, fmt=marker, ms=4, lw=0.8, alpha=0.8, label=name)
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 100)
    ax.set_aspect("equal")
    ax.set_xlabel("share on the testbed (%)")
    ax.set_ylabel("share in Evenflow (%)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
    with mpl.rc_context({"svg.hashsalt": "evenflow"}):
        figure.savefig(Path(__file__).with_name("testbeds.svg"), metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
