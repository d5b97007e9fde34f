"""Draw the figure of re-ECN's README: figure 14 with 100 victims, honest attackers and three policers.

.venv/bin/python docs/images/draw_attack.py
"""

from pathlib import Path

import evenflow as ef
from evenflow.papers import load
from evenflow.run.files import write_whole
from evenflow.show.drawing import draw

PAPER = Path(__file__).resolve().parents[2] / "papers" / "evenflow_papers" / "reecn_lte"
SANCTIONS = ("none", "drop-while-empty", "block")


def main() -> None:
    """The points of the full run, from the run cache where they are."""
    experiment = load("reecn_lte").experiment("fig14")
    points = [
        point
        for point in experiment.points("paper")
        if (point.labels["n"], point.labels["attackers"]) == (100, "honest") and point.labels["sanction"] in SANCTIONS
    ]
    with ef.Store() as store:
        table = ef.run_study(ef.Study(points, list(experiment.seeds("paper"))), store=store)
    assert experiment.figure is not None
    write_whole(PAPER / "attack.svg", ef.plots.svg(draw(experiment.figure(table))).encode())


if __name__ == "__main__":
    main()
