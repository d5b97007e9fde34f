"""The public name of `evenflow.judge.lab`."""

import sys

from .judge import lab as _module
from .judge.lab import *  # noqa: F403

sys.modules[__name__] = _module
