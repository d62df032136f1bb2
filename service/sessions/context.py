"""Context: what an agent injects before an inference, in one call, in nine steps.

Life of a context: a recall ranks memories for the message (two round trips); a third reads what is known of the one who asks,
what the session has not been shown yet, the graph, working memory and turns. Parts that fit the budget are noted in a fourth; only
those that are new to the session are rendered.
"""

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from db.pool import JsonObject, Transaction
from db.recall.search import Scope
from db.sessions import context as db
from loci.models.sessions import ContextInput
from service.embedding.provider import Provider
from service.observability.metrics import CONTEXTS, INJECTED
from service.recall.answer import Pending
from service.recall.auto_k import cut_to_auto_k
from service.recall.newest_first import put_newest_first
from service.recall.passages import LINE, find_passages
from service.recall.question import ARMS, DEFAULT_RESULTS, Question, make_scope
from service.recall.ranking import Ranking, note_hits, rank_question
from service.recall.rerank import rerank_best, to_judge
from service.recall.rewrite import Read
from service.resources import Resources
from service.sessions.context_text import (
    HEADERS,
    LINES,
    Kept,
    Section,
    fit_with_note,
    note_omissions,
    one_line,
    render_sections,
    shorten_row,
)
from service.settings import EmbeddingSettings
from service.text.passages import LEAST_PASSAGE_CHARACTERS, fair_share

SECTIONS = ("profile", "memories", "constraints", "unsettled", "graph", "working_memory", "patrol", "subagents", "turns")
SHOWN_ONCE = ("profile", "memories")
INVENTORIES = ("working_memory", "patrol", "subagents")
KINDS = {"session", "patrol", "subagent"}


@dataclass(frozen=True)
class ContextRequest:
    """Purpose of a context. None: `user` is the one of the key, or nobody.

    `k` None: the setting context_memories; auto: as many as may answer.

    Without a session, and of a preview, nothing is stored.
    """

    message: str | None = None
    session_id: str | None = None
    user: str | None = None
    space: str | None = None
    k: int | Literal["auto"] | None = None
    min_relevance: float | None = None
    max_chars: int = 16_000
    preview: bool = False
    sections: tuple[str, ...] = SECTIONS
    repeat: bool = False
    scope: Scope = field(default_factory=lambda: Scope({}))


def request_of(stated: ContextInput, space: str | None, max_chars: int) -> ContextRequest:
    """A request's wishes; `space` is the one that its caller declared, `max_chars` the budget where none is stated."""
    return ContextRequest(
        message=stated.message,
        session_id=stated.session_id,
        user=stated.user,
        space=stated.space or space,
        k=stated.k,
        min_relevance=stated.min_relevance,
        max_chars=max_chars if stated.max_chars is None else stated.max_chars,
        preview=stated.preview,
        sections=tuple(stated.sections or SECTIONS),
        repeat=stated.repeat,
        scope=make_scope({}, stated.as_of, stated.known_at),
    )


async def rerank_context(resources: Resources, read: Read, request: ContextRequest) -> Ranking | None:
    """Memories for a context as a reranker on this machine orders them; None where none judges here.

    No transaction is open while it judges. An endpoint is not asked: a context is built before each inference.
    """
    reranker, most = resources.reranker, resources.settings.rerank.top_n
    if reranker is None or reranker.is_endpoint or request.message is None or "memories" not in request.sections:
        return None

    async def rank_once(tx: Transaction) -> Pending | None:
        limits = (await tx.read_caller()).settings
        asked = _list_asked_parts(request, limits)
        made = await _rank_for_message(tx, request, asked, limits, resources.provider, resources.settings.embedding)
        if made is None or "memories" not in asked:
            return None
        return await to_judge(resources, replace(made, best=made.best_of(max(len(made.best), most))), most)

    pending = await read(rank_once)
    if pending is None:
        return None
    judged, _ = await rerank_best(resources, pending.ranking, await pending.read_rows(), most, await pending.read_pieces())
    return judged


async def build_context(
    tx: Transaction,
    request: ContextRequest,
    provider: Provider | None,
    settings: EmbeddingSettings,
    ranked: Ranking | None = None,
) -> JsonObject:
    """Build a context; with a session what it shows is noted, and entities that the message names are touched.

    `ranked`: what `rerank_context` has found.
    """
    started = time.perf_counter() if ranked is None else ranked.started
    limits = (await tx.read_caller()).settings
    asked = _list_asked_parts(request, limits)
    found = await _rank_for_message(tx, request, asked, limits, provider, settings) if ranked is None else ranked.rebind_to(tx)
    ranking = None if found is None else await _limit_and_note(found, request, asked, limits)
    parts = await _gather_parts(tx, request, asked, ranking)
    await _mark_unsettled(tx, request, asked, parts)
    draft = Draft(parts, ranking, int(limits["context_keys"]))
    await draft.shorten_contents(tx, request, provider)
    kept = fit_with_note(draft.sections, request.max_chars)
    left_out = draft.left_out(kept)
    if request.session_id is not None and not request.preview:
        await _note_context(tx, request.session_id, draft, kept, repeat=request.repeat)
    return {
        "session_id": request.session_id,
        "space": parts.space,
        "text": note_omissions(render_sections(draft.sections, kept), left_out, request.max_chars),
        **draft.list_rows_in_text(kept),
        "first": parts.first and "memories" in asked,
        "held_back": parts.held_back,
        "truncated": left_out,
        "skipped": ranking.skipped if ranking else {},
        "waiting": ranking.found.waits if ranking else 0,
        "took_ms": round(1000 * (time.perf_counter() - started), 2),
        "server": tx.server_kind,
    }


def _list_asked_parts(request: ContextRequest, limits: JsonObject) -> set[str]:
    return set(request.sections) - ({"memories"} if _count_memories(request, limits) == 0 else set())


def _count_memories(request: ContextRequest, limits: JsonObject) -> int:
    if request.k == "auto":
        return DEFAULT_RESULTS
    return int(limits["context_memories"]) if request.k is None else request.k


async def _rank_for_message(
    tx: Transaction,
    request: ContextRequest,
    asked: set[str],
    limits: JsonObject,
    provider: Provider | None,
    settings: EmbeddingSettings,
) -> Ranking | None:
    """Rank memories for the message, and find the constraints that hold: without a message those of pinned entities."""
    if not asked & {"memories", "constraints"}:
        return None
    searching = request.message is not None and "memories" in asked
    question = Question(
        query=request.message or "",
        k=_count_memories(request, limits),
        auto=request.k == "auto",
        arms=ARMS if searching else (),
        scope=request.scope,
        session_id=request.session_id if searching else None,
        user=request.user,
        similarity=float(limits["context_similarity"]),
        min_relevance=request.min_relevance,
        asked_at=request.scope.as_of or datetime.now(UTC),
    )
    return await put_newest_first(await rank_question(tx, question, provider, settings))


async def _limit_and_note(found: Ranking, request: ContextRequest, asked: set[str], limits: JsonObject) -> Ranking:
    """The ranking with as many as are asked for and likely enough; what the session has found again is noted."""
    ranking = cut_to_auto_k(replace(found, best=found.best[: _count_memories(request, limits)])).drop_irrelevant()
    if not request.preview:
        await note_hits(ranking)
    if "constraints" not in asked:
        ranking.found.constraints = []
    return ranking


async def _gather_parts(tx: Transaction, request: ContextRequest, asked: set[str], ranking: Ranking | None) -> db.ContextParts:
    """Read everything else. A context that may show memories to a session begins first, and waits for others of that session."""
    if request.session_id is not None and "memories" in asked and not request.preview:
        await db.begin_context(tx, session_id=request.session_id)
    parts = await db.context_parts(
        tx,
        message=request.message,
        session_id=request.session_id,
        user=request.user,
        space=request.space,
        documents=ranking.best if ranking else [],
        sections=sorted(asked),
        scope=request.scope,
        repeat=request.repeat,
        preview=request.preview,
    )
    if parts.fallback and request.message is not None and request.min_relevance:
        parts.lists["memories"] = []  # the most important ones are no answer
    return parts


async def _mark_unsettled(tx: Transaction, request: ContextRequest, asked: set[str], parts: db.ContextParts) -> None:
    """Say of memories that are shown what they may contradict, and add open pairs; of the past nothing is open."""
    shown = [row for name in SHOWN_ONCE for row in parts.lists[name]]
    if request.scope.as_of is None and request.scope.known_at is None and "unsettled" in asked:
        documents = [row["cursor"] for row in shown]
        pairs, others = await db.unsettled_around(tx, documents=documents, user=request.user)
        parts.lists["unsettled"] = [dict(pair) for pair in pairs]
        for row in shown:
            if row["cursor"] in others:
                row["contradicts"] = others[row["cursor"]]


async def _note_context(tx: Transaction, session_id: str, draft: "Draft", kept: Kept, *, repeat: bool) -> None:
    """Note which memories are shown, and keep those that are new to the session; touch the entities that the message names."""
    shown = [(name, place, draft.rows[name][place]["id"]) for name in SHOWN_ONCE for place in kept[name]]
    ids = [id_ for _, _, id_ in shown]
    entities = [entity["id"] for entity in draft.entities]
    if ids or entities:
        new = await db.record_context(tx, session_id=session_id, ids=ids, entities=entities)
        for name in SHOWN_ONCE:
            kept[name] = [place for section, place, id_ in shown if section == name and (repeat or id_ in new)]


class Draft:
    """Everything that could be shown: rows by section, and the same as lines."""

    def __init__(self, parts: db.ContextParts, ranking: Ranking | None, keys: int) -> None:
        self._parts = parts
        self.entities: list[JsonObject] = parts.graph.get("entities", [])
        self._unlikely = ranking.left_out if ranking else 0
        self._cut = [name for name in INVENTORIES if len(parts.lists[name]) > keys]
        self.rows: dict[str, list[JsonObject]] = {
            **parts.lists,
            **{name: parts.lists[name][:keys] for name in INVENTORIES},
            **{name: [_add_score(row, ranking) for row in parts.lists[name]] for name in SHOWN_ONCE},
            "constraints": ranking.found.constraints if ranking else [],
            "unsettled": parts.lists.get("unsettled", []),
            "graph": parts.graph.get("edges", []),
        }
        self.sections = [self._make_section(name, None) for name in SECTIONS]

    async def shorten_contents(self, tx: Transaction, request: ContextRequest, provider: Provider | None) -> None:
        """Cut what is longer than its share of the budget: of memories the passage that answers the message is left."""
        lengths = [len(line) + 1 for section in self.sections for line in (section.header, *section.lines)]
        share = fair_share(lengths, request.max_chars)
        if max(lengths, default=0) <= share:
            return
        long = [
            self.rows[section.name][place]
            for section in self.sections
            if section.name in SHOWN_ONCE
            for place, line in enumerate(section.lines)
            if len(line) >= share
        ]
        longest = max(LEAST_PASSAGE_CHARACTERS // 2, share - LINE)
        found = await find_passages(tx, request.message, [row["content"] for row in long], longest, provider)
        for row, passage in zip(long, found, strict=True):
            row["passage"] = vars(passage)
        self.sections = [self._make_section(name, share) for name in SECTIONS]

    def _make_section(self, name: str, longest: int | None) -> Section:
        """A section; with `longest` of what is longer a part is shown."""
        if name == "graph":
            header, *lines = (self._parts.graph.get("rendered") or "").split("\n")
            return Section(name, header, [one_line(line)[:longest] for line in lines])
        header = HEADERS["fallback" if name == "memories" and self._parts.fallback else name]
        rows = [shorten_row(row, longest) for row in self.rows[name]]
        return Section(name, header, [LINES[name](row) for row in rows], from_end=name == "turns")

    def list_rows_in_text(self, kept: Kept) -> dict[str, Any]:
        """The rows of what is in the text."""
        rows: dict[str, Any] = {name: [self.rows[name][place] for place in kept[name]] for name in SECTIONS}
        return {**rows, "graph": {"entities": self.entities, "edges": rows["graph"]}}

    def left_out(self, kept: Kept) -> list[JsonObject]:
        """Missing parts of each section, and why; how much where it is known."""
        short = {name: len(self.rows[name]) - len(kept[name]) for name in SECTIONS}
        found: list[JsonObject] = [{"section": name, "left_out": n, "reason": "max_chars"} for name, n in short.items() if n]
        found += [{"section": name, "left_out": None, "reason": "context_keys"} for name in self._cut]
        if self._unlikely:
            found.append({"section": "memories", "left_out": self._unlikely, "reason": "min_relevance"})
        if reason := self._parts.graph.get("truncated"):
            found.append({"section": "graph", "left_out": None, "reason": ", ".join(reason)})
        return found


def _add_score(row: JsonObject, ranking: Ranking | None) -> JsonObject:
    """A memory with its score and relevance in the recall; None for one that no query found."""
    said = {
        "score": ranking.score_of(row["cursor"]) if ranking and row["cursor"] in ranking.fused.scores else None,
        "relevance": ranking.relevance.get(row["cursor"]) if ranking else None,
    }
    return {**{key: value for key, value in row.items() if key != "cursor"}, **said}


def count_context(context: JsonObject) -> None:
    """Count a context that was built, and committed where it stores something."""
    kind = context["space"].partition("/")[0]
    CONTEXTS.labels(kind if kind in KINDS else "other").inc()
    INJECTED.inc(sum(len(context[name]) for name in SHOWN_ONCE))
