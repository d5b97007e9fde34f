"""The public name of `evenflow.papers.reproduce`."""

import sys

from .papers import reproduce as _module
from .papers.reproduce import *  # noqa: F403

sys.modules[__name__] = _module
