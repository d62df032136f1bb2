"""Parameters that many routes have: pages of lists, times, the caller's own space."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Header, Path, Query
from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError
from starlette.convertors import PathConvertor, register_url_convertor

from db.errors import FieldError, Invalid
from loci.models.fields import Label, Metadata, Moment, Text
from loci.models.sessions import Space as OwnSpace

Limit = Annotated[int, Query(ge=1, le=1000, description="Items of a page")]
Cursor = Annotated[Text | None, Query(max_length=1000, description="`next_cursor` of the page before")]
AsOf = Annotated[Moment | None, Query(description="Valid at this moment; default now")]
KnownAt = Annotated[Moment | None, Query(description="As believed at this moment; default now")]
MemoryId = Annotated[UUID, Path(description="Id of the memory")]
EntityRef = Annotated[Text, Path(description="The entity: id, name or alias")]
OWN_PATHS = {"match", "search", "touch", "merge-duplicates"}  # of /entities; what is called so has an id
OWN_ENDS = ("/aspects", "/history", "/merge", "/pin", "/split", "/unpin")


def _no_path_of_its_own(ref: str) -> str:
    if ref in OWN_PATHS or ref.endswith(OWN_ENDS):
        raise ValueError("is a path of its own: name the entity by its id")
    return ref


ChangedEntity = Annotated[EntityRef, AfterValidator(_no_path_of_its_own)]
SessionName = Annotated[Label, Path(description="Name of the conversation")]
NamespaceInPath = Annotated[Text, Path(description="Name of the namespace")]


class WholePath(PathConvertor):
    """The rest of a path, whatever it holds: the framework's own stops at the end of a line."""

    regex = "(?s:.*)"


register_url_convertor("path", WholePath())


def _decode_header(header: object) -> object:
    """A header as the text that was sent in UTF-8; the framework takes its bytes for Latin-1."""
    return header.encode("latin-1").decode() if isinstance(header, str) else header


Space = Annotated[
    Annotated[OwnSpace, Field(json_schema_extra={"pattern": "^[^/]+/[^/]+$"})] | None,  # a header holds no NUL
    BeforeValidator(_decode_header),
    Header(
        alias="X-Space",
        description="Your own space of working memory, two segments such as session/abc: a plain key stands under it, and nothing "
        "outside it is written. It lies under the `space` of the API key. Default: that, else agent/<your id>",
    ),
]

_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)


def json_object(field: str, text: str | None) -> dict[str, Any] | None:
    """A JSON object in a query parameter. Raises Invalid for another value, and for one that could not be stored."""
    try:
        return None if text is None else _OBJECT.validate_json(text)
    except ValidationError as error:
        message = f"must be a JSON object: {str(error.errors()[0]['msg']).removeprefix('Value error, ')}"
        raise Invalid(f"{field} {message}", [FieldError(field, message)]) from None
