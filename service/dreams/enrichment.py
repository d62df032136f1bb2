"""Enrichment: a memory that was saved becomes well-formed ones. It is stored and found before; nobody waits for this."""

from dataclasses import asdict
from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import Field

from db import dreams
from db.jobs import jobs
from db.pool import JsonObject, Transaction
from service.dreams.guards import Path, Tags, category_fault, free_tags, quote_first_words
from service.dreams.passes import Applied, Pass, Plan, Refusal, Room, Seen, format_ids, run_pass
from service.dreams.utc_days import day_of
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import at_most, share, text_of
from service.resources import Resources
from service.text.guards import find_invented_marks, find_missing_marks, kept_share
from service.text.marks import Read
from service.text.relative_dates import Resolved, remove_expressions, resolve_dates
from service.text.subject import format_statement

MOST_ENTRIES = 10  # memories that one becomes
LEAST_SHARE_OF_WORDS = 0.6  # share of its words that they must have
SAID = 0.5  # share of an entry's words that it must have
LONGEST_MEMORY_CHARACTERS = 20_000  # characters; a longer memory stays as it is
BELOW = 0.1  # how far under the importance that protects a memory a model may rate one
TAGS, TAG, TAG_WORDS = 10, 50, 4  # of an entry, and characters and words of one


TURNS = frozenset(
    {"avoid", "stop", "stopped", "instead", "rather", "refuse", "against", "wrong"}
    | {"meiden", "vermeiden", "statt", "stattdessen", "falsch", "gegen"}
)


class Entry(Answer):
    """A well-formed memory."""

    content: str = text_of(2000, least=200)
    category: Path | None = None
    tags: Tags = Field(default_factory=list)
    importance: Annotated[float, share()] | None = Field(None, description="0 to 1")


class Entries(Answer):
    """The memory's new form."""

    memories: list[Entry] = at_most(MOST_ENTRIES, least=1)


async def enrich_memory(resources: Resources, job: Job) -> None:
    """Expand the memory that the job names."""
    report = await run_pass(resources, job, ENRICHMENT)
    async with job.hold_alone(resources, "enrich") as tx:
        await jobs.finish_job(tx, id=job.id, result=report and {"enrichment": report.outcome})


async def gather_memory(tx: Transaction, job: Job, room: Room) -> Seen:
    """The memory, what its expressions of time mean, what is near it, and categories."""
    row = await dreams.memory_to_enrich(tx, id=UUID(job.arguments["memory_id"]))
    if not row or len(row["content"]) > min(LONGEST_MEMORY_CHARACTERS, room.characters):
        return Seen({}, 0)
    written = day_of(row["valid_from"])
    dates = resolve_dates(row["content"], written)
    memory = {key: row[key] for key in ("content", "category", "tags", "source") if row[key]}
    memory["content"] = format_statement(row, speaker=True)
    data = {
        "memory": {**memory, "written": written.isoformat()},
        "dates": [asdict(one) for one in dates],
        "near": row["near"][: room.things - 1],
        "categories": row["categories"][: room.things - 1],
    }
    beside = max(len(data["near"]), len(data["categories"]))
    return Seen(data, 1, known=(row, dates), shown=1 + beside)


def check_entries(seen: Seen, answer: Entries, job: Job) -> Plan:
    """The entries, if together they say what the memory says and nothing else; all or none."""
    row, dates = seen.known
    said = _join_equal_entries([entry for entry in answer.memories if entry.content])
    why = _find_fault(seen.read, row, dates, [entry.content for entry in said])
    if why is not None:
        return Plan(None, len(said), [Refusal(why[0], "expand", [str(row["id"])], why[1])])
    faults = [category_fault(_clean_category(entry), [row["category"]]) for entry in said]
    tags = [[tag for tag in entry.tags if _is_tag(seen.read, tag, row)] for entry in said]
    entries = [_make_entry(e, kept, job.settings, filed=fault is None) for e, kept, fault in zip(said, tags, faults, strict=True)]
    refused = [Refusal(fault[0], "file", [str(row["id"])], fault[1]) for fault in faults if fault is not None]
    if others := sum(len(entry.tags) for entry in said) - sum(map(len, tags)):
        refused.append(Refusal("tags", "tag", [str(row["id"])], f"{others} are sentences, or name what it does not say"))
    return Plan((row["id"], entries), len(entries), refused)


def _join_equal_entries(entries: list[Entry]) -> list[Entry]:
    """Entries of the same words as one, with the tags of all and the category of the first that has one."""
    made: dict[str, Entry] = {}
    for entry in entries:
        words = " ".join(entry.content.split()).casefold()
        before = made.get(words, entry)
        tags = list(dict.fromkeys([*before.tags, *entry.tags]))
        made[words] = before.model_copy(update={"tags": tags, "category": before.category or entry.category})
    return list(made.values())


def _is_tag(read: Read, tag: str, row: JsonObject) -> bool:
    """A tag is a few words, and names nothing that the memory does not say."""
    free = [*row["tags"], row["source"] or "", row["about"] or "", row["category"]]
    return len(tag.split()) <= TAG_WORDS and len(tag) <= TAG and not find_invented_marks(read, [row["content"]], tag, free)


def _clean_category(entry: Entry) -> str | None:
    return (entry.category or "").strip().strip("/") or None


def _make_entry(entry: Entry, tags: list[str], settings: JsonObject, *, filed: bool) -> JsonObject:
    """An entry as it is stored: what it says of itself within bounds; `filed`: under its category."""
    highest = settings["protected_importance"] - BELOW
    tags = free_tags([tag.lower() for tag in tags])
    importance = entry.importance if entry.importance is not None and 0 <= entry.importance <= 1 else None
    return {
        "content": entry.content,
        "category": _clean_category(entry) if filed else None,
        "tags": [tag for tag in tags if tag and "\x00" not in tag][:TAGS],
        "importance": None if importance is None else min(importance, highest),
    }


def _find_fault(read: Read, row: JsonObject, dates: list[Resolved], contents: list[str]) -> tuple[str, str] | None:
    """Guard and reason for which entries cannot take the place of a memory; None: they can."""
    raw, together = row["content"], " \n".join(contents)
    if not 1 <= len(contents) <= MOST_ENTRIES:
        return "count", f"{len(contents)} memories, 1 to {MOST_ENTRIES} are allowed"
    if "\x00" in together or len(together) > 3 * len(raw) + 500:
        return "length", f"{len(together):,} characters made of {len(raw):,}"
    if len(contents) > 1 and row["is_named"]:
        return "lineage", "it is a version of a named lineage, which cannot become several"
    free = [*(form for one in dates for form in _day_forms(one.means)), row["source"] or "", row["about"] or ""]
    added = next((why for content in contents if (why := _find_addition(read, raw, content, free)) is not None), None)
    if added is not None:
        return "invented", added
    lost = _find_loss(read, raw, together, dates)
    return None if lost is None else ("lost", lost)


def _find_addition(read: Read, raw: str, content: str, free: list[str]) -> str | None:
    """Statements of an entry that the memory lacks; `free`: texts whose names and numbers it may have."""
    if new := find_invented_marks(read, [raw], content, free):
        return f"it does not say {quote_first_words(new)}"
    if read(content).denials and not read(raw).denials and not TURNS & read(raw).words:
        return "an entry denies something that it does not deny"
    share = kept_share(read, content, "\n".join([raw, *free]))
    return None if share >= SAID else f"it says {share:.0%} of the words of an entry"


def _find_loss(read: Read, raw: str, together: str, dates: list[Resolved]) -> str | None:
    """Statements of the memory that the entries lack."""
    stated = remove_expressions(raw, dates)
    if lost := find_missing_marks(read, [stated], together):
        return f"the entries do not say {quote_first_words(lost)}"
    for one in dates:
        if one.said.lower() not in together.lower() and all(
            find_missing_marks(read, [form], together) for form in _day_forms(one.means)
        ):
            return f"the entries do not say when {one.said} is"
    if read(together).denials < read(raw).denials:
        return "the entries deny less than it does"
    share = kept_share(read, stated, together)
    return None if share >= LEAST_SHARE_OF_WORDS else f"the entries have {share:.0%} of its words"


def _day_forms(means: str) -> list[str]:
    """A day as texts write it."""
    try:
        day = date.fromisoformat(means)
    except ValueError:
        return [means]
    return [means, f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%B} {day.year}", f"{day.day:02}.{day.month:02}.{day.year}"]


async def apply_entries(tx: Transaction, job: Job, plan: Plan) -> Applied:
    """Put the entries in the memory's place, unless it was changed or erased meanwhile."""
    del job
    if plan.steps is None:
        return Applied()
    raw, entries = plan.steps
    done = await dreams.enrich_memory(tx, id=raw, entries=entries)
    if not done:
        return Applied(refused=[Refusal("changed", "expand", [str(raw)], "it was changed or erased meanwhile")])
    return Applied([{"action": done["action"], "ids": format_ids(done["ids"])}])


ENRICHMENT = Pass(
    name="enrichment", prompt="memory-rules.md", answer=Entries, look=gather_memory, check=check_entries, apply=apply_entries
)
