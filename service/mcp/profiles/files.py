"""Files over a namespace, as Claude's memory tool has them: a file is a lineage named by its path, an edit a new version.

Each function is the work of one transaction and returns what the model reads. The words are those that the tool's own
implementations use, because models know them. Folders are what paths say; none is stored.
"""

import re
from urllib.parse import unquote

from db import memories
from db.errors import Conflict, FieldError, Invalid, NotFound
from db.memories import FileRow
from db.pool import JsonObject, Transaction

ROOT = "/memories"
SOURCE = "claude-memory"
LONGEST, LARGEST, MOST_LINES = 255, 1024 * 1024, 999_999
PATH = re.compile(r"/memories(/[^/\\\x00-\x1f\x7f]+)*")
WIDTH, AROUND, DEEP = 6, 2, 2
UNITS = "BKMG"


async def view_path(tx: Transaction, path: str, view_range: list[int] | None = None) -> str:
    """A file with numbers of lines, or what is in a folder, two levels deep."""
    path = check_path("path", path)
    files = await memories.list_files(tx, path=path)
    if files and files[0]["path"] == path:
        return _number_lines(path, files[0]["content"], view_range)
    if not files and path != ROOT:
        raise _make_missing_error(path)
    return _list_folder(path, files)


async def create_file(tx: Transaction, path: str, file_text: str) -> str:
    """A new file; one that is there is never overwritten."""
    path = _file_path("path", path)
    await memories.lock_folders(tx)
    await _make_room(tx, path)
    await _write_version(tx, path, file_text, new=True)
    return f"File created successfully at: {path}"


async def str_replace(tx: Transaction, path: str, old_str: str, new_str: str) -> str:
    """Replace a text that the file has once."""
    path = check_path("path", path)
    text = await _lock_and_read(tx, path)
    if not old_str or (count := text.count(old_str)) == 0:
        raise _make_invalid("old_str", f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
    if count > 1:
        lines = ", ".join(str(text.count("\n", 0, found.start()) + 1) for found in re.finditer(re.escape(old_str), text))
        said = f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}."
        raise _make_invalid("old_str", f"{said} Please ensure it is unique")
    place = text.count("\n", 0, text.index(old_str))
    changed = text.replace(old_str, new_str)
    await _write_version(tx, path, changed)
    shown = changed.split("\n")
    first, last = max(0, place - AROUND), min(len(shown), place + AROUND + 1)
    said = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return "\n".join([said, *_format_lines(shown[first:last], first + 1)])


async def insert_text(tx: Transaction, path: str, insert_line: int, insert_text: str) -> str:
    """Put a text behind a line; 0 is before the first."""
    path = check_path("path", path)
    text = await _lock_and_read(tx, path)
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= insert_line <= len(lines):
        said = f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
        raise _make_invalid("insert_line", said)
    lines.insert(insert_line, insert_text.rstrip("\n"))
    await _write_version(tx, path, "\n".join(lines) + "\n")
    return f"The file {path} has been edited."


async def delete_path(tx: Transaction, path: str) -> str:
    """Forget a file, or a folder with all in it."""
    path = check_path("path", path)
    if path == ROOT:
        raise _make_invalid("path", f"Cannot delete the {ROOT} directory itself")
    files = await memories.lock_files(tx, path=path, below=True)
    if not files:
        raise NotFound(f"The path {path} does not exist", [FieldError("path", "does not exist")])
    await memories.forget_memories(tx, ids=[file["id"] for file in files])
    return f"Successfully deleted {path}"


async def rename_path(tx: Transaction, old_path: str, new_path: str) -> str:
    """Move a file, or a folder with all in it; the history stays with the old name, which the new version names."""
    old_path, new_path = _file_path("old_path", old_path), _file_path("new_path", new_path)
    if new_path.startswith(f"{old_path}/"):
        raise _make_invalid("new_path", f"Cannot move {old_path} into itself")
    await memories.lock_folders(tx)
    files = await memories.lock_files(tx, path=old_path, below=True)
    if not files:
        raise NotFound(f"The path {old_path} does not exist", [FieldError("old_path", "does not exist")])
    await _make_room(tx, new_path, "The destination {} already exists")
    for file in files:
        moved = check_path("new_path", new_path + file["path"].removeprefix(old_path))
        await _write_version(tx, moved, file["content"], new=True, renamed_from=file["path"])
    await memories.forget_memories(tx, ids=[file["id"] for file in files])
    return f"Successfully renamed {old_path} to {new_path}"


def check_path(field: str, path: str) -> str:
    """A path within the folder of memories, without a slash at its end. Raises Invalid for any other."""
    plain = path.rstrip("/")
    steps = {unquote(unquote(step)).strip() for step in plain.split("/")}
    if not PATH.fullmatch(plain):
        raise _make_invalid(field, f"Path must be {ROOT} or start with {ROOT}/, without empty parts, got: {path}")
    if steps & {".", ".."} or any("/" in step or "\\" in step or "\x00" in step for step in steps):
        raise _make_invalid(field, f"Path {path} would escape {ROOT} directory")
    if len(plain) > LONGEST:
        raise _make_invalid(field, f"Path must have at most {LONGEST} characters; it has {len(plain)}")
    return plain


def _file_path(field: str, path: str) -> str:
    if (plain := check_path(field, path)) == ROOT:
        raise _make_invalid(field, f"{ROOT} is the directory itself: name a file in it")
    return plain


async def _lock_and_read(tx: Transaction, path: str) -> str:
    """The text of a file that nobody else changes until the transaction ends."""
    for file in await memories.lock_files(tx, path=path):
        return file["content"]
    if path == ROOT or await memories.list_files(tx, path=path):
        raise _make_invalid("path", f"The path {path} is not a file.")
    raise _make_missing_error(path)


async def _make_room(tx: Transaction, path: str, taken: str = "File {} already exists") -> None:
    """Raise where a path is taken, or leads through a file. The caller holds lock_folders."""
    if await memories.list_files(tx, path=path):
        raise Conflict(taken.format(path), [FieldError("path", "already exists")])
    steps = path.split("/")
    for end in range(3, len(steps)):
        folder = "/".join(steps[:end])
        if await memories.list_files(tx, path=folder, below=False):
            raise _make_invalid("path", f"The path {folder} is a file, not a directory")


async def _write_version(tx: Transaction, path: str, text: str, *, new: bool = False, **metadata: str) -> None:
    """Write a version. A memory must say something, so of a blank file the text stands in the metadata."""
    if (size := len(text.encode())) > LARGEST:
        raise _make_invalid("path", f"A file must have at most 1 MiB; {path} would have {size:,} bytes. Split it.")
    said: JsonObject = {"path": path, **metadata} if text.strip() else {"path": path, "file": text, **metadata}
    item = {"content": text if text.strip() else f"{path} (empty)", "lineage": path, "source": SOURCE, "metadata": said}
    folder = path.rpartition("/")[0].strip("/")
    (outcome,) = await memories.remember(tx, items=[{**item, "category": folder, "on_duplicate": "update"}])
    if new and outcome["superseded"] is not None:  # somebody else was faster
        raise Conflict(f"File {path} already exists", [FieldError("path", "already exists")])


def _number_lines(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise _make_invalid("path", f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
    return "\n".join([f"Here's the content of {path} with line numbers:", *_format_lines(lines[first - 1 : last], first)])


def _format_lines(lines: list[str], first: int) -> list[str]:
    return [f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _list_folder(path: str, files: list[FileRow]) -> str:
    """A folder: sizes and paths, folders with a slash at the end, hidden ones left out."""
    sizes: dict[str, int] = {}
    for file in files:
        size, steps = len(file["content"].encode()), file["path"].removeprefix(f"{path}/").split("/")
        if any(step.startswith(".") for step in steps):
            continue
        sizes[path] = sizes.get(path, 0) + size
        for depth in range(1, min(len(steps), DEEP) + 1):
            shown = f"{path}/{'/'.join(steps[:depth])}{'/' if depth < len(steps) else ''}"
            sizes[shown] = sizes.get(shown, 0) + size
    head = f"Here're the files and directories up to {DEEP} levels deep in {path}, excluding hidden items:"
    rows = [
        f"{_format_size(sizes.pop(path, 0))}\t{path}",
        *(f"{_format_size(size)}\t{name}" for name, size in sorted(sizes.items())),
    ]
    return "\n".join([head, *rows])


def _format_size(count: int) -> str:
    """Bytes as 0B, 512B, 1.5K."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(UNITS) - 1)
    size = count / 1024**power
    return f"{size:.0f}{UNITS[power]}" if size == int(size) else f"{size:.1f}{UNITS[power]}"


def _make_missing_error(path: str) -> NotFound:
    return NotFound(f"The path {path} does not exist. Please provide a valid path.", [FieldError("path", "does not exist")])


def _make_invalid(field: str, said: str) -> Invalid:
    return Invalid(said, [FieldError(field, said)])
