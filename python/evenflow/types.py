"""The public name of `evenflow.scenario.types`."""

import sys

from .scenario import types as _module
from .scenario.types import *  # noqa: F403

sys.modules[__name__] = _module
