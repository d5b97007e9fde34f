"""The kit of a paper: claims as data, notes, ledgers of changes."""

from .judge.kit import *  # noqa: F403
