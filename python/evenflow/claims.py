"""The public name of `evenflow.judge.claims`."""

import sys

from .judge import claims as _module
from .judge.claims import *  # noqa: F403

sys.modules[__name__] = _module
