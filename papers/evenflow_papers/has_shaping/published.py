"""Tables 2 to 9 as printed, by (measure, scenario, control, method); of client 1 unless a table says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product

from .network import CONTROLS, CUBIC, GOOD, HTBM, ILLINOIS, METHODS, QUALITY, RWTM, S1, S2, S3, S4, SHAPED, WL

Cells = dict[tuple[str, str, str, str], float]
MEAN = "MV"
"""The row of Tables 5 and 6 with the means of scenarios 1 to 3."""
MEASURE, SCENARIO, CONTROL, METHOD = range(4)


def _cells(
    fields: Sequence[int], columns: Iterable[tuple[str, ...]], rows: Mapping[tuple[str, ...], Sequence[float]]
) -> Cells:
    """Cells by (measure, scenario, control, method); `fields` is the order of these in the rows' and columns' names."""
    found: Cells = {}
    names = list(columns)
    for row, values in rows.items():
        for column, value in zip(names, values, strict=True):
            at = dict(zip(fields, (*row, *column), strict=True))
            found[at[MEASURE], at.get(SCENARIO, S1), at[CONTROL], at[METHOD]] = value
    return found


def _first(names: Sequence[str], *rows: Sequence[float]) -> Cells:
    """Scenario 1: a row for each measure and method, a column for each control."""
    named: dict[tuple[str, ...], Sequence[float]] = dict(zip(product(names, METHODS), rows, strict=True))
    return _cells((MEASURE, METHOD, CONTROL), product(CONTROLS), named)


_quality = partial(_cells, (SCENARIO, CONTROL, MEASURE, METHOD), list(product(QUALITY, SHAPED)))
_congestion = partial(_cells, (MEASURE, SCENARIO, CONTROL, METHOD), list(product(GOOD, SHAPED)))

TABLE_2 = _first(
    QUALITY,
    (4.95, 2.15, 8.35, 7.47),
    (1.89, 1.08, 1.56, 1.86),
    (1.69, 4.10, 1.88, 1.63),
    (41.33, 52.31, 74.14, 50.46),
    (49.57, 47.81, 7.75, 20.45),
    (45.87, 32.24, 6.17, 5.02),
    (100.93, 102.11, 174.13, 145.03),
    (101.83, 87.11, 21.10, 52.06),
    (94.51, 104.00, 24.22, 19.55),
)
TABLE_3 = _first(
    QUALITY,
    (5.82, 3.06, 7.85, 5.82),
    (1.17, 0.95, 1.05, 1.15),
    (1.09, 0.95, 1.03, 1.13),
    (26.64, 70.77, 39.27, 36.33),
    (4.72, 3.62, 4.21, 4.47),
    (2.49, 2.30, 2.47, 2.61),
    (96.25, 137.01, 126.33, 92.81),
    (12.41, 6.95, 9.73, 13.26),
    (6.73, 5.03, 6.54, 8.95),
)
"""Client 2."""
TABLE_4 = _first(
    ("CNG", "fr"),
    (46.13, 43.00, 66.11, 85.65),
    (44.06, 40.50, 58.68, 191.72),
    (0.10, 8.26, 0.76, 1.11),
    (0.42, 0.35, 0.27, 0.40),
    (0.31, 0.32, 0.06, 0.16),
    (0.32, 0.41, 0.24, 0.24),
)
TABLE_5 = _quality(
    {
        (S1, CUBIC): (1.86, 1.63, 20.45, 5.02, 52.06, 19.55),
        (S2, CUBIC): (3.44, 1.43, 32.90, 3.42, 64.13, 10.98),
        (S3, CUBIC): (2.19, 1.63, 18.49, 4.81, 34.65, 14.34),
        (MEAN, CUBIC): (2.49, 1.56, 23.95, 4.42, 50.28, 14.96),
        (S1, ILLINOIS): (1.56, 1.88, 7.75, 6.17, 21.10, 24.22),
        (S2, ILLINOIS): (3.20, 1.56, 29.75, 4.42, 59.58, 13.28),
        (S3, ILLINOIS): (1.85, 1.76, 7.92, 5.66, 21.03, 18.80),
        (MEAN, ILLINOIS): (2.20, 1.73, 15.14, 5.42, 33.90, 18.56),
    }
)
TABLE_6 = _congestion(
    {
        ("CNG", S1): (191.72, 1.11, 58.68, 0.76),
        ("CNG", S2): (375.62, 0.82, 33.11, 0.68),
        ("CNG", S3): (173.48, 0.66, 56.27, 0.76),
        ("CNG", MEAN): (246.92, 0.86, 49.35, 0.73),
        ("fr", S1): (0.16, 0.24, 0.06, 0.24),
        ("fr", S2): (0.23, 0.24, 0.21, 0.24),
        ("fr", S3): (0.13, 0.26, 0.05, 0.26),
        ("fr", MEAN): (0.17, 0.25, 0.10, 0.25),
    }
)
TABLE_7 = _quality(
    {
        (WL, CUBIC): (1.08, 1.07, 3.71, 1.79, 7.61, 4.10),
        (S4, CUBIC): (4.86, 6.40, 48.2, 46.14, 120.3, 129.3),
        (WL, ILLINOIS): (1.08, 1.07, 2.23, 1.66, 5.37, 4.01),
        (S4, ILLINOIS): (2.7, 2.92, 15.6, 17.81, 35.48, 42.75),
    }
)
TABLE_8 = _congestion(
    {
        ("CNG", WL): (34.2, 0.98, 38.51, 0.79),
        ("CNG", S4): (216.19, 120.36, 146.68, 143.54),
        ("fr", WL): (0.03, 0.36, 0.03, 0.43),
        ("fr", S4): (0.40, 0.41, 0.09, 0.31),
    }
)
PRINTED = {1: TABLE_2 | TABLE_4 | TABLE_5 | TABLE_6 | TABLE_7 | TABLE_8, 2: TABLE_3}
"""By client."""
SCORES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "1 to 3": ((CUBIC, RWTM), (ILLINOIS, RWTM), (ILLINOIS, HTBM), (CUBIC, HTBM)),
    "4": ((ILLINOIS, HTBM), (ILLINOIS, RWTM), (CUBIC, RWTM), (CUBIC, HTBM)),
    "5": ((ILLINOIS, RWTM), (CUBIC, RWTM), (CUBIC, HTBM), (ILLINOIS, HTBM)),
}
"""Table 9: combinations, the best score first. Equal are the first two of scenarios 1 to 3 and the last two of 4. Cells
of dashes alone were lost in the text and are filled from its words."""
