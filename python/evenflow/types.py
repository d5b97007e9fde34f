"""Dataclasses of a scenario's tables and mechanisms (generated)."""

from .scenario.types import *  # noqa: F403
