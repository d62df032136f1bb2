"""What is said about a memory beside its content and its time, so that every promise about it is tested of every detail."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Detail:
    """What a memory has where nothing is stated, two values that it may have, and whether a new version has what the one before had."""

    default: Any
    one: Any
    other: Any
    inherited: bool


DETAILS = {
    "category": Detail("general", "people/alice", "travel", inherited=True),
    "tags": Detail([], ["city", "home"], ["trip"], inherited=True),
    "layer": Detail(2, 1, 0, inherited=True),
    "importance": Detail(0.5, 0.75, 0.25, inherited=True),
    "confidence": Detail(1.0, 0.625, 0.5, inherited=False),
    "metadata": Detail({}, {"a": [1, None]}, {"b": 1.10}, inherited=True),
    "about": Detail(None, "Alice", "Bob", inherited=True),
}
DEFAULTS = {name: detail.default for name, detail in DETAILS.items()}
STATED = {name: detail.one for name, detail in DETAILS.items()}
OTHERS = {name: detail.other for name, detail in DETAILS.items()}
