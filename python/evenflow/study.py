"""The public name of `evenflow.run.study`."""

import sys

from .run import study as _module
from .run.study import *  # noqa: F403

sys.modules[__name__] = _module
