"""Runs: the engine, records, the store, studies, and mechanisms stepped by hand."""
