"""The public name of `evenflow.run.record`."""

import sys

from .run import record as _module
from .run.record import *  # noqa: F403

sys.modules[__name__] = _module
