"""The public name of `evenflow.scenario.sweep`."""

import sys

from .scenario import sweep as _module
from .scenario.sweep import *  # noqa: F403

sys.modules[__name__] = _module
