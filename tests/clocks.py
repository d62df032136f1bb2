"""Clocks of a test's own. What is set in `time` or `asyncio` itself is set for every thread: for the worker of a service, too."""

from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace
from typing import Any

FAR = f"0 3 1 {(datetime.now(UTC).month + 5) % 12 + 1} *"  # a schedule that is due when a test says so: by itself in half a year


def instead(module: ModuleType, **changes: Any) -> SimpleNamespace:
    """The module as one other shall see it: with these things in it instead."""
    return SimpleNamespace(**{**vars(module), **changes})
