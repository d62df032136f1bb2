"""How tools search memories."""

from typing import Annotated, Literal

from pydantic import Field

from service.mcp.result_texts import (
    ENTRY,
    MEMORY,
    TURN,
    JsonObject,
    Line,
    Shown,
    entry_line,
    fit_rows,
    format_value,
    keep_telling_fields,
    memory_line,
    shorten_result,
    tell_unembedded_count,
    turn_line,
)
from service.mcp.tool import (
    AboutFilter,
    AnyTag,
    Arguments,
    Call,
    CategoryFilter,
    MaxChars,
    Names,
    Session,
    Time,
    Tool,
    User,
    of_session,
)

Tier = Literal["working_memory", "conversation"]
ARMS = ("lexical", "vector", "graph", "hierarchy", "walk")  # those that recall has by itself
FILTERS = ("category", "tags", "entity", "about")
FILTERED = {f"filters.{name}": name for name in FILTERS}
FEWER = "a narrower filter"
RESULT: dict[str, tuple[Line, tuple[str, ...]]] = {
    "memory": (memory_line, MEMORY),
    "working_memory": (entry_line, ENTRY),
    "conversation": (turn_line, TURN),
}
NOTHING_FOUND = "Nothing found. Other words, a wider category or fewer tags may help."
MinRelevance = Annotated[float, Field(description="Leave out what answers less likely, 0 to 1")]
LIKELY = (  # from this relevance of the best result
    (0.8, "What answers is very likely among these."),
    (0.5, "What answers is probably among these."),
    (0.2, "What answers is probably not among these."),
    (0.0, "What answers is very likely not among these: rather say that nothing is known."),
)


class SearchMemory(Arguments):
    """A question, and what the answers are restricted to."""

    query: str
    category: CategoryFilter | None = None
    tags: AnyTag | None = None
    about: AboutFilter | None = None
    user: User | None = None
    max_chars: MaxChars | None = None


class Recall(Arguments):
    """A question in full."""

    query: str
    k: int | None = Field(None, description="Results; default 10")
    category: CategoryFilter | None = None
    tags: AnyTag | None = None
    entity: str | None = Field(None, description="Only what mentions this entity")
    about: AboutFilter | None = None
    user: User | None = None
    as_of: Time | None = Field(None, description="What was true then")
    known_at: Time | None = Field(None, description="What was believed then")
    at: Time | None = Field(None, description="When it is asked, for `yesterday`; default now")
    min_relevance: MinRelevance | None = None
    tiers: list[Tier] | None = Field(None, description="Search these too")
    namespaces: Names | None = Field(None, description="Others to search; * for all")
    session_id: Session | None = None
    rerank: bool | None = Field(None, description="false: faster")
    rewrite: Literal["decompose", "hypothetical"] | None = Field(
        None, description="Have a model cut a long question, or make up an answer to search by; slow"
    )
    max_chars: MaxChars | None = None


REPLY_FIELDS = ("relevance", "left_out", "waiting", "recall_id")


def _call_search(given: JsonObject, session: str | None) -> Call:
    filters = {name: given.pop(name) for name in FILTERS if name in given}
    body = {**of_session(session), **given, **({"filters": filters} if filters else {})}
    if tiers := body.pop("tiers", None):
        body["arms"] = [*ARMS, *tiers]
    if "*" in body.get("namespaces", ()):
        body["namespaces"] = "*"
    return Call("POST", "/recall", body)


def describe_likelihood(reply: JsonObject) -> str:
    """How likely the results answer, and how many were left out, in words; nothing where it is not known."""
    best, left_out = reply.get("relevance"), reply.get("left_out", 0)
    if best is None:
        return ""
    if not reply["results"]:
        return f"Nothing found that is likely to answer: {left_out} below min_relevance left out, the best {best:.2f}."
    words = next(words for least, words in LIKELY if best >= least)
    return words + (f" {left_out} below min_relevance left out." if left_out else "")


def show_results(reply: JsonObject, room: int) -> Shown:
    """Results of a search, and the rules that hold."""
    results = reply["results"]
    if len({row.get("namespace") for row in results}) < 2:  # noqa: PLR2004 (then it is the one that was asked)
        results = [{**row, "namespace": None} for row in results]
    said = describe_likelihood(reply)
    rules = reply.get("constraints", [])
    held = fit_rows(rules, _format_rule, room // 4)
    tail = (
        (f"\n{said}" if said and results else "")
        + (f"\nRules that hold:\n{held.text}" if rules else "")
        + tell_unembedded_count(reply)
    )
    listing = fit_rows(results, _format_line, room - len(tail), said or NOTHING_FOUND, by=FEWER)
    data: JsonObject = {
        "results": [
            shorten_result(keep_telling_fields(row, (*_choose_line(row)[1], "passage")), listing.longest)
            for row in results[: listing.shown]
        ]
    }
    if rules:
        shown = [keep_telling_fields(row, ("id", "entity", "aspect", "content", "importance")) for row in rules[: held.shown]]
        data["constraints"] = [shorten_result(row, held.longest) for row in shown]
    figures = keep_telling_fields(
        {**reply, "waiting": reply["waiting"] or None, "left_out": reply.get("left_out") or None}, REPLY_FIELDS
    )
    return listing.text + tail, data | figures


def _choose_line(row: JsonObject) -> tuple[Line, tuple[str, ...]]:
    """How a result is shown, and its fields."""
    return RESULT[row.get("tier", "memory")]


def _format_line(row: JsonObject, longest: int | None) -> str:
    return _choose_line(row)[0](row, longest)


def _format_rule(row: JsonObject, longest: int | None) -> str:
    content = format_value(row["content"], text=True, longest=longest)
    return f"- {format_value(row['entity'])}, {format_value(row['aspect'])}: {content}"


TOOLS = [
    Tool(
        "search_memory",
        "Search memories",
        "reads",
        "Find memories by words and meaning, best first, with their ids. Use it before you answer from earlier conversations, or "
        "save what may be known. For the past use recall.",
        SearchMemory,
        _call_search,
        show_results,
        FILTERED,
        speaker="user",
        sized=True,
    ),
    Tool(
        "recall",
        "Recall",
        "reads",
        "Search memories with all options, also for what was true (as_of) or believed (known_at) at a time, or of one entity.",
        Recall,
        _call_search,
        show_results,
        FILTERED,
        speaker="user",
        sized=True,
    ),
]
