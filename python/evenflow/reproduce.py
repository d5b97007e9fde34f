"""Reproduce a paper: run its experiments and judge its claims."""

from .papers.reproduce import *  # noqa: F403
