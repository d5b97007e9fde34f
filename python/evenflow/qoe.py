"""The public name of `evenflow.theory.qoe`."""

import sys

from .theory import qoe as _module
from .theory.qoe import *  # noqa: F403

sys.modules[__name__] = _module
