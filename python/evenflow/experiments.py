"""How a paper's experiments are written down."""

from .judge.choices import assembled
from .judge.experiments import Experiments, Grid, Thin, grid, rows, thin

__all__ = ["Experiments", "Grid", "Thin", "assembled", "grid", "rows", "thin"]
