"""Quality of experience of video, and network quality from delays."""

from .theory.outcome import *  # noqa: F403
from .theory.qoe import *  # noqa: F403
