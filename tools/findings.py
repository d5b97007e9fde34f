"""Draw the figures of docs/findings and fill its tables, from the numbers that ship beside them.

python tools/findings.py               draw again from docs/findings/*.csv
python tools/findings.py --take OUT    first take the numbers from a paper's results (out/wtp, at --scale paper)
python tools/findings.py --check       say whether the page has the tables that its numbers give
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from evenflow import plots
from evenflow.papers.reproduce import LEDGER, read_ledger

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "docs" / "findings"
PAGE = FOLDER / "willingness-to-pay.md"
MAP, MARKS, OTHERWISE = "wtp-x-base-weight", "wtp-x-marks", "wtp-x-burst"
NUMBERS = (MAP, MARKS, OTHERWISE)
"""Experiments of the paper `wtp` whose numbers ship with the page."""
FORMS = {"PI": "proportional increase", "IPD": "inverse decrease"}
POPULATIONS = {"A": "5 light, 5 heavy", "B": "9 light, 1 heavy", "C": "weights 1 to 10"}


def numbers(name: str) -> pl.DataFrame:
    """The numbers of an experiment, one row a point."""
    return pl.read_csv(FOLDER / f"{name}.csv", infer_schema_length=None)


def between(row: dict[str, float | None], name: str, digits: int = 3) -> str:
    """A mean with its interval: "1.127 [1.101, 1.153]"."""
    mean, lo, hi = (row[name + end] for end in ("", "_lo", "_hi"))
    if mean is None:
        return "–"
    bounds = f" [{lo:.{digits}f}, {hi:.{digits}f}]" if lo is not None and hi is not None else ""
    return f"{mean:.{digits}f}{bounds}".replace("-", "−")


def cause() -> Figure:
    """Why: how much each class's packets vary, and who is marked more; both forms, r = 10, virtual queue."""
    found = {r["form"]: r for r in numbers(MARKS).filter(pl.col("marker") == "VQ", pl.col("r") == 10).to_dicts()}
    figure, (a, b) = plots.figure(1, 2, size=(8.4, 3.6))
    for x, form in enumerate(FORMS):
        for index, (group, words) in enumerate((("light", "weight 1"), ("heavy", "weight 10"))):
            _dot(a, x - 0.08 + 0.16 * index, found[form], f"fluctuation_{group}", index, words if x == 0 else "")
        for index, (name, words) in enumerate(
            (("p_high_over_p_low", "measured"), ("p_high_over_p_low_if_alike", "by the times of sending alone"))
        ):
            _dot(b, x - 0.08 + 0.16 * index, found[form], name, index + 2, words if x == 0 else "")
    b.axhline(1, color="0.45", linewidth=0.8, zorder=0)
    for ax, words in (
        (a, "packets per round trip, std / mean"),
        (b, "marking probability, weight 10 over weight 1"),
    ):
        ax.set_xticks(range(len(FORMS)), list(FORMS.values()))
        ax.set_xlim(-0.5, 1.5)
        plots.name_axes(ax, "", words, zero=False, legend=False)
        ax.legend(loc="best")
    return figure


def _dot(ax: Axes, x: float, row: dict[str, float], name: str, index: int, label: str) -> None:
    mean, lo, hi = (row[name + end] for end in ("", "_lo", "_hi"))
    ax.errorbar(
        x,
        mean,
        yerr=[[mean - lo], [hi - mean]],
        fmt=plots.MARKERS[index % len(plots.MARKERS)],
        color=plots.COLOURS[index],
        label=label or None,
    )


def the_map() -> Figure:
    """R/r under the virtual queue less R/r under RED, over r: a column a base weight, a row a form."""
    found = numbers(MAP)
    bases = found["base_weight"].unique().sort().to_list()
    figure, axes = plots.figure(2, len(bases), size=(2.6 * len(bases), 5.6), sharex=True, sharey="row")
    for row, (form, words) in enumerate(FORMS.items()):
        for column, base in enumerate(bases):
            ax = axes[row * len(bases) + column]
            for index, (population, who) in enumerate(POPULATIONS.items()):
                mine = found.filter(form=form, base_weight=base, population=population).sort("r")
                mean = mine["vq_minus_red"].to_numpy()
                ax.errorbar(
                    mine["r"].to_numpy() + 0.12 * (index - 1),
                    mean,
                    yerr=[mean - mine["vq_minus_red_lo"].to_numpy(), mine["vq_minus_red_hi"].to_numpy() - mean],
                    fmt=plots.MARKERS[index],
                    color=plots.COLOURS[index],
                    elinewidth=0.9,
                    label=f"{population}: {who}",
                )
            ax.axhline(0, color="0.45", linewidth=0.8, zorder=0)
            plots.name_axes(
                ax,
                "weight ratio r" if row else "",
                "" if column else f"R/r, virtual queue − RED\n{words}",
                title=f"light weight {base:g}" if row == 0 else "",
                zero=False,
                legend=False,
            )
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=3, frameon=False)
    return figure


def counts() -> list[str]:
    """How many cells of the map say what, by form and base weight."""
    lines = [
        "| form | light weight | points | R above RED's | below | heavy marked less | more | light at one packet |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for form, words in FORMS.items():
        for base in numbers(MAP)["base_weight"].unique().sort().to_list():
            mine = numbers(MAP).filter(form=form, base_weight=base)
            found = [
                mine.filter(which).height
                for which in (
                    pl.col("vq_minus_red_lo") > 0,
                    pl.col("vq_minus_red_hi") < 0,
                    pl.col("p_high_over_p_low_hi") < 1,
                    pl.col("p_high_over_p_low_lo") > 1,
                )
            ]
            floor = f"{100 * float(mine['light_at_floor'].max()):.1f} %"  # type: ignore[arg-type]
            lines.append(f"| {words} | {base:g} | {mine.height} | {' | '.join(map(str, found))} | {floor} |")
    return lines


def cells() -> list[str]:
    """Every cell of population A under proportional increase, with intervals."""
    lines = [
        "| light weight | r | R/r, virtual queue | R/r, RED | difference | p_heavy / p_light |",
        "|--:|--:|--|--|--|--|",
    ]
    mine = numbers(MAP).filter(form="PI", population="A").sort("base_weight", "r")
    for row in mine.to_dicts():
        shown = " | ".join(between(row, name) for name in ("vq_R_over_r", "red_R_over_r", "vq_minus_red"))
        lines.append(f"| {row['base_weight']:g} | {row['r']:g} | {shown} | {between(row, 'p_high_over_p_low')} |")
    return lines


def otherwise() -> list[str]:
    """p_heavy/p_light under the virtual queue at r = 10, one thing done otherwise at a time."""
    found = numbers(OTHERWISE).filter(pl.col("marker") == "VQ")
    found = found.filter((pl.col("r") == 10) | pl.col("r").is_null())
    lines = ["| done otherwise | proportional increase | inverse decrease |", "|---|---|---|"]
    for name in found["variant"].unique(maintain_order=True).to_list():
        rows = {row["form"]: row for row in found.filter(variant=name).to_dicts()}
        lines.append(f"| {name} | {' | '.join(between(rows[form], 'p_high_over_p_low') for form in FORMS)} |")
    return lines


TABLES = {"counts": counts, "cells": cells, "otherwise": otherwise}


def filled(text: str) -> str:
    """The page with every table between its marks, `<!-- NAME -->` and `<!-- /NAME -->`."""
    for name, rows in TABLES.items():
        block = "\n".join(rows()) + "\n"
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda m, block=block: m[1] + block + m[2], text)  # type: ignore[misc]
    return text


def take(out: Path) -> None:
    """Copy the numbers from a paper's results."""
    ledger = read_ledger(out / LEDGER)
    if ledger is None or ledger["paper"] != "wtp" or ledger["scale"] != "paper" or ledger["options"]:
        sys.exit(f"{out} has no results of wtp at the paper's scale; run: evenflow reproduce wtp --scale paper")
    for name in NUMBERS:
        shutil.copyfile(out / "figures" / f"{name}.csv", FOLDER / f"{name}.csv")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", metavar="OUT", type=Path, help="take the numbers from a paper's results first")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    asked = parser.parse_args()
    if asked.take:
        take(asked.take)
    text = PAGE.read_text(encoding="utf-8")
    if asked.check:
        sys.exit(0 if filled(text) == text else f"{PAGE} is not what its numbers give; run: python tools/findings.py")
    PAGE.write_text(filled(text), encoding="utf-8")
    for name, draw in (("cause", cause), ("map", the_map)):
        with plots.style():
            drawn = draw()
        (FOLDER / f"willingness-to-pay-{name}.svg").write_text(plots.svg(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
