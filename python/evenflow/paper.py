"""The public name of `evenflow.judge.paper`."""

import sys

from .judge import paper as _module
from .judge.paper import *  # noqa: F403

sys.modules[__name__] = _module
