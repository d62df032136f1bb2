"""How an item of a store is kept as a memory, and read back.

A store's namespace is a path, and so is a category: ("users", "123") is langgraph/users/123, and key "prefs" in it the lineage
langgraph/users/123/prefs. What a path cannot hold is escaped; what is too long ends in a hash. The memory's metadata hold the
namespace, the key and the value as they were given; its content is the text that is searched.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal
from unicodedata import is_normalized
from urllib.parse import quote, unquote

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path, tokenize_path

from loci.models.memories import MemoryOut

Namespace = tuple[str, ...]
LONGEST = 255  # characters of a category and of a lineage
KEPT = 200  # characters of a category that is too long and stay, as whole segments
TEXT = 250_000  # characters of content; each has at most 4 bytes
MARK = "langgraph"  # in metadata
ESCAPED = str.maketrans({"%": "%25", "/": "%2F", "~": "%7E"})


@dataclass(frozen=True)
class Layout:
    """Where the items of a store are kept: under one category."""

    root: str
    fields: Sequence[str]

    def path(self, namespace: Sequence[str]) -> str:
        """A namespace as a path, of any length."""
        return "/".join([self.root, *map(_escaped, namespace)])

    def category(self, namespace: Sequence[str]) -> str:
        """The category of a namespace's items."""
        path = self.path(namespace)
        return path if len(path) <= LONGEST else f"{self.above(namespace)}/~{_hash(path)}"

    def above(self, prefix: Sequence[str]) -> str:
        """A category that everything under a prefix stands under: its own, or where that may be cut, one above it."""
        path = self.path(prefix)
        while len(path) > KEPT:
            path = path.rpartition("/")[0]
        return path

    def lineage(self, namespace: Sequence[str], key: str) -> str:
        """The lineage of an item."""
        path = self.path([*namespace, key])
        return path if len(path) <= LONGEST else f"{path[:KEPT]}~{_hash(path)}"

    def namespace(self, category: str) -> Namespace | None:
        """The namespace that a category stands for; None: it was too long, and only its memories know."""
        segments = category.split("/")[1:]
        if segments and segments[-1].startswith("~"):
            return None
        return tuple(map(unquote, segments))

    def memory(self, op: PutOp, before: MemoryOut | None) -> dict[str, Any]:
        """The memory that a put writes; `before` is what stands there."""
        value = op.value or {}
        text = "" if op.index is False else "\n".join(_texts(value, self.fields if op.index is None else op.index))
        return {
            "content": text[:TEXT] if text.strip() else op.key.strip() or "item",
            "lineage": self.lineage(op.namespace, op.key),
            "category": self.category(op.namespace),
            "on_duplicate": "update",  # the text may be the same though the value is not
            "metadata": {
                MARK: {
                    "namespace": list(op.namespace),
                    "key": op.key,
                    "value": value,
                    "indexed": bool(text.strip()),
                    "ttl": op.ttl,
                    "created_at": created_at(before).isoformat() if before else None,
                }
            },
        }


def kept(memory: MemoryOut) -> dict[str, Any]:
    """The item that the metadata of a memory describe."""
    return dict(memory.metadata[MARK])


def created_at(memory: MemoryOut) -> datetime:
    """When an item was put for the first time since it was last deleted."""
    said = kept(memory)["created_at"]
    return datetime.fromisoformat(said) if said else memory.recorded_at


def item_of(memory: MemoryOut) -> Item:
    """The item that a memory holds."""
    return Item(**_fields(memory))


def found_item(memory: MemoryOut, score: float | None) -> SearchItem:
    """The item that a memory holds, as a result."""
    return SearchItem(**_fields(memory), score=score)


def is_under(memory: MemoryOut, prefix: Sequence[str]) -> bool:
    """Whether a memory's item is in a namespace, or in one below it."""
    return bool(kept(memory)["namespace"][: len(prefix)] == list(prefix))


def expiry(minutes: float, now: datetime) -> datetime:
    """When an item ends that lives so long from now."""
    return now + timedelta(minutes=minutes)


def _fields(memory: MemoryOut) -> dict[str, Any]:
    said = kept(memory)
    return {
        "namespace": tuple(said["namespace"]),
        "key": said["key"],
        "value": said["value"],
        "created_at": created_at(memory),
        "updated_at": max(memory.recorded_at, memory.last_observed_at),
    }


def _texts(value: Mapping[str, Any], fields: Sequence[str] | Literal[False]) -> Iterator[str]:
    """The texts at these paths; "$" is the whole value, line by line."""
    for path in fields or []:
        if path == "$":
            yield from _lines(value, "")
        else:
            yield from get_text_at_path(dict(value), tokenize_path(path))


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(item, str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _lines(item, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)


def _hash(path: str) -> str:
    return sha256(path.encode()).hexdigest()[:40]


def _escaped(segment: str) -> str:
    """A segment as a path can hold it: never blank, and no other text once its characters are composed."""
    as_stored = segment.strip() and is_normalized("NFC", segment)
    return segment.translate(ESCAPED) if as_stored else quote(segment, safe="").replace("~", "%7E")
