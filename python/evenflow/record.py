"""The record of a run, and histograms of delays."""

from .run.histograms import Histogram as Histogram
from .run.record import *  # noqa: F403
