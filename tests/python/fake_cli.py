"""`python -m fake_cli ARGS`: the command line on the stand-in core, for subprocess tests. Studies write no figures."""

from __future__ import annotations

import fake_core

fake_core.install()

from evenflow.cli import main  # noqa: E402
from evenflow.show import report  # noqa: E402

report.study_figures = lambda *_: report.StudyFigures([], [])  # type: ignore[assignment]
main()
