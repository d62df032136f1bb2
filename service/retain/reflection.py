"""Reflecting: orphans get places under concepts, by rules or as a model proposes."""

from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from db import retain as facts
from db.pool import JsonObject, Transaction
from db.retain import OrphansToPlace
from service.jobs.job import Postponed
from service.llm.model import ModelError
from service.models.calls import part_that_fits
from service.resources import Resources
from service.retain.placements import Plan, Reflection, orphans_shown
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
from service.text.marks import with_readings

ORPHANS_PER_CALL, CONCEPTS = 100, 200  # orphans that a model is shown in one call, and concepts beside them


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
    given: JsonObject | None = None
    refused: list[JsonObject] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


async def plan_reflection(resources: Resources, read: Read, choice: Choice, page: Page) -> Planned:
    """Have a model propose how to put orphans in order, where one is to be asked. No transaction is open while it thinks."""
    if choice == "rules" or (resources.model is None and choice == "auto"):
        return Planned(page)
    page, (seen, namespace, settings) = await _page(resources, read, page)
    if (reason := reason_not_to_ask(resources, settings, choice)) is not None:
        return Planned(page, skipped={"model": reason})
    if not seen["orphans"]:
        return Planned(page)
    until = patience_for_models(resources)
    try:
        answer = await ask_within(resources, until, Reflection, namespace=namespace, purpose="reflect", **_asked(seen))
    except (ModelError, Postponed) as error:
        return Planned(page, skipped={"model": refusal_of(error, choice)})
    made = await with_readings(texts_read_by(read), lambda known: Plan(seen["orphans"], seen["concepts"], answer, settings, known))
    return Planned(page, made.to_database, made.list_refusals())


async def _page(resources: Resources, read: Read, page: Page) -> tuple[Page, tuple[OrphansToPlace, str, JsonObject]]:
    """As many orphans, and as many concepts beside them, as a model can be shown in one call."""
    page, concepts = replace(page, limit=min(page.limit, ORPHANS_PER_CALL)), CONCEPTS
    while True:
        found = await read(partial(_read_orphans, page=page, concepts=concepts))
        orphans, beside = len(found[0]["orphans"]), len(found[0]["concepts"])
        if max(orphans, beside) <= 1 or (part := await part_that_fits(resources, Reflection, **_asked(found[0]))) >= 1:
            return page, found
        page = replace(page, limit=max(1, int(orphans * part * 0.9)))
        concepts = int(beside * part * 0.9)


def _asked(seen: OrphansToPlace) -> dict[str, Any]:
    numbers = {"memories": range(1, len(seen["orphans"]) + 1)}
    return {"prompt": "reflect.md", "data": orphans_shown(seen["orphans"], seen["concepts"]), "numbers": numbers}


async def _read_orphans(tx: Transaction, page: Page, concepts: int) -> tuple[OrphansToPlace, str, JsonObject]:
    row = await facts.orphans_to_place(tx, limit=page.limit, category=page.category, cursor=page.cursor, concepts=concepts)
    entered = await tx.read_caller()
    return row, str(entered.namespace), entered.settings


async def reflect_orphans(tx: Transaction, planned: Planned, *, dry_run: bool) -> JsonObject:
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


async def reflect_page(resources: Resources, page: Page, choice: Choice, *, read: Read, write: Write[T], dry_run: bool) -> T:
    """Reflect about a page of orphans: have a model propose what is to be done, where one is to be asked, and do it."""
    planned = await plan_reflection(resources, read, choice, page)
    return await write(partial(reflect_orphans, planned=planned, dry_run=dry_run))
