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
from service.transfer.foreign.records import UNKNOWN_SHAPE, Edge, Entity, Json, Memory, Notes, Record, Turn
from service.transfer.foreign.values import WrongValue, entity_type, label, stated, subject

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

    def __init__(self, system: str, account: str, notes: Notes, *, created_is_valid: bool = False) -> None:
        self.system, self.account, self._notes, self._created_is_valid = system, account, notes, created_is_valid

    def make(self, record: Record) -> Row | None:
        """The row of a record; None and a note where it cannot be one."""
        try:
            if isinstance(record, Memory):
                return Row(record.place, record.key, self._memory(record))
            if isinstance(record, Turn):
                return Row(record.place, record.key, self._turn(record))
            if isinstance(record, Entity):
                return Row(record.place, "", self._entity(record))
            if isinstance(record, Edge):
                item = {"source": record.source, "type": record.type, "target": record.target}
                return Row(record.place, "", self._checked(EdgeWrite, item))
        except ValidationError as error:
            self._notes.error(record.place, said_of(error))
        except WrongValue as error:
            self._notes.error(record.place, str(error))
        except UNKNOWN_SHAPE as error:
            self._notes.error(record.place, f"has a shape that is not known ({type(error).__name__}: {error})"[:300])
        return None

    def id_of(self, *parts: str) -> UUID:
        """The id of something by its identity there."""
        return uuid5(IDS, "\x1f".join((self.system, self.account, *parts)).encode("utf-8", "replace").decode())

    def lineage(self, name: str) -> str:
        """The name of a lineage, apart from those of other accounts."""
        return label(f"{self.system}/{self.account}/{name}" if self.account else f"{self.system}/{name}")

    def _memory(self, record: Memory) -> Json:
        start, end = self._validity(record)
        item: Json = {"content": record.content}
        own = self.system == "loci"
        if record.lineage is not None:
            item["lineage"] = record.lineage if own else self.lineage(record.lineage)
        optional = {
            "category": record.category,
            "layer": record.layer,
            "importance": record.importance,
            "confidence": record.confidence,
            "valid_from": start,
            "valid_to": end,
        }
        item.update({name: value for name, value in optional.items() if value is not None})
        for name, words in (("source", self._speaker(record)), ("about", subject(record.about)), ("session_id", record.session)):
            if words is not None and words.strip():
                item[name] = label(words)
        if record.tags:
            self._notes.lose("tags beyond the first 100 of a memory", max(0, len(record.tags) - MOST_TAGS))
            item["tags"] = record.tags[:MOST_TAGS]
        if record.entities:
            item["entities"] = record.entities[:MOST_STATED]
        if record.edges:
            item["edges"] = record.edges[:MOST_STATED]
        self._notes.lose("entities beyond the first 1,000 of a memory", max(0, len(record.entities) - MOST_STATED))
        self._notes.lose("edges beyond the first 1,000 of a memory", max(0, len(record.edges) - MOST_STATED))
        item["metadata"] = record.metadata if own else {**self._origin(record.key, record.made, record.changed), **record.metadata}
        checked = self._checked(MemoryInput, item)
        if (written := record.changed or record.made) is not None and not own:
            checked["written_at"] = written.isoformat()
            checked |= {"start_is_derived": True} if record.valid_from is None and not self._created_is_valid else {}
        checked["id"] = record.id or str(self.id_of("memory", record.key, _said(record, checked)))
        return checked

    def _speaker(self, record: Memory) -> str | None:
        """The speaker. A system that keeps what its user says, or "the user" of which it speaks, is not the one who says I."""
        own = record.source == self.system and record.about is None and isinstance(record.content, str)
        return "user" if own and is_first_person(record.content) else record.source

    def _validity(self, record: Memory) -> tuple[datetime | None, datetime | None]:
        """From when and until when it is true, as the file says. An ended memory began when it was written, at the latest."""
        start, end = record.valid_from, record.valid_to
        if start is None and self._created_is_valid:
            start = record.made
        if start is None and end is not None:
            start = min(record.made or end, end)
        if start is not None and end is not None and end < start:
            raise WrongValue(f"it ends ({end.isoformat()}) before it begins ({start.isoformat()})")
        return start, end

    def _turn(self, record: Turn) -> Json:
        metadata = {**self._origin(record.key, None, None), **record.metadata}
        item = {"role": record.role, "content": record.content, "metadata": metadata}
        if record.said is not None:
            item["said_at"] = record.said
        checked = self._checked(TurnInput, item)
        checked["session_id"] = label(record.session)
        return checked

    def _entity(self, record: Entity) -> Json:
        metadata = stated(source_system=self.system, **record.metadata)
        item = stated(name=record.name, aliases=record.aliases[:100], description=record.description, metadata=metadata)
        if (kind := entity_type(record.type)) is not None:
            item["type"] = kind
        return self._checked(EntityWrite, item)

    def _origin(self, key: str, made: datetime | None, changed: datetime | None) -> Json:
        return stated(
            source_system=self.system, source_account=self.account, source_id=key, source_created_at=made, source_updated_at=changed
        )

    def _checked(self, model: type[Model], item: Json) -> Json:
        return model.model_validate(item).stated()


def _said(record: Memory, checked: Json) -> str:
    """The key of a version of a memory: words, validity, and the time of the change there."""
    parts = (checked["content"], checked.get("valid_from"), checked.get("valid_to"), record.changed and record.changed.isoformat())
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


__all__ = ["Row", "Rows"]
