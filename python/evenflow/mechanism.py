"""Mechanisms stepped from Python, and their descriptions."""

from .run.mechanism import *  # noqa: F403
