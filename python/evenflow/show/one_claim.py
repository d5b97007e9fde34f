"""One claim on a terminal of 80 columns: statement, accepted range, every comparison as a small picture."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ..judge.claims import IN_WORDS, Check, number

WIDTH = 80
PICTURE = 40
"""Columns of an axis."""

SIGNS = {"accepted": "░", "interval": "─", "lo": "├", "hi": "┤", "mean": "●", "mode": "◆", "beyond": "›"}
PLAIN = {"accepted": ".", "interval": "-", "lo": "[", "hi": "]", "mean": "o", "mode": "x", "beyond": ">"}
MARKS = {"holds": "✓", "fails": "✗", "undecided": "?"}
ASCII = {
    "≥": ">=", "≤": "<=", "−": "-", "–": "-", "“": '"', "”": '"', "’": "'", "→": "->", "±": "+-", "·": "-", "…": "...",
    "×": "x", "∞": "inf", "✓": "+", "✗": "!", "ρ": "rho", "θ": "theta", "α": "alpha", "γ": "gamma", "κ": "kappa",
    "½": "1/2", "√": "sqrt ", "²": "^2", "∝": "~", "≈": "~",
}  # fmt: skip


def speaks_unicode() -> bool:
    """Whether standard output can show the signs."""
    try:
        "".join([*SIGNS.values(), *MARKS.values()]).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plain(text: str) -> str:
    """In ASCII: what has a usual spelling is spelt, the rest is a question mark."""
    for sign, spelt in ASCII.items():
        text = text.replace(sign, spelt)
    return text.encode("ascii", "replace").decode()


def axis(checks: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """From where to where an axis goes that shows these comparisons: means, intervals, edges, modes, and a margin."""
    values = [
        value
        for check in checks
        for value in (
            check["mean"],
            *check["ci"],
            *check["accepted"],
            *(mode["value"] for mode in check.get("modes") or ()),
        )
        if value is not None and math.isfinite(value)
    ]
    if not values:
        return 0.0, 1.0
    lo, hi = min(values), max(values)
    margin = 0.05 * (hi - lo) or 0.1 * abs(hi) or 1.0
    return lo - margin, hi + margin


def picture(
    check: Mapping[str, Any], lo: float, hi: float, width: int = PICTURE, signs: Mapping[str, str] = SIGNS
) -> str:
    """The accepted set shaded, the interval and its mean on it, modes; one line of `width` signs."""

    def column(value: float) -> int:
        return min(width - 1, max(0, round((value - lo) / (hi - lo) * (width - 1))))

    line = [" "] * width
    low, high = check["accepted"]
    start, end = (0 if low is None else column(low)), (width - 1 if high is None else column(high))
    for at in range(start, end + 1):
        line[at] = signs["accepted"]
    if check["mean"] is None:
        return "".join(line)
    ends = check["ci"]
    first, last = (
        (column(lo) if ends[0] is None else column(ends[0])),
        (column(hi) if ends[1] is None else column(ends[1])),
    )
    if check["n"]:
        for at in range(first, last + 1):
            line[at] = signs["interval"]
        line[first] = signs["lo"] if ends[0] is not None else signs["interval"]
        line[last] = signs["hi"] if ends[1] is not None else signs["interval"]
    for mode in check.get("modes") or ():
        if mode["value"] is not None:
            line[column(mode["value"])] = signs["mode"]
    line[column(check["mean"])] = signs["mean"]
    return "".join(line)


def measured(check: Mapping[str, Any]) -> str:
    """ "1.08 [1.02, 1.14] ms"."""
    unit = f" {check['unit']}" if check["unit"] else ""
    if check["mean"] is None:
        return "undefined"
    lo, hi = check["ci"]
    bounds = f" [{number(lo)}, {number(hi)}]" if check["n"] and lo is not None and hi is not None else ""
    return f"{number(check['mean'])}{bounds}{unit}"


def accepted(check: Mapping[str, Any]) -> str:
    """The accepted set in words."""
    return Check("", 0.0, check["accepted"][0], check["accepted"][1], check["unit"]).accepted


def _block(heading: str, text: str) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(f"{heading}: {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _comparisons(checks: Sequence[Mapping[str, Any]], signs: Mapping[str, str]) -> list[str]:
    """Two lines each, worst first as the row has them; axes are shared by those with the same unit and set."""
    lines: list[str] = []
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for check in checks:
        groups.setdefault((check["unit"], *check["accepted"]), []).append(check)
    for group in groups.values():
        lo, hi = axis(group)
        unit = f" {group[0]['unit']}" if group[0]["unit"] else ""
        lines.append(f"Accepted: {accepted(group[0])}. The axis goes from {number(lo)} to {number(hi)}{unit}.")
        for check in group:
            how = " (by the mean only)" if check["close"] and check["verdict"] != "undecided" else ""
            open_ = f": {check['open']}" if check.get("open") else ""
            need = f"; about {check['runs_to_decide']} runs would decide" if check.get("runs_to_decide") else ""
            runs = f", {check['n']} run{'s' if check['n'] != 1 else ''}" if check["n"] else ""
            words = f"{IN_WORDS[check['verdict']]}{how}{open_}{need}"
            head = f"{MARKS[check['verdict']]} {check['label'] or 'the comparison'}: {words}"
            lines += textwrap.wrap(head, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            drawn = f"  {picture(check, lo, hi, signs=signs)} "
            text = f"{measured(check)}{runs}"
            if len(drawn) + len(text) <= WIDTH:
                lines.append(drawn + text)
            else:
                lines += [drawn.rstrip(), f"    {text}"]
            if check.get("modes"):
                said = ", ".join(f"{number(m['value'])} in {m['runs']} ({m['share']:.0%})" for m in check["modes"])
                lines += textwrap.wrap(f"modes: {said}", WIDTH, initial_indent="    ", subsequent_indent="      ")
        lines.append("")
    return lines


def claim(
    row: Mapping[str, Any],
    *,
    scale: str,
    sensitivity: Sequence[Mapping[str, Any]],
    history: Sequence[Mapping[str, Any]],
    told: str,
) -> str:
    """The screen.

    Args:
        row: of the results, with its comparisons.
        sensitivity: all rows of the results' `sensitivity`.
        history: changes of this claim's acceptance criterion.
        told: the origin of the results.
    """
    signs = SIGNS if speaks_unicode() else PLAIN
    verdict = IN_WORDS[row["verdict"]] + (" by the mean only" if row.get("by_mean") else "")
    lines = [f"{row['id']} · {row['source']} · {verdict} · scale “{scale}”"]
    if row.get("apart"):
        lines.append(f"Not counted: {row['apart']}.")
    lines.append("")
    if row.get("quote"):
        lines += _block("The paper", f"“{row['quote'].strip('“”')}”")
    lines += _block("Statement", row.get("statement") or "")
    lines += _block("Expected", row["expected"])
    lines += _block("Criterion", row.get("judged") or "")
    lines += _block("Accepted", row.get("tolerance") or "")
    lines += _block("Why", row.get("why") or "")
    checks, relaxed = row.get("checks") or [], row.get("relaxed_checks") or []
    lines += ["", f"Strict criterion: {len(checks)} comparison{'s' if len(checks) != 1 else ''}", ""]
    lines += _comparisons(checks, signs) if checks else ["The results have no comparisons of this claim.", ""]
    if row.get("relaxed"):
        by_mean = " by the mean only" if row.get("relaxed_by_mean") else ""
        lines += _block(f"Lenient criterion ({IN_WORDS[row['relaxed']]}{by_mean})", row.get("relaxed_reading") or "–")
        lines.append("")
        lines += _comparisons(relaxed, signs)
    lines.append("Effect of options:")
    changes = [(o, c) for o in sensitivity for c in o["changes"] if c["id"] == row["id"]]
    for option, change in changes:
        said = f"- {option['option']} = {option['value']}: {change['before']} → {change['after']}"
        said += f"; {change['measured']}" if change.get("measured") else ""
        lines += textwrap.wrap(said, WIDTH, subsequent_indent="  ")
    if not changes:
        lines.append("  none of those tried" if sensitivity else "  not tried, or no options")
    lines.append("Changes of its acceptance criterion:")
    for past in history:
        text = f"- {past['date']}: {past['what']} Why: {past['why']} Verdict {past['before']} → {past['after']}."
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="  ")
    if not history:
        lines.append("  none")
    lines.append("")
    key = f"{signs['accepted'] * 3} accepted, {signs['lo']}{signs['interval']}{signs['mean']}{signs['interval']}"
    lines.append(f"{key}{signs['hi']} interval and mean, {signs['mode']} mode of the runs")
    lines += textwrap.wrap(told, WIDTH)
    text = "\n".join(lines)
    return text if signs is SIGNS else plain(text)
