"""Claims: a published statement, its checks, its verdict."""

from .judge.claims import *  # noqa: F403
