"""Tables 2 to 9 as printed: what stands beside our numbers, and what the paper's own arithmetic is checked with."""

from __future__ import annotations

from collections.abc import Mapping

from .network import CUBIC, GOOD, HTBM, ILLINOIS, NEWRENO, NONE, RWTM, S1, S2, S3, S4, VEGAS, WL

Cells = Mapping[tuple[str, ...], float]


def _by_control(*rows: tuple[str, str, tuple[float, float, float, float]]) -> dict[tuple[str, ...], float]:
    return {
        (name, method, control): value
        for name, method, values in rows
        for control, value in zip((NEWRENO, VEGAS, ILLINOIS, CUBIC), values, strict=True)
    }


TABLE_2: Cells = _by_control(
    ("IS", NONE, (4.95, 2.15, 8.35, 7.47)),
    ("IS", HTBM, (1.89, 1.08, 1.56, 1.86)),
    ("IS", RWTM, (1.69, 4.10, 1.88, 1.63)),
    ("IF", NONE, (41.33, 52.31, 74.14, 50.46)),
    ("IF", HTBM, (49.57, 47.81, 7.75, 20.45)),
    ("IF", RWTM, (45.87, 32.24, 6.17, 5.02)),
    ("V", NONE, (100.93, 102.11, 174.13, 145.03)),
    ("V", HTBM, (101.83, 87.11, 21.10, 52.06)),
    ("V", RWTM, (94.51, 104.00, 24.22, 19.55)),
)
"""Client 1 in scenario 1: (measure, method, control)."""
TABLE_3: Cells = _by_control(
    ("IS", NONE, (5.82, 3.06, 7.85, 5.82)),
    ("IS", HTBM, (1.17, 0.95, 1.05, 1.15)),
    ("IS", RWTM, (1.09, 0.95, 1.03, 1.13)),
    ("IF", NONE, (26.64, 70.77, 39.27, 36.33)),
    ("IF", HTBM, (4.72, 3.62, 4.21, 4.47)),
    ("IF", RWTM, (2.49, 2.30, 2.47, 2.61)),
    ("V", NONE, (96.25, 137.01, 126.33, 92.81)),
    ("V", HTBM, (12.41, 6.95, 9.73, 13.26)),
    ("V", RWTM, (6.73, 5.03, 6.54, 8.95)),
)
"""Client 2 in scenario 1."""
TABLE_4: Cells = _by_control(
    ("CNG", NONE, (46.13, 43.00, 66.11, 85.65)),
    ("CNG", HTBM, (44.06, 40.50, 58.68, 191.72)),
    ("CNG", RWTM, (0.10, 8.26, 0.76, 1.11)),
    ("fr", NONE, (0.42, 0.35, 0.27, 0.40)),
    ("fr", HTBM, (0.31, 0.32, 0.06, 0.16)),
    ("fr", RWTM, (0.32, 0.41, 0.24, 0.24)),
)
"""Client 1 in scenario 1."""


def _by_scenario(
    names: tuple[str, str, str], *rows: tuple[str, str, tuple[float, ...]]
) -> dict[tuple[str, ...], float]:
    """Rows of (scenario, control, values): for each name the value with HTBM, then with RWTM."""
    found: dict[tuple[str, ...], float] = {}
    for scenario, control, values in rows:
        columns = [(name, method) for name in names for method in (HTBM, RWTM)]
        for (name, method), value in zip(columns, values, strict=True):
            found[name, scenario, control, method] = value
    return found


TABLE_5: Cells = _by_scenario(
    ("IS", "IF", "V"),
    (S1, CUBIC, (1.86, 1.63, 20.45, 5.02, 52.06, 19.55)),
    (S2, CUBIC, (3.44, 1.43, 32.90, 3.42, 64.13, 10.98)),
    (S3, CUBIC, (2.19, 1.63, 18.49, 4.81, 34.65, 14.34)),
    (S1, ILLINOIS, (1.56, 1.88, 7.75, 6.17, 21.10, 24.22)),
    (S2, ILLINOIS, (3.20, 1.56, 29.75, 4.42, 59.58, 13.28)),
    (S3, ILLINOIS, (1.85, 1.76, 7.92, 5.66, 21.03, 18.80)),
)
"""Client 1: (measure, scenario, control, method)."""
MEAN = "MV"
TABLE_5_MEANS: Cells = _by_scenario(
    ("IS", "IF", "V"),
    (MEAN, CUBIC, (2.49, 1.56, 23.95, 4.42, 50.28, 14.96)),
    (MEAN, ILLINOIS, (2.20, 1.73, 15.14, 5.42, 33.90, 18.56)),
)


def _four(name: str, scenario: str, *values: float) -> dict[tuple[str, ...], float]:
    """A row of Table 6 or 8: CUBIC with HTBM and RWTM, Illinois with both."""
    columns = [(control, method) for control in GOOD for method in (HTBM, RWTM)]
    return {(name, scenario, *column): value for column, value in zip(columns, values, strict=True)}


TABLE_6: Cells = {
    **_four("CNG", S1, 191.72, 1.11, 58.68, 0.76),
    **_four("CNG", S2, 375.62, 0.82, 33.11, 0.68),
    **_four("CNG", S3, 173.48, 0.66, 56.27, 0.76),
    **_four("fr", S1, 0.16, 0.24, 0.06, 0.24),
    **_four("fr", S2, 0.23, 0.24, 0.21, 0.24),
    **_four("fr", S3, 0.13, 0.26, 0.05, 0.26),
}
TABLE_6_MEANS: Cells = {
    **_four("CNG", MEAN, 246.92, 0.86, 49.35, 0.73),
    **_four("fr", MEAN, 0.17, 0.25, 0.10, 0.25),
}
TABLE_7: Cells = _by_scenario(
    ("IS", "IF", "V"),
    (WL, CUBIC, (1.08, 1.07, 3.71, 1.79, 7.61, 4.10)),
    (S4, CUBIC, (4.86, 6.40, 48.2, 46.14, 120.3, 129.3)),
    (WL, ILLINOIS, (1.08, 1.07, 2.23, 1.66, 5.37, 4.01)),
    (S4, ILLINOIS, (2.7, 2.92, 15.6, 17.81, 35.48, 42.75)),
)
TABLE_8: Cells = {
    **_four("CNG", WL, 34.2, 0.98, 38.51, 0.79),
    **_four("CNG", S4, 216.19, 120.36, 146.68, 143.54),
    **_four("fr", WL, 0.03, 0.36, 0.03, 0.43),
    **_four("fr", S4, 0.40, 0.41, 0.09, 0.31),
}
SCORES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "1 to 3": ((CUBIC, RWTM), (ILLINOIS, RWTM), (ILLINOIS, HTBM), (CUBIC, HTBM)),
    "4": ((ILLINOIS, HTBM), (ILLINOIS, RWTM), (CUBIC, RWTM), (CUBIC, HTBM)),
    "5": ((ILLINOIS, RWTM), (CUBIC, RWTM), (CUBIC, HTBM), (ILLINOIS, HTBM)),
}
"""Table 9: combinations from the best score to the worst; equal are the first two of scenarios 1 to 3 and the last two
of scenario 4. Cells of dashes alone were lost in the text and are filled from its words."""
