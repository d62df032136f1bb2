"""Requests of methods and the types of their replies, with no input or output: one definition for both clients."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast
from urllib.parse import quote
from uuid import UUID

from loci.errors import Reply

if TYPE_CHECKING:
    import httpx
    from pydantic import TypeAdapter

T = TypeVar("T")
API = "/api/v1"
Id = UUID | str
Moment = datetime | str
Json = Mapping[str, Any]


class Omitted(Enum):
    """Mark of a field that is left out of a request, where null would say something."""

    OMITTED = "omitted"


OMITTED: Final = Omitted.OMITTED


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list; `next_cursor` is None on the last one."""

    items: list[T]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Request(Generic[T]):
    """A request, and how its reply is read.

    `route` is the path as documented, `parts` what stands for its braces. `repeatable`: it may be sent again after a failure
    that leaves open whether it was done. `gone`: a second time, "not found" means that the first has done it. `told`: a
    status that says no, and is a reply nonetheless.
    """

    method: str
    route: str
    read: Callable[[Reply], T]
    parts: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | Path | Iterable[bytes] | None = None
    media: str = "application/json"
    repeatable: bool = True
    gone: bool = False
    told: int | None = None

    @property
    def path(self) -> str:
        """The path, its parts escaped."""
        return self.route.format_map({name: _segment(str(part)) for name, part in self.parts.items()})

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of the query: lists as repeated ones, nothing for None."""
        return [(name, _word(item)) for name, value in self.query.items() for item in _each(value)]

    @property
    def params(self) -> "httpx.QueryParams":
        """The query, for httpx."""
        import httpx

        return httpx.QueryParams(tuple(self.pairs))

    @property
    def readable(self) -> bool:
        """Whether its content can be sent a second time."""
        return self.content is None or isinstance(self.content, (bytes, Path))

    @property
    def writes(self) -> bool:
        """Whether it carries an Idempotency-Key."""
        return self.method != "GET"


def get(shape: type[T], route: str, parts: Json | None = None, /, **query: Any) -> Request[T]:
    """Read something."""
    return Request(method="GET", route=API + route, read=reading(shape), parts=parts or {}, query=query)


def page(shape: type[T], route: str, parts: Json | None = None, /, **query: Any) -> Request[Page[T]]:
    """Read a page of a list."""
    return Request(method="GET", route=API + route, read=reading_page(shape), parts=parts or {}, query=query)


def delete(shape: type[T], route: str, parts: Json, /, **query: Any) -> Request[T]:
    """Take something away."""
    return Request(method="DELETE", route=API + route, read=reading(shape), parts=parts, query=query)


def post(shape: type[T], route: str, parts: Json | None = None, /, **body: Any) -> Request[T]:
    """Send a body; a field that is None is left out."""
    return _sent("POST", shape, route, parts, {name: value for name, value in body.items() if value is not None})


def change(method: str, shape: type[T], route: str, parts: Json, /, **body: Any) -> Request[T]:
    """Send what changes; None says null, OMITTED says nothing."""
    return _sent(method, shape, route, parts, body)


def _sent(method: str, shape: type[T], route: str, parts: Json | None, body: Json) -> Request[T]:
    stated = {name: value for name, value in body.items() if value is not OMITTED}
    return Request(method=method, route=API + route, read=reading(shape), parts=parts or {}, content=json_of(stated))


def json_of(value: object) -> bytes:
    """JSON as the service reads it: models without what they do not state, times in RFC 3339."""
    from pydantic_core import to_json

    return to_json(_plain(value))


def reading(shape: type[T]) -> Callable[[Reply], T]:
    """How a reply of this shape is read."""
    return lambda response: _adapter(shape).validate_json(response.content)


def reading_page(shape: type[T]) -> Callable[[Reply], Page[T]]:
    """How a page of a list is read."""
    from pydantic_core import from_json

    def read(response: Reply) -> Page[T]:
        body = from_json(response.content)
        items = [_adapter(shape).validate_python(item) for item in body["items"]]
        return Page(items=items, next_cursor=body["next_cursor"])

    return read


def nothing(_: Reply) -> None:
    """Read a reply without a body."""


def _adapter(shape: type[T]) -> "TypeAdapter[T]":
    return cast("TypeAdapter[T]", _made(cast("Hashable", shape)))


@lru_cache(maxsize=256)
def _made(shape: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(shape)


def _segment(text: str) -> str:
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def _plain(value: Any) -> Any:
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    return value


def _each(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [value]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json_of(value).decode()
    return value.isoformat() if isinstance(value, datetime) else str(value)
