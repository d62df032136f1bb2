"""Retaining a text: cut into facts, embedded, decided and written in the database (row L3)."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

from db import retain as facts
from db.errors import Conflict, FieldError, Invalid, LimitReached, Unavailable
from db.pool import Transaction
from service.deciding import Judgements, facts_shown, weigh
from service.embedding import EmbeddingError, Provider
from service.embedding.following import serving
from service.facts import split
from service.jobs.work import Later, Work
from service.llm.calls import NeedsModel, ask
from service.llm.model import ModelError
from service.llm.output import Answer
from service.reflecting import Plan, Reflection, orphans_shown
from service.settings import EmbeddingSettings

ACTIONS = {"create": "created", "update": "updated", "link": "linked", "nothing": "unchanged"}
AT_ONCE = 50  # facts that a model is asked about in one call
TRIES = 2  # to decide by a model
PAGE = 100  # orphans that a model is shown in one call
MOST = 1000  # whatever the setting retain_facts: what is not even embedded
Choice = Literal["auto", "rules", "model"]
A = TypeVar("A", bound=Answer)
T = TypeVar("T")
Step = Callable[[Transaction], Awaitable[Any]]
Read = Callable[[Step], Awaitable[Any]]  # runs a step in a transaction of a writer that changes nothing
Write = Callable[[Step], Awaitable[T]]  # runs one that writes


@dataclass(frozen=True)
class Decided:
    """Decisions about facts in their order, with `decided_by`; None: by rules. `skipped`: why no model decided."""

    decisions: list[dict[str, Any]] | None = None
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """Which orphans to look at."""

    limit: int
    category: str | None = None
    cursor: int | None = None


@dataclass(frozen=True)
class Planned:
    """A page, and what is to be done with it; `given` None: what the rules say. `skipped`: why no model was asked."""

    page: Page
    given: dict[str, Any] | None = None
    refused: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """Facts as items of loci.remember, and what did not take part."""

    items: list[dict[str, Any]]
    skipped: dict[str, str]


async def prepare(stated: dict[str, Any], provider: Provider | None, settings: EmbeddingSettings) -> Prepared:
    """Cut a text into facts and embed them at once, before any transaction. A dead endpoint costs the vectors, not the facts."""
    texts = split(stated["content"])
    if len(texts) > MOST:
        raise Invalid(f"the text has {len(texts):,} facts", [FieldError("content", f"must have at most {MOST:,} facts")])
    items = [{**stated, "content": text} for text in texts]
    used = serving(provider)
    try:
        vectors = await used.embed([text[: settings.max_chars] for text in texts], timeout=settings.query_timeout)
    except EmbeddingError as error:
        return Prepared(items, {"vector": str(error)})
    made = [{"embedding": vector.tolist(), "embedding_model": used.model} for vector in vectors]
    return Prepared([{**item, **vector} for item, vector in zip(items, made, strict=True)], {})


async def decide(asking: Work, read: Read, prepared: Prepared, choice: Choice) -> Decided:
    """Have a model decide about facts, where one is to be asked; with the rules' decision wherever it gives none that stands.

    No transaction is open while it thinks. Without `choice` "model", rules decide about what it gives no answer to.
    """
    if choice == "rules" or (asking.model is None and choice == "auto"):
        return Decided()
    basis, namespace, settings = await read(lambda tx: _basis(tx, prepared))
    if (reason := why_not(asking, settings, choice)) is not None:
        return Decided(skipped={"model": reason})
    open_ones = [row for row in basis if not row["is_settled"]]
    judged, skipped = [], {}
    until = time.monotonic() + asking.settings.llm.request_deadline
    for start in range(0, len(open_ones), AT_ONCE):
        shown = facts_shown(open_ones[start : start + AT_ONCE], prepared.items)
        try:
            answer = await ask_within(
                asking, until, Judgements, namespace=namespace, purpose="retain", prompt="retain.md", data=shown
            )
        except (ModelError, Later) as error:
            skipped = {"model": refused(error, choice)}
            break
        judged += answer.decisions
    return Decided(weigh(basis, prepared.items, judged, settings), skipped)


async def _basis(tx: Transaction, prepared: Prepared) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    rows = await facts.facts_to_decide(tx, items=prepared.items)
    entered = await tx.entered()
    return rows, str(entered.namespace), entered.settings


def why_not(asking: Work, settings: dict[str, Any], choice: Choice) -> str | None:
    """Why no model is asked although one is there; None: it is asked. Raises NeedsModel where it was asked for by name."""
    if asking.model is None:
        raise NeedsModel
    if settings["retain_model"]:
        return None
    if choice == "model":
        raise Conflict("the setting retain_model of this namespace is off: no model is asked")
    return "the setting retain_model is off"


async def ask_within(asking: Work, until: float, answer: type[A], **about: Any) -> A:
    """Ask, with what is left of the time that a request has for it."""
    left = until - time.monotonic()
    if left <= 0:
        raise ModelError("the time that a request waits for a model is over")
    return await ask(asking, answer, deadline=left, **about)


def refused(error: ModelError | Later, choice: Choice) -> str:
    """Why the model gave nothing; an error where it was asked for by name."""
    if choice != "model":
        return str(error)
    if isinstance(error, Later):
        raise LimitReached(str(error), hint="Decide by rules, or ask again when the budget of a new day begins.") from error
    raise Unavailable(f"the language model gave no usable answer: {error}", hint="Decide by rules, or try again.") from error


async def retain(tx: Transaction, prepared: Prepared, *, dry_run: bool, decided: Decided | None = None) -> dict[str, Any]:
    """Write what was decided about facts, or by rules. Raises db.retain.Outdated where given decisions no longer stand."""
    given = decided.decisions if decided else None
    rows = await facts.retain(tx, items=prepared.items, decisions=given, dry_run=dry_run)
    by = [row["decided_by"] for row in given] if given else ["rules"] * len(rows)
    done = [{"fact": prepared.items[row["ordinal"]]["content"], **row, "decided_by": by[row["ordinal"]]} for row in rows]
    for row in done:
        del row["ordinal"]
    counts = {name: sum(row["action"] == action for row in done) for action, name in ACTIONS.items()}
    skipped = {**prepared.skipped, **(decided.skipped if decided else {})}
    return {"decisions": done, **counts, "dry_run": dry_run, "skipped": skipped}


async def take_in(asking: Work, prepared: Prepared, choice: Choice, *, read: Read, write: Write[T], dry_run: bool) -> T:
    """Decide and write; where what the decisions rest on changed while the model thought, decide once more, then by rules."""
    for _ in range(TRIES):
        decided = await decide(asking, read, prepared, choice)
        try:
            return await write(partial(retain, prepared=prepared, dry_run=dry_run, decided=decided))
        except facts.Outdated:
            continue
    changed = "what the model's decisions rested on was changed each time"
    if choice == "model":
        raise Unavailable(f"{changed}; nothing was written", hint="Try again.")
    return await write(partial(retain, prepared=prepared, dry_run=dry_run, decided=Decided(skipped={"model": changed})))


async def plan(asking: Work, read: Read, choice: Choice, page: Page) -> Planned:
    """Have a model propose how to put orphans in order, where one is to be asked. No transaction is open while it thinks."""
    if choice == "rules" or (asking.model is None and choice == "auto"):
        return Planned(page)
    page = replace(page, limit=min(page.limit, PAGE))
    seen, namespace, settings = await read(lambda tx: _orphans(tx, page))
    if (reason := why_not(asking, settings, choice)) is not None:
        return Planned(page, skipped={"model": reason})
    if not seen["orphans"]:
        return Planned(page)
    until = time.monotonic() + asking.settings.llm.request_deadline
    shown = orphans_shown(seen["orphans"], seen["concepts"])
    try:
        answer = await ask_within(
            asking, until, Reflection, namespace=namespace, purpose="reflect", prompt="reflect.md", data=shown
        )
    except (ModelError, Later) as error:
        return Planned(page, skipped={"model": refused(error, choice)})
    made = Plan(seen["orphans"], seen["concepts"], answer, settings)
    return Planned(page, made.given, made.reasons())


async def _orphans(tx: Transaction, page: Page) -> tuple[dict[str, Any], str, dict[str, Any]]:
    row = await facts.orphans_to_place(tx, limit=page.limit, category=page.category, cursor=page.cursor)
    entered = await tx.entered()
    return row, str(entered.namespace), entered.settings


async def reflect(tx: Transaction, planned: Planned, *, dry_run: bool) -> dict[str, Any]:
    """Place a page of orphans; the cursor of the next page is a string."""
    row = await facts.reflect(tx, **asdict(planned.page), dry_run=dry_run, plan=planned.given)
    following = row["next_cursor"]
    return {
        **row,
        "next_cursor": None if following is None else str(following),
        "dry_run": dry_run,
        "refused": planned.refused,
        "skipped": planned.skipped,
    }
