"""Formats that fewer people have: CrewAI, supermemory, Gemini's activity."""

import hashlib
import html
import re
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.items import iterate_items, make_records, preview_first_value
from service.transfer.foreign.records import ImportNotes, Json, Link, Memory, Record, Turn, end_versions
from service.transfer.foreign.sources import Source
from service.transfer.foreign.values import (
    WrongValue,
    join_category_path,
    keep_stated_fields,
    list_of,
    object_of,
    parse_moment,
    text_of,
    words_of,
)

RELATIONS = {"updates", "extends", "derives"}
ACTIVITY = ("Prompted ", "Asked ", "Said ")
UNSEEN = re.compile(r"<(?P<script>script\b)|<style\b", re.IGNORECASE)
ENDS = {"script": re.compile(r"</script\s*+>", re.IGNORECASE), "style": re.compile(r"</style\s*+>", re.IGNORECASE)}
MARKUP = re.compile(r"<[^>]*+>?")
BREAK = re.compile(r"<(?:br|/p|/li|/div)\b[^<>]*+>", re.IGNORECASE)


def read_crewai(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Records of CrewAI's memory."""

    def make_record(place: str, item: Json) -> Iterator[Record]:
        text, key = text_of(item.get("content"), "content"), text_of(item.get("id"), "id")
        scope, importance = text_of(item.get("scope") or "/", "scope"), item.get("importance")
        if not scope.startswith("/"):
            raise WrongValue(f"scope: must begin with a slash, not {scope!r}")
        if importance is not None and not (isinstance(importance, (int, float)) and 0 <= importance <= 1):
            raise WrongValue(f"importance: must be 0 to 1, not {importance!r}")
        tags = words_of(list_of(item.get("categories"), "categories"))
        notes.count_loss("embeddings", int(item.get("embedding") is not None))
        made = parse_moment(item.get("created_at"), "created_at")
        metadata = {**object_of(item.get("metadata") or {}, "metadata"), **keep_stated_fields(private=item.get("private") or None)}
        who = item.get("source")
        yield Memory(
            place,
            key,
            text,
            lineage=key,
            category=join_category_path(scope),
            tags=tags,
            made=made,
            source=who if isinstance(who, str) else None,
            importance=float(importance) if importance is not None else None,
            metadata=metadata,
        )

    for file in source.files:
        yield from make_records(iterate_items(file, notes, "records"), notes, make_record)


def read_supermemory(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Memories in lineages of their roots, versions in order; documents; what extends or derives is a link."""
    for file in source.files:
        whole = preview_first_value(file)
        if isinstance(whole, dict) and isinstance(whole.get("documents"), list):
            found = ((file.describe_place(f"documents[{n}]"), item) for n, item in enumerate(file.iterate_items("documents.item")))
            yield from make_records(found, notes, _read_document)
        elif isinstance(whole, dict) and "documents" in whole:
            notes.note_error(file.describe_place("documents"), "must be a list")
        roots: dict[str, list[tuple[str, Json]]] = {}
        for number, item in enumerate(file.iterate_items("memories.item")):
            root = str(item.get("rootMemoryId") or item.get("id")) if isinstance(item, dict) else ""
            roots.setdefault(root, []).append((file.describe_place(f"memories[{number}]"), item))
        for root, versions in roots.items():
            yield from _order_versions(root, versions, notes)


def _read_document(place: str, item: Json) -> Iterator[Record]:
    key = text_of(item.get("id"), "id")
    made, changed = parse_moment(item.get("createdAt"), "createdAt"), parse_moment(item.get("updatedAt"), "updatedAt")
    session, source = item.get("customId"), item.get("source")
    about = {
        **object_of(item.get("metadata") or {}, "metadata"),
        **keep_stated_fields(title=item.get("title"), url=item.get("url")),
    }
    yield Memory(
        place,
        key,
        text_of(item.get("content"), "content"),
        lineage=key,
        category=join_category_path("documents", *words_of(item.get("containerTags"))[:1]),
        made=made,
        changed=changed,
        source=source if isinstance(source, str) else None,
        session=session if isinstance(session, str) else None,
        metadata=about,
    )


def _order_versions(root: str, found: list[tuple[str, Any]], notes: ImportNotes) -> list[Record]:
    """The versions of a memory, oldest first; a chain with a wrong link is left out as a whole."""
    records: list[tuple[int, Memory]] = []
    links: list[Record] = []
    latest = 0
    wrong = False
    for place, item in found:
        try:
            object_of(item)
            key = text_of(item.get("id"), "id")
            if item.get("parentMemoryId") == key:
                raise WrongValue("parentMemoryId: it is its own parent")
            latest += bool(item.get("isLatest"))
            if latest > 1:
                raise WrongValue("isLatest: another version of the memory is the latest already")
            made, changed = parse_moment(item.get("createdAt"), "createdAt"), parse_moment(item.get("updatedAt"), "updatedAt")
            flags = keep_stated_fields(
                static=item.get("isStatic") or None, inferred=item.get("isInference") or None, why=item.get("forgetReason")
            )
            metadata = {**object_of(item.get("metadata") or {}, "metadata"), **flags}
            end = parse_moment(item.get("forgetAfter"), "forgetAfter") or (changed if item.get("isForgotten") else None)
            where = join_category_path(item.get("containerTag") or item.get("spaceContainerTag"))
            text = text_of(item.get("memory"), "memory")
            memory = Memory(
                place,
                key,
                text,
                lineage=root,
                category=where,
                valid_to=end,
                made=made,
                changed=made,
                source="supermemory",
                metadata=metadata,
            )
            version = item.get("version")
            records.append((version if isinstance(version, int) else 1, memory))
            links += _read_relations(place, key, item.get("memoryRelations") or {})
        except WrongValue as error:
            notes.note_error(place, str(error))
            wrong = True
    if wrong:
        notes.count_omission("memories of a chain of versions that is broken", len(records))
        return []
    ordered = [memory for _, memory in sorted(records, key=lambda pair: pair[0])]
    end_versions(ordered)
    return [*ordered, *links]


def _read_relations(place: str, key: str, relations: Any) -> list[Record]:
    found = object_of(relations, "memoryRelations")
    unknown = sorted(str(kind) for kind in found.values() if kind not in RELATIONS)
    if unknown:
        raise WrongValue(f"memoryRelations: unknown are {', '.join(unknown)}")
    return [Link(place, key, str(target), kind) for target, kind in found.items() if kind != "updates"]


def read_gemini(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Google Takeout's activity: what was asked and answered. It has no conversations: each exchange stands alone."""

    def make_record(place: str, item: Json) -> Iterator[Record]:
        if item.get("header") != "Gemini Apps":
            notes.count_omission("activity of other products")
            return
        title, said = text_of(item.get("title"), "title"), parse_moment(item.get("time"), "time")
        prompt = next((title.removeprefix(verb) for verb in ACTIVITY if title.startswith(verb)), "")
        answers = [each for each in list_of(item.get("safeHtmlItem"), "safeHtmlItem") if isinstance(each, dict)]
        if not prompt.strip() or not answers:
            notes.count_omission("activity without a prompt and an answer")
            return
        notes.count_omission("drafts of answers", len(answers) - 1)
        notes.count_loss("attached files, of which there are the names only", len(item.get("attachedFiles") or []))
        key = hashlib.sha256(f"{item.get('time')}\n{title}".encode("utf-8", "replace")).hexdigest()[:24]
        session = f"gemini/{key}"
        about = keep_stated_fields(attachments=words_of(item.get("attachedFiles")))
        yield Turn(place, f"{key}/0", session, "user", prompt, said, about)
        answer = strip_markup(str(answers[0].get("html") or ""))
        if answer:
            yield Turn(place, f"{key}/1", session, "assistant", answer, said, {})

    notes.add_remark("Gemini's activity has no conversations: each prompt is one of its own")
    for file in source.files if source.only_file is not None else source.files_with_ending(".json"):
        yield from make_records(iterate_items(file, notes), notes, make_record)


def strip_markup(markup: str) -> str:
    """A text without its markup; scripts and styles say nothing."""
    kept, place = [], 0
    while found := UNSEEN.search(markup, place):
        kept.append(markup[place : found.start()])
        end = ENDS["script" if found["script"] else "style"].search(markup, found.end())
        place = end.end() if end else len(markup)  # one that does not end hides the rest
    kept.append(markup[place:])
    return html.unescape(MARKUP.sub("", BREAK.sub("\n", "".join(kept)))).strip()
