"""The public name of `evenflow.run.mechanism`."""

import sys

from .run import mechanism as _module
from .run.mechanism import *  # noqa: F403

sys.modules[__name__] = _module
