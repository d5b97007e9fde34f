"""The public name of `evenflow.theory.marking`."""

import sys

from .theory import marking as _module
from .theory.marking import *  # noqa: F403

sys.modules[__name__] = _module
