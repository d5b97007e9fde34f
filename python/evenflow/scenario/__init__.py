"""Scenarios: data that say what is simulated; their files, dotted paths, sweeps and generated types."""

from .scenario import Scenario, available_memory, decode, parse_setting, require_memory

__all__ = ["Scenario", "available_memory", "decode", "parse_setting", "require_memory"]
