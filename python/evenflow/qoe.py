"""Quality of experience from video metrics."""

from .theory.qoe import *  # noqa: F403
