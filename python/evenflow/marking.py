"""Marking curves: the probability of a mark by load."""

from .theory.marking import *  # noqa: F403
