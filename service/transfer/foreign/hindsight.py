"""Hindsight: a zip or folder of documents with their facts, schema 1. Facts have no ids there: their position is their identity."""

import json
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.items import make_records
from service.transfer.foreign.records import ImportNotes, Json, Link, Memory, Record, Unreadable
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    identity_of,
    join_category_path,
    keep_stated_fields,
    list_of,
    make_entities,
    object_of,
    parse_moment,
    text_of,
    words_of,
)

SCHEMA = 1
FACTS = ("world", "experience", "opinion")


def read_hindsight(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Documents are episodes; facts and observations are memories; causes are links."""
    files = {file.path.removeprefix("./"): file for file in source.files}
    manifest = next((file for path, file in files.items() if path.rsplit("/", 1)[-1] == "manifest.json"), None)
    if manifest is None:
        raise Unreadable("manifest.json is missing: import the archive, or the folder")
    whole = manifest.read_json()
    if not isinstance(whole, dict) or whole.get("schema_version") != SCHEMA:
        said = whole.get("schema_version") if isinstance(whole, dict) else None
        raise Unreadable(f"schema_version: must be {SCHEMA}, not {said!r}", manifest.describe_place())
    for path, file in files.items():
        if "documents/" in path and path.endswith(".json"):
            yield from make_records(iter([(file.describe_place(), file.read_json())]), notes, _Document(notes).make_document)
    for path, file in files.items():
        if path.rsplit("/", 1)[-1] == "observations.json":
            yield from make_records(_number_documents(file), notes, _read_observation)


def _number_documents(file: File) -> Iterator[tuple[str, Any]]:
    return ((file.describe_place(f"[{number}]"), item) for number, item in enumerate(file.iterate_items("item")))


class _Document:
    """A document and its facts."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes

    def make_document(self, place: str, item: Json) -> Iterator[Record]:
        document = identity_of(item.get("id"), "id")
        made, tags = parse_moment(item.get("created_at"), "created_at"), words_of(item.get("tags"))
        text = item.get("original_text")
        if isinstance(text, str) and text.strip():
            where = join_category_path("hindsight/document")
            yield Memory(place, document, text, category=where, tags=tags, layer=3, valid_from=made, made=made, source=document)
        facts = list_of(item.get("facts"), "facts")
        for number, fact in enumerate(facts):
            here = f"{place}.facts[{number}]"
            try:
                yield from self._make_fact(here, object_of(fact), document, number, len(facts))
            except WrongValue as error:
                self._notes.note_error(here, str(error))

    def _make_fact(self, place: str, fact: Json, document: str, number: int, facts: int) -> Iterator[Record]:
        kind = fact.get("fact_type")
        if kind not in FACTS:
            raise WrongValue(f"fact_type: must be one of {', '.join(FACTS)}, not {kind!r}")
        causes = [object_of(cause, "causal_relations") for cause in list_of(fact.get("causal_relations"), "causal_relations")]
        for cause in causes:
            if not isinstance(cause.get("target_fact_index"), int) or not 0 <= cause["target_fact_index"] < facts:
                raise WrongValue(f"causal_relations: {cause.get('target_fact_index')!r} is no fact of the document")
        key = f"{document}#{number}"
        more = object_of(fact.get("metadata") or {}, "metadata")
        self._notes.count_loss("scopes of observations", int(fact.get("observation_scopes") is not None))
        made = parse_moment(fact.get("created_at") or fact.get("mentioned_at"), "created_at")
        yield Memory(
            place,
            key,
            text_of(fact.get("text"), "text"),
            lineage=key,
            category=join_category_path("hindsight", kind),
            tags=words_of(fact.get("tags")),
            valid_from=parse_moment(fact.get("occurred_start"), "occurred_start"),
            valid_to=parse_moment(fact.get("occurred_end"), "occurred_end"),
            made=made,
            source=document,
            metadata={**more, **keep_stated_fields(context=fact.get("context"), mentioned_at=fact.get("mentioned_at"))},
            entities=make_entities(list_of(fact.get("entities"), "entities")),
        )
        for cause in causes:
            yield Link(place, key, f"{document}#{cause['target_fact_index']}", str(cause.get("relation_type") or "caused_by")[:128])


def _read_observation(place: str, item: Json) -> Iterator[Record]:
    sources = [object_of(source, "sources") for source in list_of(item.get("sources"), "sources")]
    ends = [f"{source.get('document_id')}#{source.get('fact_index')}" for source in sources]
    key = "observation/" + json.dumps(sorted(ends))
    yield Memory(
        place,
        key,
        text_of(item.get("text"), "text"),
        lineage=key,
        category=join_category_path("hindsight/observation"),
        tags=words_of(item.get("tags")),
        layer=1,
        valid_from=parse_moment(item.get("occurred_start"), "occurred_start"),
        valid_to=parse_moment(item.get("occurred_end"), "occurred_end"),
        made=parse_moment(item.get("mentioned_at"), "mentioned_at"),
        source="hindsight",
        metadata=keep_stated_fields(proof_count=item.get("proof_count")),
    )
    for end in ends:
        yield Link(place, key, end, "derives_from")
