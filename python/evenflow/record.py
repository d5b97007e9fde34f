"""The record of a run."""

from .run.record import *  # noqa: F403
