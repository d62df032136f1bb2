"""Types of fields that models share: texts that can be stored, figures within their bounds, moments with a zone; and meanings."""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, TypeVar, cast
from unicodedata import category, combining, normalize
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict

from loci.models.types import canonical_type

MIB = 1024 * 1024
MAX_BATCH = 10_000
MAX_DEPTH = 64
NUMBER = re.compile(r"\s*+[-+]?(?=\.?\d)[\d_]*+\.?\d*+\s*+")
MOST_FIELDS = 250  # of an object that are looked at one by one
MOST_MARKS = 30  # in a row upon one letter, as stream-safe text has (UAX 15): composing takes the square of their number
PIECE = 4096  # characters that are composed by one call
SIGNS = re.compile(r"[^\w\s\x00-\x7f]++")  # among which marks are
FIRST_JAMO, LAST_JAMO = "\u1160", "\u11ff"  # letters that are composed with those before them
LARGEST, SMALLEST = 65504.0, 1e-30  # what a half and a single precision vector hold


def _with_offset(moment: datetime) -> datetime:
    """A moment that keeps its offset; without one it is UTC."""
    _in_utc(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _known_zone(name: str) -> str:
    """The name of a time zone that there is."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ValueError("must be the name of a time zone, such as Europe/Berlin") from None
    return name


def _in_utc(moment: datetime) -> datetime:
    try:  # offsets go up to 24 hours in RFC 3339, to 16 in the database
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 of UTC") from None


def _not_seconds(expected: str) -> BeforeValidator:
    """A number would be taken for seconds since 1970, and a year for one of them."""

    def check(moment: object) -> object:
        if isinstance(moment, (int, float)) or (isinstance(moment, str) and NUMBER.fullmatch(moment)):
            raise ValueError(f"must be a {expected}, not a number")
        return moment

    return BeforeValidator(check)


def _no_flag(number: object) -> object:
    if isinstance(number, bool):
        raise ValueError("must be a number, not true or false")
    return number


def _no_digits(number: object) -> object:
    if isinstance(number, str):
        raise ValueError("must be an integer, not a text")
    return number


def _storable_vector(vector: list[float]) -> list[float]:
    return [0.0 if abs(number) < SMALLEST else number for number in vector]


def check_marks(text: str) -> None:
    """Raise ValueError for more marks upon one letter than texts have."""
    for signs in SIGNS.finditer(text):
        row = 0
        for sign in signs[0] if len(signs[0]) > MOST_MARKS else ():
            row = row + 1 if combining(sign) else 0
            if row > MOST_MARKS:
                raise ValueError(f"must have at most {MOST_MARKS} combining marks in a row")


def compose_text(text: str) -> str:
    """The text in composed form (NFC), by which texts are compared: a name is one, whichever keyboard or disk it comes from.

    It is made of pieces, each of which begins with what is composed with nothing before it: no call takes long.
    """
    pieces, begin = list[str](), 0
    while begin < len(text):
        end = begin + PIECE
        while end < len(text) and (category(text[end]).startswith("M") or FIRST_JAMO <= text[end] <= LAST_JAMO):
            end += 1
        pieces.append(normalize("NFC", text[begin:end]))
        begin = end
    return "".join(pieces)


def _check_storable(text: str) -> None:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode: it holds a lone surrogate") from None
    if size > MIB:
        raise ValueError(f"must be at most 1 MiB (1,048,576 bytes) of UTF-8; it has {size:,}")


def _storable(text: str) -> str:
    """The text as it is kept."""
    _check_storable(text)
    if text.isascii():
        return text
    check_marks(text)
    return compose_text(text)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty or blank")
    return text


def not_null(value: object) -> object:
    """What a change states, of a field that always has a value."""
    if value is None:
        raise ValueError("must not be null; leave it out to keep its value")
    return value


def _mebibyte(text: str) -> str:
    if len(text) > MIB or len(text.encode()) > MIB:
        raise ValueError(f"must be at most 1 MiB (1,048,576 bytes) of UTF-8; it has {len(text.encode()):,}")
    return text


def _storable_json(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"must not be nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        _check_storable(value)
    elif isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124 (NaN)
        raise ValueError("must not contain NaN or infinities")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_storable(key)
            _storable_json(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _storable_json(item, depth + 1)
    return value


def _mebibyte_of_json(value: dict[str, Any]) -> dict[str, Any]:
    if value and (size := len(json.dumps(value, ensure_ascii=False).encode())) > MIB:
        raise ValueError(f"must be at most 1 MiB (1,048,576 bytes) of JSON; it has {size:,}")
    return value


# What the document says of them: JSON Schema has patterns, where the code has sentences.
NO_NUL: JsonDict = {"pattern": r"^[^\u0000]*$"}
SOMETHING: JsonDict = {"pattern": r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$", "minLength": 1}

Text = Annotated[str, AfterValidator(_storable), Field(json_schema_extra=NO_NUL)]
Content = Annotated[
    str,
    AfterValidator(_storable),
    AfterValidator(_not_blank),
    AfterValidator(_mebibyte),
    Field(json_schema_extra=SOMETHING),
]
Label = Annotated[
    str, Field(min_length=1, max_length=255, json_schema_extra=SOMETHING), AfterValidator(_storable), AfterValidator(_not_blank)
]
User = Annotated[
    Label | None,
    Field(
        description="Who speaks or asks where nobody else is named: whom I and my mean. Default: the user that the key is bound "
        "to, else nobody in particular"
    ),
]
LONGEST_TYPE = 255  # characters that are brought into another form; what is longer is no type
CATEGORY = re.compile(r"(?=.{1,255}$)[^/\x00]*[^/\s\x00][^/\x00]*(/[^/\x00]*[^/\s\x00][^/\x00]*)*")
Category = Annotated[
    str,
    Field(
        min_length=1,
        max_length=255,
        pattern=r"^[^/]*[^/\s][^/]*(/[^/]*[^/\s][^/]*)*$",
        json_schema_extra={"pattern": r"^[^/\u0000]*[^/\s\u0000][^/\u0000]*(/[^/\u0000]*[^/\s\u0000][^/\u0000]*)*$"},
    ),
    AfterValidator(_storable),
]
Flag = Annotated[bool, Strict()]  # true or false, not 1 or "yes"
# Of an integer in a body, behind its bounds: 5 or 5.0, not "5" or true.
UNQUOTED = BeforeValidator(lambda number: _no_digits(_no_flag(number)))
LARGEST_COUNT = 100


def _count(value: object) -> object:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole == "auto" or (isinstance(whole, int) and not isinstance(whole, bool) and 1 <= whole <= LARGEST_COUNT):
        return whole
    raise ValueError(f"must be a whole number from 1 to {LARGEST_COUNT}, or auto")


# How many results; auto: as many as may answer.
Count = Annotated[
    int | Literal["auto"],
    BeforeValidator(_count),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": LARGEST_COUNT}, {"type": "string", "enum": ["auto"]}]}),
]
Room = Annotated[int, Field(ge=0, le=2**31 - 1), UNQUOTED]  # characters
Unit = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Rate = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_storable_json), AfterValidator(_mebibyte_of_json)]
Json = Annotated[JsonValue, AfterValidator(_storable_json)]
Vector = Annotated[
    list[Annotated[float, Strict(), Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]],
    Field(min_length=1, max_length=4000),
    AfterValidator(_storable_vector),
]
Layer = Annotated[int, Field(ge=0, le=3, description="0 domain, 1 concept, 2 fact, 3 episode"), BeforeValidator(_no_flag)]
EntityType = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$",
        description="Such as person, project, tool; kept in small letters, with _ between words",
        json_schema_extra={"pattern": r"^[A-Za-z0-9][A-Za-z0-9 _-]{0,63}$"},
    ),
    BeforeValidator(lambda kind: canonical_type(kind) if isinstance(kind, str) and len(kind) <= LONGEST_TYPE else kind),
]
EdgeType = Annotated[
    str, Field(min_length=1, max_length=128, json_schema_extra=SOMETHING), AfterValidator(_storable), AfterValidator(_not_blank)
]
Literal1000 = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=NO_NUL), AfterValidator(_storable)]
Moment = Annotated[datetime, _not_seconds("datetime such as 2026-01-31T12:00:00Z"), AfterValidator(_in_utc)]
LocalMoment = Annotated[datetime, _not_seconds("datetime such as 2026-01-31T12:00:00+01:00"), AfterValidator(_with_offset)]
TimeZone = Annotated[str, Field(max_length=100, json_schema_extra=NO_NUL), AfterValidator(_known_zone)]
Day = Annotated[date, _not_seconds("date such as 2026-01-31")]
ServerKind = Annotated[
    Literal["primary", "standby"], Field(description="The kind of server that answered, as the header X-Loci-Server has it")
]
Tags = Annotated[list[Label], Field(max_length=100)]
Aliases = Annotated[list[Label], Field(max_length=100)]
Description = Annotated[str, Field(max_length=10_000, json_schema_extra=NO_NUL), AfterValidator(_storable)]
NamespaceName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]


# Meanings that many replies share. A model that means something else by the word says so itself.
T = TypeVar("T")
Id = Annotated[UUID, Field(description="Its id (UUID)")]
Items = Annotated[list[T], Field(description="The items, in order")]
NextCursor = Annotated[str | None, Field(description="Give it as `cursor` for the next page; null: this is the last")]
Confidence = Annotated[float, Field(description="How sure it is, 0 to 1")]
Importance = Annotated[float, Field(description="How much it matters, 0 to 1")]
Strength = Annotated[float, Field(description="How strong the relation is, 0 to 1")]
ValidFrom = Annotated[datetime, Field(description="From when it is true")]
ValidTo = Annotated[datetime | None, Field(description="Until when it is true (exclusive); null: still")]
RecordedAt = Annotated[datetime, Field(description="When it was written")]
CreatedAt = Annotated[datetime, Field(description="When it was made")]
UpdatedAt = Annotated[datetime, Field(description="When it last changed")]


def without_null(*but: str) -> Callable[[JsonDict], None]:
    """What `json_schema_extra` of a model is whose fields may be left out but not be null, `but` these."""

    def change(schema: JsonDict) -> None:
        for name, field in cast("dict[str, JsonDict]", schema["properties"]).items():
            options = cast("list[JsonDict]", field.get("anyOf", []))
            if name not in but and {"type": "null"} in options:
                field.pop("default", None)
                left = [option for option in options if option != {"type": "null"}]
                field.pop("anyOf")
                field.update(left[0] if len(left) == 1 else {"anyOf": cast("list[JsonValue]", left)})

    return change


def one_of_these(*names: str) -> JsonDict:
    """At least one of these fields is needed."""
    return {"anyOf": [{"required": [name], "properties": {name: {"type": ["string", "array"]}}} for name in names]}


def also(change: Callable[[JsonDict], None], **keywords: Any) -> Callable[[JsonDict], None]:
    """The same, and more keywords of JSON Schema."""

    def more(schema: JsonDict) -> None:
        change(schema)
        schema.update(keywords)

    return more


def as_items(body: object) -> object:
    """A batch: a bare array is its items."""
    return {"items": body} if isinstance(body, list) else body


class Model(BaseModel):
    """A request body: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, stated: object) -> object:
        """Refuse an object of many fields at once, and not one field after the other."""
        if isinstance(stated, dict) and len(stated) > MOST_FIELDS:
            raise ValueError(f"has {len(stated):,} fields, and {len(cls.model_fields)} are known")
        return stated

    def stated(self) -> dict[str, Any]:
        """What the request states, JSON-ready, without absent fields."""
        return self.model_dump(mode="json", exclude_unset=True)
