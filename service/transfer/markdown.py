"""A namespace as a folder of Markdown that git can hold: one file a lineage, with what is believed now. See docs/transfer.md."""

import hashlib
import json
import re
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path, PureWindowsPath
from typing import Any

import orjson
import yaml

from db import memories
from db.memories import MemoryRow
from db.pool import Transaction

PAGE = 1000
VERSION = 1
LONGEST_NAME = 60
NO_NAME = re.compile(r"[^\w]+")


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """YAML without anchors, in one form."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (the library's)
        return True


async def current_memories(tx: Transaction) -> AsyncIterator[MemoryRow]:
    """The version of each lineage that holds now, newest first."""
    cursor = None
    while page := await memories.list_memories(tx, filters={}, limit=PAGE, cursor=cursor):
        for row in page:
            yield row
        cursor = page[-1]["cursor"]


async def markdown_lines(tx: Transaction) -> AsyncIterator[bytes]:
    """A file for each lineage, as a line of JSON with its path and its text; the last line is of kind `end`."""
    files = 0
    async for memory in current_memories(tx):
        files += 1
        yield orjson.dumps({"path": path_of(memory).as_posix(), "text": text_of(memory)}) + b"\n"
    yield orjson.dumps({"kind": "end", "files": files}) + b"\n"


def path_of(memory: MemoryRow) -> Path:
    """Where the file of a lineage lies: below its category, by words that people know and an id that is its own."""
    named = memory["lineage"] if memory["lineage"] != str(memory["id"]) and not _is_id(memory["lineage"]) else memory["content"]
    own = hashlib.sha256(memory["lineage"].encode()).hexdigest()[:10]
    folders = [_make_file_name(step) or "_" for step in memory["category"].split("/")]
    return Path(*folders, f"{_make_file_name(named)}-{own}.md".lstrip("-"))


def text_of(memory: MemoryRow) -> str:
    """A memory as front matter and text; the same memory is the same text, byte by byte."""
    own = {"id": str(memory["id"]), "lineage": memory["lineage"], "version": memory["version"], "format": VERSION,
           "sha256": hashlib.sha256(memory["content"].encode()).hexdigest()[:16]}  # fmt: skip
    fields: dict[str, Any] = {"loci": own, "category": memory["category"]}
    optional = {
        "tags": sorted(memory["tags"]),
        "layer": memory["layer"],
        "valid_from": memory["valid_from"].isoformat(),
        "valid_to": memory["valid_to"].isoformat() if memory["valid_to"] else None,
        "recorded_at": memory["recorded_at"].isoformat(),
        "importance": memory["importance"],
        "confidence": memory["confidence"],
        "source": memory["source"],
        "session": memory["session_id"],
        "metadata": json.loads(json.dumps(memory["metadata"], sort_keys=True)),
    }
    fields.update({name: value for name, value in optional.items() if value not in (None, [], {})})
    matter = yaml.dump(fields, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)
    return f"---\n{matter}---\n{memory['content']}\n"


def _is_id(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name) is not None


def _make_file_name(text: str) -> str:
    """A part of a path that every file system takes."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = NO_NAME.sub("-", plain).strip("-_")[:LONGEST_NAME].strip("-_")
    return f"{name}_" if PureWindowsPath(name).is_reserved() else name  # there, a file or folder may not be called con
