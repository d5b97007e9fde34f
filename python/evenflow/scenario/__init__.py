"""Scenarios: data that say what is simulated; their files, dotted paths, sweeps and generated types."""

from .decoding import decode
from .scenario import Scenario, available_memory, parse_setting, require_memory

__all__ = ["Scenario", "available_memory", "decode", "parse_setting", "require_memory"]
