"""How tools search memories."""

from typing import Literal

from pydantic import Field

from service.mcp.text import (
    ENTRY,
    MEMORY,
    TURN,
    JsonObject,
    Shown,
    entry_line,
    folded,
    kept,
    lines,
    memory_line,
    shortened,
    turn_line,
    waiting,
)
from service.mcp.tool import AnyTag, Arguments, Call, CategoryFilter, Names, Session, Time, Tool, of_session

Tier = Literal["working_memory", "conversation"]
ARMS = ("lexical", "vector", "graph", "hierarchy", "walk")  # those that recall has by itself
FILTERS = ("category", "tags", "entity")
FILTERED = {f"filters.{name}": name for name in FILTERS}
RESULT = {"memory": (memory_line, MEMORY), "working_memory": (entry_line, ENTRY), "conversation": (turn_line, TURN)}
NOTHING_FOUND = "Nothing found. Other words, a wider category or fewer tags may help."


class SearchMemory(Arguments):
    """A question, and what the answers are restricted to."""

    query: str
    category: CategoryFilter | None = None
    tags: AnyTag | None = None


class Recall(Arguments):
    """A question in full."""

    query: str
    k: int | None = Field(None, description="How many results; default 10")
    category: CategoryFilter | None = None
    tags: AnyTag | None = None
    entity: str | None = Field(None, description="Only memories that mention this entity (name or id)")
    as_of: Time | None = Field(None, description="What was true then")
    known_at: Time | None = Field(None, description="What was believed then")
    tiers: list[Tier] | None = Field(None, description="Search these too")
    namespaces: Names | None = Field(None, description="Other namespaces to search; * for all that you may read")
    session_id: Session | None = None
    rerank: bool | None = Field(None, description="false: keep the search's own order, faster")
    rewrite: Literal["decompose", "hypothetical"] | None = Field(
        None, description="Have a model cut a question of several parts, or make up an answer to search by; slow"
    )


def _search(given: JsonObject, session: str | None) -> Call:
    filters = {name: given.pop(name) for name in FILTERS if name in given}
    body = {**of_session(session), **given, **({"filters": filters} if filters else {})}
    if tiers := body.pop("tiers", None):
        body["arms"] = [*ARMS, *tiers]
    if "*" in body.get("namespaces", ()):
        body["namespaces"] = "*"
    return Call("POST", "/recall", body)


def found(reply: JsonObject) -> Shown:
    """Results of a search, and the rules that hold."""
    results = reply["results"]
    if len({row.get("namespace") for row in results}) < 2:  # noqa: PLR2004 (then it is the one that was asked)
        results = [{**row, "namespace": None} for row in results]
    kinds = [(row, *RESULT[row.get("tier", "memory")]) for row in results]
    text = lines((line(row) for row, line, _ in kinds), NOTHING_FOUND)
    rules = reply.get("constraints", [])
    if rules:
        text += "\nRules that hold:\n" + "\n".join(f"- {row['entity']}, {row['aspect']}: {folded(row['content'])}" for row in rules)
    data: JsonObject = {"results": [shortened(kept(row, fields)) for row, _, fields in kinds]}
    if rules:
        data["constraints"] = [kept(row, ("id", "entity", "aspect", "content", "importance")) for row in rules]
    return text + waiting(reply), data | kept({**reply, "waiting": reply["waiting"] or None}, ("waiting", "recall_id"))


TOOLS = [
    Tool(
        "search_memory",
        "Search memories",
        "reads",
        "Find memories by words and meaning, best first, with their ids. Use it before you answer from earlier conversations, and"
        " before you save what may be known already. For the past, or all about one entity, use recall.",
        SearchMemory,
        _search,
        found,
        FILTERED,
    ),
    Tool(
        "recall",
        "Recall",
        "reads",
        "Search memories with everything: words, meaning, graph and hierarchy, and the rules that hold for the entities named. "
        "Use it for what was true (as_of) or believed (known_at) at a time, for one entity, or for more results than "
        "search_memory gives.",
        Recall,
        _search,
        found,
        FILTERED,
    ),
]
