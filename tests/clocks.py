"""Clocks of a test's own. What is set in `time` or `asyncio` itself is set for every thread: for the worker of a service, too."""

from types import ModuleType, SimpleNamespace
from typing import Any


def instead(module: ModuleType, **changes: Any) -> SimpleNamespace:
    """The module as one other shall see it: with these things in it instead."""
    return SimpleNamespace(**{**vars(module), **changes})
