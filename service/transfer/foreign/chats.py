"""Common parts of exports of chats: the path that was seen, from a leaf up to its root."""

from collections.abc import Callable
from typing import Any

from service.transfer.foreign.records import Json
from service.transfer.foreign.values import WrongValue


def path_to(leaf: Any, nodes: dict[str, Json], parent_of: Callable[[Json], Any], roots: frozenset[str]) -> list[Json]:
    """The nodes from the root to a leaf. Raises WrongValue for a circle, and for a parent or leaf that is not there."""
    found: list[Json] = []
    seen: set[str] = set()
    while leaf is not None and not (isinstance(leaf, str) and leaf in roots):
        if isinstance(leaf, str) and leaf in seen:
            raise WrongValue(f"the messages are a circle at {leaf!r}")
        node = nodes.get(leaf) if isinstance(leaf, str) else None
        if node is None:
            raise WrongValue(f"message {leaf!r} is not there, but is referred to")
        seen.add(str(leaf))
        found.append(node)
        leaf = parent_of(node)
    return found[::-1]
