"""Replies as JSON: rows come out of the database in the shape of the API, so they are serialised once and not validated again."""

import json
from http import HTTPStatus
from typing import Any

import orjson
from fastapi.responses import Response


def dump_json(value: object) -> bytes:
    """JSON of rows: datetimes in RFC 3339 with Z, UUIDs as text."""
    try:
        return orjson.dumps(value, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # somebody's metadata holds an integer of more than 64 bits
        return json.dumps(value, default=_convert_for_json, ensure_ascii=False, separators=(",", ":")).encode()


def _convert_for_json(value: object) -> Any:
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS))


def reply_json(value: object, status: int = 200, **headers: str) -> Response:
    """A JSON response."""
    return Response(dump_json(value), status, headers, media_type="application/json")


def replay_stored_reply(value: Any, status: int, request_id: str) -> Response:
    """The kept reply to a request that was sent before; one whose content was erased is a problem document."""
    if status >= HTTPStatus.BAD_REQUEST:
        value = {**value, "request_id": request_id}
    kind = "application/problem+json" if status >= HTTPStatus.BAD_REQUEST else "application/json"
    return Response(dump_json(value), status, {"Idempotency-Replayed": "true"}, media_type=kind)
