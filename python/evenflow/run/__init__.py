"""Runs: the engine, records, the store, studies, and single mechanisms."""
