"""Errors as RFC 9457 problem details: one shape, a stable `type`, the fields named."""

import logging
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from db.errors import (
    FieldError,
    Invalid,
    LociError,
    MethodNotAllowed,
    Moved,
    NotFound,
    RateLimited,
    Unauthorized,
    Unavailable,
    Unsupported,
    translate_error,
)
from service.http.json_replies import dump_json
from service.http.paths import methods_of
from service.http.security_headers import add_protective_headers
from service.text.validation_messages import reword_validation

log = logging.getLogger(__name__)
TYPE = "urn:loci:problem:"
MEMBER = re.compile(r"[a-z-]+\[.*\]|constrained-[a-z]+|str|int|float|bool|none", re.DOTALL)  # of a union, as pydantic names it
MISSING = (pg.UndefinedFunction, pg.UndefinedTable, pg.UndefinedColumn, pg.UndefinedObject)  # a bug, or another version's schema
MOST_ERRORS = 1000  # of a validation that are looked at
MOST_FIELDS = 100  # of an item that are told one by one
OUGHT = "must be "


class ProblemField(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Path of the field, such as items[3].confidence")
    message: str = Field(description="What is wrong, and what was expected")


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str = Field(description="Stable identifier of the kind of problem", examples=["urn:loci:problem:not-found"])
    title: str = Field(description="The kind of problem in words")
    status: int = Field(ge=400, le=599, description="The HTTP status, again")
    detail: str = Field(description="What is wrong here, for people")
    errors: list[ProblemField] = Field([], description="The fields that are wrong; at most 100")
    hint: str | None = Field(None, description="What to do about it")
    request_id: str | None = Field(None, description="What the log knows the request by, as in X-Request-Id")


def problem_types(of: type[LociError] = LociError) -> list[type[LociError]]:
    """Every kind of problem that a reply may be, in order of status."""
    found = {kind.slug: kind for base in of.__subclasses__() for kind in problem_types(base)} | {of.slug: of}
    return sorted(found.values(), key=lambda kind: (kind.status, kind.slug))


def problem_of(error: LociError, request_id: str | None = None) -> dict[str, Any]:
    """The problem document of an error."""
    body: dict[str, Any] = {"type": TYPE + error.slug, "title": error.title, "status": error.status, "detail": error.detail}
    if error.errors:
        body["errors"] = [{"field": e.field, "message": e.message} for e in error.errors]
    if error.hint:
        body["hint"] = error.hint
    if request_id:
        body["request_id"] = request_id
    return body


def headers_of(error: LociError) -> dict[str, str]:
    """The headers that go with an error."""
    if isinstance(error, Moved):
        return {"Retry-After": "1", "X-Loci-Cell": error.cell}
    if isinstance(error, Unavailable):
        return {"Retry-After": "1"}
    if isinstance(error, RateLimited):
        return {"Retry-After": str(error.retry_after)}
    return {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthorized) else {}


def make_problem_response(error: LociError, request: Request) -> Response:
    """The response of an error."""
    headers = headers_of(error)
    body = dump_json(problem_of(error, getattr(request.state, "request_id", None)))
    return Response(body, error.status, headers, media_type="application/problem+json")


def path_of(location: Sequence[int | str]) -> str:
    """A pydantic location as a path: ("body", "items", 3, "confidence") is items[3].confidence."""
    path = ""
    for part in location[1:] if location and location[0] in {"body", "query", "path", "header"} else location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path or "body"


def field_errors(errors: Sequence[Any]) -> list[FieldError]:
    """Field errors of a pydantic validation, without echoing the input.

    A field that may be one of several things is wrong once. Where it is one of them and a part of it is wrong, the part is named.
    """
    found: dict[object, FieldError] = {}
    placed = [(error, *_without_members(error)) for error in errors[:MOST_ERRORS]]
    entered = {union for _, place, union in placed if union is not None and len(place) > len(union)}
    for nth, (error, place, union) in enumerate(placed):
        told = _field_error(error, place)
        if union is None or len(place) > len(union):
            found[nth] = told
        elif union not in entered:
            found[union] = _merge_union_errors(found[union], told) if union in found else told
    return list(found.values())


def refusal_of(error: ValidationError) -> Invalid:
    """Errors of a model.

    The number of errors stands in place of more fields than anybody reads: to tell them takes longer than that.
    """
    if error.error_count() > MOST_ERRORS:
        return Invalid(f"{error.error_count():,} fields are wrong")
    return make_invalid([{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False, include_input=False)])


def make_invalid(wrong: Sequence[Any]) -> Invalid:
    """Errors of a request: the first three fields in words, a hundred by name, and how many more there are."""
    errors = field_errors(wrong)
    count = len(errors) + max(0, len(wrong) - MOST_ERRORS)
    detail = "; ".join(f"{e.field}: {e.message}" for e in errors[:3])
    return Invalid(f"{detail}; {count:,} fields are wrong" if count > MOST_FIELDS else detail, errors[:MOST_FIELDS])


def said_of(error: ValidationError) -> str:
    """Errors of an item, in one line: the first three fields.

    The number of errors stands in place of more fields than anybody reads.
    """
    if error.error_count() > MOST_FIELDS:
        return f"{error.error_count():,} of its fields are wrong"
    return "; ".join(e.message if e.field == "body" else f"{e.field}: {e.message}" for e in field_errors(error.errors())[:3])


def _without_members(error: Any) -> tuple[tuple[int | str, ...], tuple[int | str, ...] | None]:
    """The location of an error without the members of unions, and that of the first union on its way."""
    location = tuple(error["loc"])
    sent = len(location) - (error.get("type") in {None, "extra_forbidden"})  # a name behind it is whatever the caller sent
    members = [at for at, part in enumerate(location[:sent]) if isinstance(part, str) and MEMBER.fullmatch(part)]
    return tuple(part for at, part in enumerate(location) if at not in members), location[: members[0]] if members else None


def _merge_union_errors(one: FieldError, other: FieldError) -> FieldError:
    """Errors that two members of a union have for one field, in a sentence."""
    same = one.message.startswith(OUGHT) and other.message.startswith(OUGHT)
    said = other.message.removeprefix(OUGHT) if same else other.message[:1].lower() + other.message[1:]
    return FieldError(one.field, f"{one.message}, or {said}")


def _field_error(error: Any, location: Sequence[int | str]) -> FieldError:
    kind = error.get("type")  # errors that the service makes itself have none
    if kind == "json_invalid" and isinstance(location[-1], int):  # the place in the text, which is no field
        return FieldError("body", f"is not JSON: {error['ctx']['error']} (character {location[-1]})")
    if kind in {"model_attributes_type", "model_type"}:  # pydantic's words speak of Python
        return FieldError(path_of(location), "must be a JSON object")
    return FieldError(path_of(location), reword_validation(str(error["msg"])))


async def _database_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, (psycopg.Error, PoolTimeout, PoolClosed))  # noqa: S101 (registered for these)
    known = translate_error(error)
    if known is None and isinstance(error, MISSING) and (migrated := await _explain_schema_mismatch(request)):
        known = Unavailable(f"the database has the schema of another version: {migrated}", hint="Ask a service of that version.")
    return make_problem_response(known, request) if known else _answer_bug(request, error)


async def _explain_schema_mismatch(request: Request) -> str | None:
    """Why the schema is not what this version was written for; None: it is."""
    checks = await request.app.state.loci.probe.look_at_health()
    return next((check.detail for check in checks if check.name == "migrations" and not check.ok), None)


def _answer_wrong_method(request: Request, methods: Sequence[str]) -> Response:
    detail = f"{request.method} is not a method of {request.url.path}; it knows {', '.join(methods)}"
    response = make_problem_response(MethodNotAllowed(detail), request)
    response.headers["Allow"] = ", ".join(methods)
    return response


def _answer_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    if any(e["loc"][0] in {"path", "query"} for e in error.errors()):  # DELETE /edges/batch: a path of its own, no edge's
        methods = methods_of(request.app.state.known_methods, request.url.path)
        if methods and request.method not in methods:
            return _answer_wrong_method(request, methods)
    if isinstance(error.body, bytes):  # the framework reads no body as JSON whose type says something else
        return make_problem_response(Unsupported("send application/json"), request)
    return make_problem_response(make_invalid(error.errors()), request)


def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    if isinstance(error.__cause__, ClientDisconnect):
        return _answer_absent_client(request, error)
    if isinstance(error.__cause__, LociError):  # raised while the framework read the body, and wrapped by it
        return make_problem_response(error.__cause__, request)
    if error.status_code == HTTPStatus.BAD_REQUEST:  # the framework's answer to a body that no JSON parser takes
        expected = "must be JSON in UTF-8, nested less than a thousand levels, its integers under 4,300 digits"
        return make_problem_response(Invalid(f"the body {expected}", [FieldError("body", expected)]), request)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        given = (error.headers or {}).get("Allow", "").split(", ")
        return _answer_wrong_method(request, methods_of(request.app.state.known_methods, request.url.path) or given)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return make_problem_response(NotFound(f"no such path: {request.url.path}"), request)
    kind = {known.status: known for known in problem_types()}.get(error.status_code, LociError)
    return make_problem_response(kind(str(error.detail)), request)


def _answer_bug(request: Request, error: Exception) -> Response:
    request_id = getattr(request.state, "request_id", "?")
    log.error("request %s failed", request_id, exc_info=error, extra={"fields": {"request_id": request_id}})
    return make_problem_response(LociError("something went wrong here; the log has it under this request id"), request)


def _answer_crash(request: Request, error: Exception) -> Response:
    """A bug, answered outside everything that would give the reply its request id and its headers."""
    response = _answer_bug(request, error)
    response.headers["X-Request-Id"] = getattr(request.state, "request_id", "?")
    response.raw_headers = add_protective_headers(response.raw_headers)
    return response


def _loci_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, LociError)  # noqa: S101
    return make_problem_response(error, request)


def _answer_absent_client(request: Request, error: Exception) -> Response:  # noqa: ARG001 (the framework's)
    """Nobody is there to read it; service/http/middleware.py logs it as what it is."""
    return Response(status_code=499)


def install_problem_handlers(app: FastAPI) -> None:
    """Make every error of an application a problem document."""
    app.add_exception_handler(LociError, _loci_error)
    app.add_exception_handler(ClientDisconnect, _answer_absent_client)
    for kind in (psycopg.Error, PoolTimeout, PoolClosed):
        app.add_exception_handler(kind, _database_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid_request)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(Exception, _answer_crash)
