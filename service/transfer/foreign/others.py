"""Formats that fewer people have: CrewAI, supermemory, Gemini's activity."""

import hashlib
import html
import re
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.items import each, preview, values
from service.transfer.foreign.records import Json, Link, Memory, Notes, Record, Turn, end_versions
from service.transfer.foreign.sources import Source
from service.transfer.foreign.values import WrongValue, category, list_of, moment, object_of, stated, text_of, words_of

RELATIONS = {"updates", "extends", "derives"}
ACTIVITY = ("Prompted ", "Asked ", "Said ")
UNSEEN = re.compile(r"<(?P<script>script\b)|<style\b", re.IGNORECASE)
ENDS = {"script": re.compile(r"</script\s*+>", re.IGNORECASE), "style": re.compile(r"</style\s*+>", re.IGNORECASE)}
MARKUP = re.compile(r"<[^>]*+>?")
BREAK = re.compile(r"<(?:br|/p|/li|/div)\b[^<>]*+>", re.IGNORECASE)


def read_crewai(source: Source, notes: Notes) -> Iterator[Record]:
    """Records of CrewAI's memory."""

    def make(place: str, item: Json) -> Iterator[Record]:
        text, key = text_of(item.get("content"), "content"), text_of(item.get("id"), "id")
        scope, importance = text_of(item.get("scope") or "/", "scope"), item.get("importance")
        if not scope.startswith("/"):
            raise WrongValue(f"scope: must begin with a slash, not {scope!r}")
        if importance is not None and not (isinstance(importance, (int, float)) and 0 <= importance <= 1):
            raise WrongValue(f"importance: must be 0 to 1, not {importance!r}")
        tags = words_of(list_of(item.get("categories"), "categories"))
        notes.lose("embeddings", int(item.get("embedding") is not None))
        made = moment(item.get("created_at"), "created_at")
        metadata = {**object_of(item.get("metadata") or {}, "metadata"), **stated(private=item.get("private") or None)}
        who = item.get("source")
        yield Memory(
            place,
            key,
            text,
            lineage=key,
            category=category(scope),
            tags=tags,
            made=made,
            source=who if isinstance(who, str) else None,
            importance=float(importance) if importance is not None else None,
            metadata=metadata,
        )

    for file in source.files:
        yield from each(values(file, notes, "records"), notes, make)


def read_supermemory(source: Source, notes: Notes) -> Iterator[Record]:
    """Memories in lineages of their roots, versions in order; documents; what extends or derives is a link."""
    for file in source.files:
        whole = preview(file)
        if isinstance(whole, dict) and isinstance(whole.get("documents"), list):
            found = ((file.place(f"documents[{n}]"), item) for n, item in enumerate(file.items("documents.item")))
            yield from each(found, notes, _document)
        elif isinstance(whole, dict) and "documents" in whole:
            notes.error(file.place("documents"), "must be a list")
        roots: dict[str, list[tuple[str, Json]]] = {}
        for number, item in enumerate(file.items("memories.item")):
            root = str(item.get("rootMemoryId") or item.get("id")) if isinstance(item, dict) else ""
            roots.setdefault(root, []).append((file.place(f"memories[{number}]"), item))
        for root, versions in roots.items():
            yield from _versions(root, versions, notes)


def _document(place: str, item: Json) -> Iterator[Record]:
    key = text_of(item.get("id"), "id")
    made, changed = moment(item.get("createdAt"), "createdAt"), moment(item.get("updatedAt"), "updatedAt")
    session, source = item.get("customId"), item.get("source")
    about = {**object_of(item.get("metadata") or {}, "metadata"), **stated(title=item.get("title"), url=item.get("url"))}
    yield Memory(
        place,
        key,
        text_of(item.get("content"), "content"),
        lineage=key,
        category=category("documents", *words_of(item.get("containerTags"))[:1]),
        made=made,
        changed=changed,
        source=source if isinstance(source, str) else None,
        session=session if isinstance(session, str) else None,
        metadata=about,
    )


def _versions(root: str, found: list[tuple[str, Any]], notes: Notes) -> list[Record]:
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
            made, changed = moment(item.get("createdAt"), "createdAt"), moment(item.get("updatedAt"), "updatedAt")
            flags = stated(
                static=item.get("isStatic") or None, inferred=item.get("isInference") or None, why=item.get("forgetReason")
            )
            metadata = {**object_of(item.get("metadata") or {}, "metadata"), **flags}
            end = moment(item.get("forgetAfter"), "forgetAfter") or (changed if item.get("isForgotten") else None)
            where = category(item.get("containerTag") or item.get("spaceContainerTag"))
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
            links += _relations(place, key, item.get("memoryRelations") or {})
        except WrongValue as error:
            notes.error(place, str(error))
            wrong = True
    if wrong:
        notes.skip("memories of a chain of versions that is broken", len(records))
        return []
    ordered = [memory for _, memory in sorted(records, key=lambda pair: pair[0])]
    end_versions(ordered)
    return [*ordered, *links]


def _relations(place: str, key: str, relations: Any) -> list[Record]:
    found = object_of(relations, "memoryRelations")
    unknown = sorted(str(kind) for kind in found.values() if kind not in RELATIONS)
    if unknown:
        raise WrongValue(f"memoryRelations: unknown are {', '.join(unknown)}")
    return [Link(place, key, str(target), kind) for target, kind in found.items() if kind != "updates"]


def read_gemini(source: Source, notes: Notes) -> Iterator[Record]:
    """Google Takeout's activity: what was asked and answered. It has no conversations: each exchange stands alone."""

    def make(place: str, item: Json) -> Iterator[Record]:
        if item.get("header") != "Gemini Apps":
            notes.skip("activity of other products")
            return
        title, said = text_of(item.get("title"), "title"), moment(item.get("time"), "time")
        prompt = next((title.removeprefix(verb) for verb in ACTIVITY if title.startswith(verb)), "")
        answers = [each for each in list_of(item.get("safeHtmlItem"), "safeHtmlItem") if isinstance(each, dict)]
        if not prompt.strip() or not answers:
            notes.skip("activity without a prompt and an answer")
            return
        notes.skip("drafts of answers", len(answers) - 1)
        notes.lose("attached files, of which there are the names only", len(item.get("attachedFiles") or []))
        key = hashlib.sha256(f"{item.get('time')}\n{title}".encode("utf-8", "replace")).hexdigest()[:24]
        session = f"gemini/{key}"
        about = stated(attachments=words_of(item.get("attachedFiles")))
        yield Turn(place, f"{key}/0", session, "user", prompt, said, about)
        answer = plain(str(answers[0].get("html") or ""))
        if answer:
            yield Turn(place, f"{key}/1", session, "assistant", answer, said, {})

    notes.remark("Gemini's activity has no conversations: each prompt is one of its own")
    for file in source.files if source.single is not None else source.named(".json"):
        yield from each(values(file, notes), notes, make)


def plain(markup: str) -> str:
    """A text without its markup; scripts and styles say nothing."""
    kept, place = [], 0
    while found := UNSEEN.search(markup, place):
        kept.append(markup[place : found.start()])
        end = ENDS["script" if found["script"] else "style"].search(markup, found.end())
        place = end.end() if end else len(markup)  # one that does not end hides the rest
    kept.append(markup[place:])
    return html.unescape(MARKUP.sub("", BREAK.sub("\n", "".join(kept)))).strip()
