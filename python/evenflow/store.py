"""The public name of `evenflow.run.store`."""

import sys

from .run import store as _module
from .run.store import *  # noqa: F403

sys.modules[__name__] = _module
