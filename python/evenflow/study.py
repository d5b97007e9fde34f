"""Studies: points times seeds, and their tables."""

from .run import study as _module
from .run.study import *  # noqa: F403

__all__ = _module.__all__
