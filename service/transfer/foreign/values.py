"""Values as other systems write them: times in five ways, names of any length, texts with what no database takes."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from loci.models.types import canonical_type
from service.transfer.foreign.records import Json

LONGEST_LABEL_CHARACTERS = 255
LONGEST_IDENTITY = 1000
SECONDS_END = 2e10  # a number above this is no count of seconds
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
NO_TYPE = re.compile(r"[^a-z0-9]+")
TIME = "a time such as 2026-01-12T08:00:00Z"


class WrongValue(ValueError):
    """A value that is not what its field should hold."""


def parse_moment(value: Any, what: str) -> datetime | None:
    """A time in UTC: ISO 8601 with or without offset (then UTC), a date, seconds or milliseconds. None is none."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise WrongValue(f"{what}: must be {TIME}, not {value!r}")
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value / 1000 if abs(value) > SECONDS_END else value, UTC)
        if isinstance(value, datetime):
            return _in_utc(value)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        return _in_utc(datetime.fromisoformat(str(value).strip()))
    except (ValueError, OverflowError, OSError):
        raise WrongValue(f"{what}: must be {TIME}, not {str(value)[:60]!r}") from None


def end_of(value: Any, what: str) -> datetime | None:
    """A time as an end: a date alone means the end of that day."""
    found = parse_moment(value, what)
    whole_day = (isinstance(value, date) and not isinstance(value, datetime)) or (
        isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value.strip())
    )
    return found + timedelta(days=1) if found is not None and whole_day else found


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def text_of(value: Any, what: str) -> str:
    """A text that says something."""
    if not isinstance(value, str):
        raise WrongValue(f"{what}: must be text, not {kind_of(value)}")
    if not value.strip():
        raise WrongValue(f"{what}: is empty")
    return value


def object_of(value: Any, what: str = "the item") -> Json:
    """A JSON object."""
    if not isinstance(value, dict):
        raise WrongValue(f"{what}: must be an object, not {kind_of(value)}")
    return value


def list_of(value: Any, what: str) -> list[Any]:
    """A list; none is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise WrongValue(f"{what}: must be a list, not {kind_of(value)}")
    return value


def kind_of(value: Any) -> str:
    """JSON's name for a value."""
    names = {type(None): "null", bool: "a boolean", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def words_of(value: Any) -> list[str]:
    """Labels: a list of texts, or one text with commas; what is no text is left out."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return list(
        dict.fromkeys(shorten_label(str(item).strip()) for item in items if isinstance(item, (str, int)) and str(item).strip())
    )


def shorten_label(value: str) -> str:
    """A text of at most 255 characters; a longer one is cut and ends in its hash, so that two stay apart."""
    return _shorten_with_hash(value.strip(), LONGEST_LABEL_CHARACTERS)


def shorten_identity(value: str) -> str:
    """Its identity there. It stands beside many things, so it is kept short; a longer one ends in its hash."""
    return _shorten_with_hash(value, LONGEST_IDENTITY)


def identity_of(value: Any, what: str) -> str:
    """A text that something is known by. Raises WrongValue where there is none."""
    return shorten_identity(text_of(value, what))


def shorten_repeated_text(value: Any) -> Any:
    """A value that many things share: a short text; anything else as it is, unless it is a list."""
    return shorten_label(value) if isinstance(value, str) else None if isinstance(value, (list, dict)) else value


def _shorten_with_hash(value: str, longest: int) -> str:
    if len(value) <= longest:
        return value
    return value[: longest - 17] + "~" + hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16]


def make_entities(names: Any) -> list[Json]:
    """Entities that a memory mentions, by their names."""
    found = dict.fromkeys(name.strip()[:LONGEST_LABEL_CHARACTERS] for name in names if isinstance(name, str) and name.strip())
    return [{"name": name} for name in found]


def choose_subject(name: str | None) -> str | None:
    """A name as the subject of a memory; none for one that has the form of an id, which would be looked up."""
    try:
        return None if name is None or str(UUID(name)) == name.lower() else name
    except ValueError:
        return name


def join_category_path(*parts: Any) -> str | None:
    """A slash path of what is there."""
    steps = [step.strip() for part in parts if isinstance(part, str) for step in part.split("/") if step.strip(" .")]
    return shorten_label("/".join(steps)).rstrip("/") or None


def entity_type(value: Any) -> str | None:
    """A type of entity in its one form: small letters, digits and `_`."""
    if not isinstance(value, str):
        return None
    plain = unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode()
    return NO_TYPE.sub("_", canonical_type(plain)).strip("_")[:64].strip("_") or None


def edge_type(value: Any) -> str:
    """A type of edge as it may be stored."""
    return text_of(value, "the relation").strip()[:128]


def keep_stated_fields(**fields: Any) -> Json:
    """Metadata of what is there: without null and what is empty. Times as text."""
    return {
        name: value.isoformat() if isinstance(value, (datetime, date)) else value
        for name, value in fields.items()
        if value is not None and not (isinstance(value, (str, list, dict)) and not value)
    }


def rest_of(item: Json, known: Iterable[str]) -> Json:
    """Fields of an item beside those that have a place of their own."""
    taken = set(known)
    return keep_stated_fields(**{str(name): value for name, value in item.items() if name not in taken})


def replace_unstorable(value: Any) -> tuple[Any, int]:
    """A value without NUL and halves of surrogates, each replaced by U+FFFD, and how many there were."""
    if isinstance(value, str):
        return UNSTORABLE.subn("\ufffd", value) if UNSTORABLE.search(value) else (value, 0)
    if isinstance(value, dict):
        pairs = [(replace_unstorable(str(name)), replace_unstorable(item)) for name, item in value.items()]
        return {name[0]: item[0] for name, item in pairs}, sum(name[1] + item[1] for name, item in pairs)
    if isinstance(value, list):
        items = [replace_unstorable(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, (datetime, date)):
        return value.isoformat(), 0
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124 (NaN)
        return str(value), 0
    return value, 0
