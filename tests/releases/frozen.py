"""Hashes of what revisions do: a database in use has run them, so none of it may change once it was released."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from procrastinate.schema import SchemaManager

from tests.catalogue import ROOT

FROZEN = ROOT / "migrations" / "frozen.txt"
FIRST = "migrations/schema/"  # the first revision runs every file there
QUEUE = "the schema of procrastinate, as the installed release has it"


def fingerprints(root: Path = ROOT) -> dict[str, str]:
    """The SHA-256 of every file that revisions are made of, by its path, and that of the tables of the job queue."""
    files = [*(root / "migrations" / "schema").glob("*.sql"), *(root / "migrations" / "versions").glob("*.*")]
    found = {path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest() for path in sorted(files)}
    return found | {QUEUE: sha256(SchemaManager.get_schema().encode()).hexdigest()}


def frozen() -> dict[str, str]:
    """What was released, as `sha256sum` writes it; nothing before the first release."""
    lines = FROZEN.read_text().splitlines() if FROZEN.exists() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def freeze(prints: Mapping[str, str]) -> None:
    """From here on these are as they are."""
    FROZEN.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(prints.items())))


def moved(released: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What was released and is not as it was, and what the first revision has run in no database that is in use."""
    changed = [name for name, digest in released.items() if now.get(name) != digest]
    added = [name for name in now if name.startswith(FIRST) and name not in released] if released else []
    return changed + added
