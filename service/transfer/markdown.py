"""A namespace as a folder of Markdown that git can hold: one file a lineage, with what is believed now. See docs/import.md."""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from db import memories
from db.memories import MemoryRow
from db.pool import Transaction

PAGE = 1000
VERSION = 1
LONGEST_NAME = 60
FIRST_LINE = b"---\nloci:\n"  # by which files of an export are known again
NO_NAME = re.compile(r"[^\w]+")


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """YAML without anchors, in one form."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (the library's)
        return True


@dataclass
class Folder:
    """What an export to a folder did."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0


async def current_memories(tx: Transaction) -> AsyncIterator[MemoryRow]:
    """The version of each lineage that holds now, newest first."""
    cursor = None
    while page := await memories.list_memories(tx, filters={}, limit=PAGE, cursor=cursor):
        for row in page:
            yield row
        cursor = page[-1]["cursor"]


async def write_folder(tx: Transaction, target: Path, advance: Callable[[int], None]) -> Folder:
    """Write a file for each lineage, leave what says the same, and remove what earlier exports wrote and is no more."""
    done = Folder()
    kept: set[Path] = set()
    async for memory in current_memories(tx):
        path = target / path_of(memory)
        kept.add(path)
        if _put(path, text_of(memory)):
            done.written += 1
        else:
            done.unchanged += 1
        advance(1)
    done.removed = _remove_others(target, kept)
    return done


def _remove_others(target: Path, kept: set[Path]) -> int:
    """Remove what earlier exports wrote, and nothing else; how many files."""
    others = [path for path in sorted(target.rglob("*.md")) if path not in kept and not path.is_symlink() and _begins_export(path)]
    for path in others:
        path.unlink()
    return len(others)


def path_of(memory: MemoryRow) -> Path:
    """Where the file of a lineage lies: below its category, by words that people know and an id that is its own."""
    named = memory["lineage"] if memory["lineage"] != str(memory["id"]) and not _is_id(memory["lineage"]) else memory["content"]
    own = hashlib.sha256(memory["lineage"].encode()).hexdigest()[:10]
    folders = [_name(step) or "_" for step in memory["category"].split("/")]
    return Path(*folders, f"{_name(named)}-{own}.md".lstrip("-"))


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


def _name(text: str) -> str:
    """A part of a path that every file system takes."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return NO_NAME.sub("-", plain).strip("-_")[:LONGEST_NAME].strip("-_")


def _put(path: Path, text: str) -> bool:
    """Write a file, unless it says this already: by way of another one, so that nobody sees half of it."""
    data = text.encode()
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_bytes(data)
    partial.replace(path)
    return True


def _begins_export(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(FIRST_LINE)) == FIRST_LINE
