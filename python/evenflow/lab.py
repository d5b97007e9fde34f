"""Measures and comparisons that papers share."""

from .judge.lab import *  # noqa: F403
