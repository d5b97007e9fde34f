"""The run cache: `Store`, and where it is."""

from .run.files import csv_bytes, prepare, unwritable, write_whole
from .run.store import DEFAULT, ENVIRONMENT, Claimed, SeriesFile, Store, key_of

__all__ = [
    "DEFAULT",
    "ENVIRONMENT",
    "Claimed",
    "SeriesFile",
    "Store",
    "csv_bytes",
    "key_of",
    "prepare",
    "unwritable",
    "write_whole",
]
