"""From neutral records to rows: ids that follow from identities, times in their place, texts that can be stored."""

import hashlib
from datetime import datetime
from typing import NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from loci.models.fields import Model
from loci.models.graph import EdgeWrite, EntityWrite
from loci.models.memories import MemoryInput
from loci.models.sessions import TurnInput
from service.http.problems import said_of
from service.text.subject import is_first_person
from service.transfer.foreign.records import UNKNOWN_SHAPE, Edge, Entity, ImportNotes, Json, Memory, Record, Turn
from service.transfer.foreign.values import WrongValue, choose_subject, entity_type, keep_stated_fields, shorten_label

IDS = uuid5(NAMESPACE_URL, "loci/import")
MOST_TAGS = 100
MOST_STATED = 1000  # entities or edges of a memory


class Row(NamedTuple):
    """A row to be written, where it came from, and its identity there."""

    place: str
    key: str
    item: Json


class Rows:
    """Makes rows of records of one system and account."""

    def __init__(self, system: str, account: str, notes: ImportNotes, *, created_is_valid: bool = False) -> None:
        self.system, self.account, self._notes, self._created_is_valid = system, account, notes, created_is_valid

    def make_row(self, record: Record) -> Row | None:
        """The row of a record; None and a note where it cannot be one."""
        try:
            if isinstance(record, Memory):
                return Row(record.place, record.key, self._memory_row(record))
            if isinstance(record, Turn):
                return Row(record.place, record.key, self._turn_row(record))
            if isinstance(record, Entity):
                return Row(record.place, "", self._entity_row(record))
            if isinstance(record, Edge):
                item = {"source": record.source, "type": record.type, "target": record.target}
                return Row(record.place, "", self._check_row(EdgeWrite, item))
        except ValidationError as error:
            self._notes.note_error(record.place, said_of(error))
        except WrongValue as error:
            self._notes.note_error(record.place, str(error))
        except UNKNOWN_SHAPE as error:
            self._notes.note_error(record.place, f"has a shape that is not known ({type(error).__name__}: {error})"[:300])
        return None

    def id_of(self, *parts: str) -> UUID:
        """The id of something by its identity there."""
        return uuid5(IDS, "\x1f".join((self.system, self.account, *parts)).encode("utf-8", "replace").decode())

    def scoped_lineage(self, name: str) -> str:
        """The name of a lineage, apart from those of other accounts."""
        return shorten_label(f"{self.system}/{self.account}/{name}" if self.account else f"{self.system}/{name}")

    def _memory_row(self, record: Memory) -> Json:
        start, end = self._find_validity(record)
        item: Json = {"content": record.content}
        own = self.system == "loci"
        if record.lineage is not None:
            item["lineage"] = record.lineage if own else self.scoped_lineage(record.lineage)
        optional = {
            "category": record.category,
            "layer": record.layer,
            "importance": record.importance,
            "confidence": record.confidence,
            "valid_from": start,
            "valid_to": end,
        }
        item.update({name: value for name, value in optional.items() if value is not None})
        for name, words in (
            ("source", self._find_speaker(record)),
            ("about", choose_subject(record.about)),
            ("session_id", record.session),
        ):
            if words is not None and words.strip():
                item[name] = shorten_label(words)
        if record.tags:
            self._notes.count_loss("tags beyond the first 100 of a memory", max(0, len(record.tags) - MOST_TAGS))
            item["tags"] = record.tags[:MOST_TAGS]
        if record.entities:
            item["entities"] = record.entities[:MOST_STATED]
        if record.edges:
            item["edges"] = record.edges[:MOST_STATED]
        self._notes.count_loss("entities beyond the first 1,000 of a memory", max(0, len(record.entities) - MOST_STATED))
        self._notes.count_loss("edges beyond the first 1,000 of a memory", max(0, len(record.edges) - MOST_STATED))
        item["metadata"] = (
            record.metadata if own else {**self._make_origin(record.key, record.made, record.changed), **record.metadata}
        )
        checked = self._check_row(MemoryInput, item)
        if (written := record.changed or record.made) is not None and not own:
            checked["written_at"] = written.isoformat()
            checked |= {"start_is_derived": True} if record.valid_from is None and not self._created_is_valid else {}
        checked["id"] = record.id or str(self.id_of("memory", record.key, _version_identity(record, checked)))
        return checked

    def _find_speaker(self, record: Memory) -> str | None:
        """The speaker. A system that keeps what its user says, or "the user" of which it speaks, is not the one who says I."""
        own = record.source == self.system and record.about is None and isinstance(record.content, str)
        return "user" if own and is_first_person(record.content) else record.source

    def _find_validity(self, record: Memory) -> tuple[datetime | None, datetime | None]:
        """From when and until when it is true, as the file says. An ended memory began when it was written, at the latest."""
        start, end = record.valid_from, record.valid_to
        if start is None and self._created_is_valid:
            start = record.made
        if start is None and end is not None:
            start = min(record.made or end, end)
        if start is not None and end is not None and end < start:
            raise WrongValue(f"it ends ({end.isoformat()}) before it begins ({start.isoformat()})")
        return start, end

    def _turn_row(self, record: Turn) -> Json:
        metadata = {**self._make_origin(record.key, None, None), **record.metadata}
        item = {"role": record.role, "content": record.content, "metadata": metadata}
        if record.said is not None:
            item["said_at"] = record.said
        checked = self._check_row(TurnInput, item)
        checked["session_id"] = shorten_label(record.session)
        return checked

    def _entity_row(self, record: Entity) -> Json:
        metadata = keep_stated_fields(source_system=self.system, **record.metadata)
        item = keep_stated_fields(name=record.name, aliases=record.aliases[:100], description=record.description, metadata=metadata)
        if (kind := entity_type(record.type)) is not None:
            item["type"] = kind
        return self._check_row(EntityWrite, item)

    def _make_origin(self, key: str, made: datetime | None, changed: datetime | None) -> Json:
        return keep_stated_fields(
            source_system=self.system, source_account=self.account, source_id=key, source_created_at=made, source_updated_at=changed
        )

    def _check_row(self, model: type[Model], item: Json) -> Json:
        return model.model_validate(item).stated()


def _version_identity(record: Memory, checked: Json) -> str:
    """The key of a version of a memory: words, validity, and the time of the change there."""
    parts = (checked["content"], checked.get("valid_from"), checked.get("valid_to"), record.changed and record.changed.isoformat())
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


__all__ = ["Row", "Rows"]
