"""Files of other programs: read whole, replaced at once, and given back as they were.

A copy of each file as it was before the first change is kept in the state folder, with what was written, so that `--undo` can tell
whether anybody has changed the file since.
"""

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from service.cli.framework import Failure
from service.connect.config_edits import Edit

FOLDER = "connect"  # in the state folder
OWNERS_ALONE, FOLDERS_MODE = 0o600, 0o700
BOM = "\ufeff"


@dataclass(frozen=True)
class Change:
    """A file before and after; None: there is none."""

    edit: Edit
    before: bytes | None
    after: bytes | None

    @property
    def path(self) -> Path:
        """The file."""
        return self.edit.path


def plan_change(edit: Edit) -> Change:
    """Effect of putting in. Raises Failure for a file that cannot be edited."""
    before = _read_bytes(edit.path)
    return Change(edit, before, _edit_content(edit.path, before, undo=False, edit=edit))


def plan_undo(edit: Edit, state: Path) -> Change:
    """Effect of undoing: the file as it was, or without the entry, where it has changed since."""
    before = _read_bytes(edit.path)
    record, copy = _record_paths(edit.path, state)
    known = _read_record(record)
    if before is None or known.get("after") != sha256(before).hexdigest():
        return Change(edit, before, _edit_content(edit.path, before, undo=True, edit=edit))
    return Change(edit, before, copy.read_bytes() if known["existed"] else None)


def apply_change(change: Change, state: Path, *, private: bool) -> Path | None:
    """Keep a copy, and write; where the copy is. `private`: a new file is its owner's alone."""
    record, copy = _record_paths(change.path, state)
    known = _read_record(record)
    kept = change.before
    if known:  # what was there before the first change stays what is given back
        unchanged = change.before is not None and known["after"] == sha256(change.before).hexdigest()
        first = copy.read_bytes() if known["existed"] else None
        kept = first if unchanged else _edit_content(change.path, change.before, undo=True, edit=change.edit)
    state.mkdir(parents=True, exist_ok=True, mode=FOLDERS_MODE)
    record.parent.mkdir(exist_ok=True, mode=FOLDERS_MODE)
    if kept is not None:
        _replace_file(copy, kept, OWNERS_ALONE)
    after = sha256(change.after or b"").hexdigest()
    said = {"path": str(change.path), "existed": kept is not None, "after": after}
    _replace_file(record, json.dumps(said, indent=2).encode(), OWNERS_ALONE)
    write_change(change, private=private)
    return copy if kept is not None else None


def apply_undo(change: Change, state: Path) -> None:
    """Write what `plan_undo` said, and forget the copy."""
    write_change(change, private=True)
    for kept in _record_paths(change.path, state):
        kept.unlink(missing_ok=True)


def write_change(change: Change, *, private: bool) -> None:
    """Put the file in place at once, where a link leads, with the rights it had. Raises Failure where it has changed meanwhile."""
    target = change.path.resolve()
    if _read_bytes(change.path) != change.before:
        raise Failure(f"{change.path} has changed meanwhile", "Run the command again.")
    if change.after == change.before:
        return
    if change.after is None:
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    found = target.stat() if target.exists() else None
    _replace_file(target, change.after, stat.S_IMODE(found.st_mode) if found else OWNERS_ALONE if private else None)
    if found is not None and hasattr(os, "chown") and (found.st_uid, found.st_gid) != (target.stat().st_uid, target.stat().st_gid):
        with suppress(PermissionError):
            os.chown(target, found.st_uid, found.st_gid)


def _edit_content(path: Path, before: bytes | None, *, undo: bool, edit: Edit) -> bytes | None:
    if before is None and undo:
        return None
    text = _decode_content(path, before or b"")
    mark = BOM if text.startswith(BOM) else ""
    edited = (edit.remove if undo else edit.put)(text.removeprefix(BOM))
    return None if edited is None else (mark + edited).encode()


def _decode_content(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Failure(f"{path} cannot be edited: byte {error.start + 1} is not UTF-8", "Mend the file, and try again.") from None


def _read_bytes(path: Path) -> bytes | None:
    if path.is_dir():
        raise Failure(f"{path} is a folder, and should be a file")
    return path.read_bytes() if path.exists() else None


def _record_paths(path: Path, state: Path) -> tuple[Path, Path]:
    """The record of a file, and its copy."""
    name = sha256(os.fsencode(path)).hexdigest()[:16]
    return state / FOLDER / f"{name}.json", state / FOLDER / f"{name}.copy"


def _read_record(record: Path) -> dict[str, object]:
    try:
        found = json.loads(record.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and {"existed", "after"} <= found.keys() else {}


def _replace_file(target: Path, content: bytes, mode: int | None) -> None:
    """Write beside it, and rename: nobody sees half a file. `mode` None: as the process makes files."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(partial, flags, 0o666 if mode is None else OWNERS_ALONE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            partial.chmod(mode)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
