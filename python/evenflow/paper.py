"""The parts of a paper: experiments, options, claims."""

from .judge.paper import *  # noqa: F403
