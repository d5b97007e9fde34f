"""`python -m fake_cli ARGS`: the command line on the stand-in core, for subprocess tests."""

from __future__ import annotations

import fake_core

fake_core.install()

from evenflow.cli import main  # noqa: E402

main()
