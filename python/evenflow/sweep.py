"""Expansion of a `[sweep]` into points."""

from .scenario.sweep import *  # noqa: F403
