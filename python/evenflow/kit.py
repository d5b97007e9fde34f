"""The public name of `evenflow.judge.kit`."""

import sys

from .judge import kit as _module
from .judge.kit import *  # noqa: F403

sys.modules[__name__] = _module
