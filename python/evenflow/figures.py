"""How a paper's figures are written down: panels of measured values (`evenflow.values`)."""

from .show.panels import Figures, Looks, Spec, bars, curves, diagram, dots, drawn, path, scatter, table
from .show.picture import Arrow, Box, Mark, Picture

__all__ = [
    "Arrow",
    "Box",
    "Figures",
    "Looks",
    "Mark",
    "Picture",
    "Spec",
    "bars",
    "curves",
    "diagram",
    "dots",
    "drawn",
    "path",
    "scatter",
    "table",
]
