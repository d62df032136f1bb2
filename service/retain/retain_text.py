"""Retaining a text: cut into facts, embedded, decided and written in the database."""

import logging
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from db import retain as facts
from db.dreams import removable_memories
from db.errors import FieldError, Invalid, Unavailable
from db.pool import JsonObject, Transaction
from db.retain import FactBasis
from service.embedding.active_model import active_model, find_active_model
from service.embedding.provider import EmbeddingError
from service.jobs.job import Postponed
from service.llm.model import ModelError
from service.models.calls import part_that_fits
from service.resources import Resources
from service.retain.judgements import Judgements, closest, ended_by_model, facts_shown, numbers_shown, weigh_judgements
from service.retain.rules_or_model import (
    Choice,
    Read,
    T,
    Write,
    ask_within,
    patience_for_models,
    reason_not_to_ask,
    refusal_of,
    texts_read_by,
)
from service.retain.settle_contradictions import enqueue_settling
from service.text.fact_splitting import split_facts
from service.text.marks import with_readings
from service.text.subject import format_statement

log = logging.getLogger(__name__)
ACTIONS = {"create": "created", "update": "updated", "link": "linked", "nothing": "unchanged"}
FACTS_PER_CALL = 50  # facts that a model is asked about in one call
DECISION_TRIES = 2  # to decide by a model
MOST_FACTS = 1000  # whatever the setting retain_facts: what is not even embedded


@dataclass(frozen=True)
class Decided:
    """Decisions about facts in their order, with `decided_by`; None: by rules. `skipped`: why no model decided."""

    decisions: list[JsonObject] | None = None
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """Facts as items of loci_api.remember, and what did not take part."""

    items: list[JsonObject]
    skipped: dict[str, str]


async def prepare_items(resources: Resources, items: list[JsonObject], read: Read) -> Prepared:
    """Embed facts at once, before any transaction, with the model that is active now: vectors of another one count for nothing.

    A dead endpoint costs the vectors, not the facts.
    """
    if len(items) > MOST_FACTS:
        name = "messages" if "spoken" in items[0] else "content"
        raise Invalid(f"the text has {len(items):,} facts", [FieldError(name, f"must have at most {MOST_FACTS:,} facts")])
    provider, settings = resources.provider, resources.settings.embedding
    used = active_model(None) if provider is None else await read(partial(find_active_model, provider))
    try:
        vectors = await used.embed([format_statement(item)[: settings.max_chars] for item in items], timeout=settings.query_timeout)
    except EmbeddingError as error:
        return Prepared(items, {"vector": str(error)})
    made = [{"embedding": vector.tolist(), "embedding_model": used.model} for vector in vectors]
    return Prepared([{**item, **vector} for item, vector in zip(items, made, strict=True)], {})


async def retain_text(resources: Resources, stated: JsonObject, choice: Choice, *, read: Read, write: Write[T], dry_run: bool) -> T:
    """Retain a text: cut, embed, decide and write its facts. `stated`: the text and what is said about it."""
    items = [{**stated, "content": text} for text in split_facts(stated["content"])]
    prepared = await prepare_items(resources, items, read)
    until = patience_for_models(resources)
    return await retain_facts(resources, prepared, choice, until, read=read, write=write, dry_run=dry_run)


async def decide_facts(resources: Resources, read: Read, prepared: Prepared, choice: Choice, until: float) -> Decided:
    """Have a model decide about facts, where one is to be asked; with the rules' decision wherever it gives none that stands.

    No transaction is open while it thinks, until that monotonic moment at most. Without `choice` "model", rules decide about what
    it gives no answer to.
    """
    if choice == "rules" or (resources.model is None and choice == "auto"):
        return Decided()
    basis, namespace, settings = await read(lambda tx: _read_basis(tx, prepared))
    if (reason := reason_not_to_ask(resources, settings, choice)) is not None:
        return Decided(skipped={"model": reason})
    open_ones = [row for row in basis if not row["is_settled"]]
    judged, skipped = [], {}
    while open_ones:
        page, asked = await _page_of_facts(resources, open_ones, prepared.items)
        open_ones = open_ones[len(page) :]
        try:
            answer = await ask_within(resources, until, Judgements, namespace=namespace, purpose="retain", **asked)
        except (ModelError, Postponed) as error:
            skipped = {"model": refusal_of(error, choice)}
            break
        judged += answer.decisions
    weigh = partial(weigh_judgements, basis, prepared.items, judged, settings)
    weighed = await with_readings(texts_read_by(read), weigh)
    if (stopped := await _find_mass_ending(read, ended_by_model(weighed), settings)) is not None:
        weighed = await with_readings(texts_read_by(read), partial(weigh, breaker=stopped))
    if refused := Counter(one["refused"] for one in weighed if "refused" in one):
        said = ", ".join(f"{guard} {count}" for guard, count in sorted(refused.items()))
        log.warning("retain in %s: of %d decisions of the model, guards refused: %s", namespace, len(judged), said)
    return Decided(weighed, skipped)


async def _page_of_facts(
    resources: Resources, basis: list[JsonObject], items: list[JsonObject]
) -> tuple[list[JsonObject], dict[str, Any]]:
    """As many facts as fit one call, and how it is made; a single one that does not fit is shown with fewer known memories."""
    page = basis[:FACTS_PER_CALL]
    while True:
        asked: dict[str, Any] = {"prompt": "retain.md", "data": facts_shown(page, items), "numbers": numbers_shown(page)}
        beside = max(len(row["known"]) for row in page)
        if (len(page) == 1 and not beside) or (part := await part_that_fits(resources, Judgements, **asked)) >= 1:
            return page, asked
        if len(page) > 1:
            page = page[: len(page) // 2]
        else:
            page = [{**page[0], "known": closest(page[0]["known"], int(beside * min(part, 0.9)))}]


async def _find_mass_ending(read: Read, ended: int, settings: JsonObject) -> str | None:
    """Why a call that would end so many facts by a model's word alone ends none of them; None: it may.

    As in the passes (dream_removed_share), and as there one more or less is no landslide.
    """
    share = settings["dream_removed_share"]
    least = 1 if share > 0 else 0
    if ended <= least or ended <= (allowed := max(least, await read(removable_memories))):
        return None
    return f"{ended} facts would end by it in one call; the setting dream_removed_share ({share:g}) allows {allowed}"


async def _read_basis(tx: Transaction, prepared: Prepared) -> tuple[list[FactBasis], str, JsonObject]:
    rows = await facts.facts_to_decide(tx, items=prepared.items)
    for known in (one for row in rows for one in row["known"] if one["fact"] is not None):
        known["about"] = prepared.items[known["fact"]].get("about")
    entered = await tx.read_caller()
    return rows, str(entered.namespace), entered.settings


async def write_facts(
    tx: Transaction, prepared: Prepared, *, dry_run: bool, settles: bool, decided: Decided | None = None
) -> JsonObject:
    """Write what was decided about facts, or by rules. Raises db.retain.Outdated where given decisions no longer stand.

    `settles`: a model looks at the pairs that stay open, in a job.
    """
    given = decided.decisions if decided else None
    rows = await facts.retain(tx, items=prepared.items, decisions=given, dry_run=dry_run)
    by = [row["decided_by"] for row in given] if given else ["rules"] * len(rows)
    done = [{"fact": prepared.items[row["ordinal"]]["content"], **row, "decided_by": by[row["ordinal"]]} for row in rows]
    for row in done:
        del row["ordinal"]
    if settles and not dry_run and any(link["type"] == "contradicts" for row in done for link in row["links"]):
        await enqueue_settling(tx)
    counts = {name: sum(row["action"] == action for row in done) for action, name in ACTIONS.items()}
    skipped = {**prepared.skipped, **(decided.skipped if decided else {})}
    return {"decisions": done, **counts, "left_out": left_out(done), "dry_run": dry_run, "skipped": skipped}


def left_out(decisions: list[JsonObject]) -> list[JsonObject]:
    """Sentences of a text that no memory says, and why."""
    return [
        {name: row[name] for name in ("message", "fact", "reason") if name in row}
        for row in decisions
        if row["action"] == "nothing" and row["memory_id"] is None
    ]


async def retain_facts(
    resources: Resources, prepared: Prepared, choice: Choice, until: float, *, read: Read, write: Write[T], dry_run: bool
) -> T:
    """Decide and write; where what the decisions rest on changed while the model thought, decide once more, then by rules."""
    settles = resources.model is not None and choice != "rules"
    by = partial(write_facts, prepared=prepared, dry_run=dry_run, settles=settles)
    for _ in range(DECISION_TRIES):
        decided = await decide_facts(resources, read, prepared, choice, until)
        try:
            return await write(partial(by, decided=decided))
        except facts.Outdated:
            continue
    changed = "the compared memories changed at each attempt"
    if choice == "model":
        raise Unavailable(f"{changed}; nothing was written", hint="Try again.")
    return await write(partial(by, decided=Decided(skipped={"model": changed})))
