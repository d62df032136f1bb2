"""How long a request may take, by its kind: one time for its client, and for its transactions in the database."""

from typing import Literal

from db.time_limits import TimeLimits
from service.settings import DeadlineSettings

Kind = Literal["read", "write", "batch", "context", "model", "poll", "imports", "exports"]
# Kinds of routes by name, where their method does not say it
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("ask", "search_words", "traverse", "graph_context", "walk", "match_entities", "search_entities"), "read"),
    **dict.fromkeys(("current_versions", "search_entries"), "read"),
    **dict.fromkeys(("write_batch", "erase_memories", "observe_edges", "add_turns", "undo_operation", "delete_namespace"), "batch"),
    **dict.fromkeys(("sweep_supersessions", "set_edge_type", "decay_edges", "delete_turns"), "batch"),
    **dict.fromkeys(("merge_duplicate_entities", "merge_entities", "split_entity", "undo_merge"), "batch"),
    "build_context": "context",
    "mcp": "model",
    "retain": "model",
    "remember": "model",
    "reflect": "model",
    "list_changes": "poll",
    "stream_changes": "read",
    "import_namespace": "imports",
    "export_namespace": "exports",
}
STREAMING = {"stream_changes", "import_namespace", "export_namespace"}  # clocks of their own: the other end takes its time


def kind_of(route: str, method: str) -> Kind:
    """The kind of request that a route takes."""
    return KINDS.get(route, "read" if method in {"GET", "HEAD"} else "write")


def seconds_for(kind: Kind, settings: DeadlineSettings) -> float:
    """Seconds that it may take."""
    seconds: float = getattr(settings, kind)
    return seconds


def limits_of(kind: Kind, settings: DeadlineSettings) -> TimeLimits:
    """Time limits that the database is told for its transactions. Theirs end with those of the request, where it has but one."""
    return TimeLimits(seconds_for(kind, settings), settings.lock, settings.idle)
