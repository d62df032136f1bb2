"""Which format a file, an archive or a folder has: told by what is in it, never by what it is called."""

from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from service.transfer.foreign.items import first_lines, is_list, preview_first_value
from service.transfer.foreign.letta_code import is_message
from service.transfer.foreign.markdown import split_without_errors
from service.transfer.foreign.records import Json, Unreadable
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.sqlite import MAGIC, list_tables

KEYS: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(keys.split()), name)
    for keys, name in (
        ("kind format counts", "loci"),
        ("entityType observations", "mcp-memory"),
        ("from to relationType", "mcp-memory"),
        ("entities relations", "mcp-memory"),
        ("type properties", "graphiti"),
        ("uuid fact", "graphiti"),
        ("uuid graph_uuid", "graphiti"),
        ("uuid labels summary", "graphiti"),
        ("agents blocks", "letta"),
        ("core_memory messages", "letta"),
        ("archive_id text", "letta"),
        ("is_deleted text tags", "letta"),
        ("message_type date", "letta"),
        ("documents memories", "supermemory"),
        ("schema_version source_bank_id", "hindsight"),
        ("cogx_version", "cogx"),
        ("kind external_id", "cogx"),
        ("results", "mem0"),
        ("id payload", "mem0"),
        ("id memory", "mem0"),
        ("apps memories", "openmemory"),
        ("content state app", "openmemory"),
        ("conversations_memory", "claude"),
        ("project_memories", "claude"),
        ("memory_files", "claude"),
        ("chat_messages", "claude"),
        ("prompt_template docs", "claude"),
        ("data_files version", "claude"),
        ("mapping current_node", "chatgpt"),
        ("title mapping", "chatgpt"),
        ("prefix key value", "langgraph"),
        ("namespace key value", "langgraph"),
        ("header time", "gemini"),
        ("content scope importance", "crewai"),
        ("sessionId type", "claude-code"),
    )
)
LISTS = ("conversations", "memories", "items", "store")
GRAPH = ("episodes", "entities", "nodes", "edges", "facts")
OF_CLAUDE_CODE = {"user", "feedback", "project", "reference"}
TABLES = {"history": "mem0-history", "store": "langgraph", "memory_status_history": "openmemory"}


def recognise_format(source: Source) -> str | None:
    """The name of the format; None where it is none that is known."""
    if source.only_file is not None:
        return of_file(source.only_file)
    return _of_folder(source)


def of_file(file: File) -> str | None:
    """The format of a file."""
    head = file.read_head()
    if head.startswith(MAGIC):
        found = list_tables(file)
        return next((name for table, name in TABLES.items() if table in found), None)
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        value = preview_first_value(file)
        shapes = value if isinstance(value, list) else [value, *first_lines(file)]
        return next((name for shape in shapes[:20] if isinstance(shape, dict) and (name := of_object(shape))), None)
    looks_like_notes = start == b"#" or head.startswith((b"---\n", b"---\r\n", b"\xef\xbb\xbf---")) or b"[[" in head
    return _of_notes([file]) if looks_like_notes and b"\x00" not in head else None


def _of_kind(value: Json) -> str | None:
    """The format that an object belongs to, by what it calls itself."""
    if value.get("kind") == "namespace" and value.get("format") == "loci":
        return "loci"
    if value.get("type") in ("entity", "relation"):
        return "mcp-memory"
    return "letta" if is_message(value) else None


def of_object(value: Json) -> str | None:
    """The format that an object belongs to, by its keys."""
    if (name := _of_kind(value)) is not None:
        return name
    keys = value.keys()
    for wrapper in LISTS:
        items = value.get(wrapper)
        inner = items[0] if isinstance(items, list) and items else None
        if isinstance(inner, dict) and wrapper != "memories" and (name := of_object(inner)):
            return name
    if "entities" in keys and isinstance(value["entities"], list) and any(_of_graph(value, key) for key in GRAPH):
        return "graphiti"
    for wanted, name in KEYS:
        if wanted <= keys:
            return name
    return "graphiti" if any(_of_graph(value, key) for key in GRAPH) else "mem0" if _of_memories(value.get("memories")) else None


def _of_graph(value: Json, key: str) -> bool:
    items = value.get(key)
    return isinstance(items, list) and any(isinstance(item, dict) and "uuid" in item for item in items[:20])


def _of_memories(items: Any) -> bool:
    return isinstance(items, list) and any(
        isinstance(item, dict) and {"memory", "text", "data", "content"} & item.keys() for item in items[:5]
    )


def _of_folder(source: Source) -> str | None:
    if source.lies_in(".obsidian"):
        return "obsidian"
    files = [file for file in source.files if file.size]
    for file in sorted(files, key=lambda file: (PurePosixPath(file.path).name != "manifest.json", file.path.count("/"), file.path))[
        :50
    ]:
        with suppress(Unreadable):
            if (
                file.read_head(1024).lstrip()[:1] in (b"{", b"[")
                and (name := of_file(file))
                and not (is_list(file) and name == "loci")
            ):
                return name
    notes = source.files_with_ending(".md")
    return _of_notes(notes) if notes else None


def _of_notes(files: list[File]) -> str | None:
    """The kind of Markdown notes, by the properties that they begin with."""
    fields = {file.path: split_without_errors(file.read_head().decode("utf-8", "replace"))[0] for file in files[:200]}
    found = [each for each in fields.values() if each]
    names = {PurePosixPath(path).name.lower() for path in fields}
    plain = [path for path in fields if PurePosixPath(path).name not in ("index.md", "log.md")]
    signs = (
        ("markdown", any("loci" in each for each in found)),
        ("okf", any({"okf_version", "x_memanto"} & each.keys() for each in found)),
        ("basic-memory", any("permalink" in each for each in found)),
        ("mem0", any({"id", "created_at"} <= each.keys() for each in found)),
        ("letta", {"memory.md", "persona.md"} <= names),
        ("claude-code", bool(names & {"memory.md", "claude.md"}) or any(_of_claude_code(each) for each in found)),
        ("okf", bool(plain) and all("type" in fields[path] for path in plain)),
    )
    return next((name for name, sign in signs if sign), "obsidian")


def _of_claude_code(fields: Json) -> bool:
    inner = fields.get("metadata")
    return (isinstance(inner, dict) and inner.get("node_type") == "memory") or (
        "name" in fields and fields.get("type") in OF_CLAUDE_CODE
    )
