"""The public name of `evenflow.show.plots`."""

import sys

from .show import plots as _module
from .show.plots import *  # noqa: F403

sys.modules[__name__] = _module
