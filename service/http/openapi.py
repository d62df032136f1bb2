"""The OpenAPI document: what the routes say, and what holds for all of them.

Links, problems of every route, response headers and the key are added here, so that a new route has them without a word. The
meaning of a field or a parameter stands where it is declared.
"""

import asyncio
import gc
import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from db.cancellation import finish_despite_cancel
from db.errors import LociError
from loci.models.fields import MAX_BATCH
from loci.models.memories import MemoryBatch, MemoryInput
from service.http.documented_problems import problem_response
from service.http.examples import EXAMPLES
from service.http.middleware import API
from service.http.paths import list_operations
from service.http.problems import Problem, ProblemField, problem_types

Json = dict[str, Any]
REPEATABLE = (409, 410)  # a used Idempotency-Key, and a kept reply whose content was erased
ASKING = {  # sent by POST, and only ask
    *(
        "ask",
        "recall_memories",
        "why_not",
        "current_versions",
        "match_entities",
        "search_entities",
        "search_entries",
        "traverse",
        "graph_context",
        "walk",
    ),
}
BATCHES = {"write_batch": "MemoryInput", "observe_edges": "EdgeWrite"}  # a bare array of these is taken for a batch
HEADERS: Json = {
    "X-Request-Id": "What the log knows this request by",
    "X-Operation-Id": "Id of the operation in the log, if the call changed something; a replayed reply has none",
    "X-Loci-Position": "Where there are standbys: how far the log of the database was after this write. Send it with reads",
    "X-Loci-Server": "Where there are standbys: the kind of server that answered, primary or standby",
    "Idempotency-Replayed": "true: this is the kept reply to a request with the same Idempotency-Key",
    "Retry-After": "Seconds to wait before the request is sent again",
    "X-Loci-Cell": "Where there are cells: the number of the one that has the namespace, also of a reply that is no error",
    "WWW-Authenticate": "Bearer",
    "Allow": "Methods that this path knows",
}
ABOUT = """Times are RFC 3339; one without an offset is in UTC. Lists page by cursor.
`X-Namespace` picks a namespace; `Idempotency-Key` makes a POST safe to repeat: the first reply is kept for a day.
Where there are standbys, the reply to a write has `X-Loci-Position`; a read that carries it shows that write and all before.

Every reply from 400 on is `application/problem+json` (RFC 9457) of one shape, `Problem`; its `type` says which:

| type `urn:loci:problem:…` | status | meaning |
|---|---|---|
"""


class Document:
    """The document of an application as it is sent: made once, by a thread, since that takes seconds of a processor."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._making = asyncio.Lock()
        self._made: bytes | None = None

    async def read_document(self) -> bytes:
        """Return it; whoever asks first has it made."""
        async with self._making:
            if self._made is None:
                self._made = await finish_despite_cancel(asyncio.to_thread(self._make_document))
        return self._made

    def _make_document(self) -> bytes:
        document = self._app.openapi()
        self._app.openapi_schema = None  # half a million objects, at which each full collection of garbage would look
        made = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        del document
        gc.collect()
        gc.freeze()  # what the routes have worked out for it stays
        return made


def openapi_document(app: FastAPI, *, keys_required: bool) -> Json:
    """The document of an application; made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=ABOUT + "\n".join(_problem_lines()),
            routes=app.routes,
            license_info=app.license_info,
            separate_input_output_schemas=app.separate_input_output_schemas,
        )
        _complete_components(made["components"], keys_required=keys_required)
        # A key is optional where the service takes requests without one.
        made["security"] = [{"key": []}] if keys_required else [{"key": []}, {}]
        for path, method, operation in list_operations(made):
            _complete_operation(made, path, method, operation)
        app.openapi_schema = made
    return app.openapi_schema


def _problem_lines() -> Iterator[str]:
    for kind in problem_types():
        meaning = "Something went wrong here; the log has it under the request id." if kind is LociError else str(kind.__doc__)
        yield f"| `{kind.slug}` | {kind.status} | {meaning.strip()} |"


def _complete_components(components: Json, *, keys_required: bool) -> None:
    schemas = components["schemas"]
    for model in (ProblemField, Problem, MemoryInput, MemoryBatch):
        schemas[model.__name__] = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas[model.__name__].pop("$defs", None)
    schemas["MemoryBatch"]["properties"]["items"]["items"] = {"$ref": "#/components/schemas/MemoryInput"}  # checked one by one
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas.get("JsonValue", {})["description"] = "Any JSON"
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    needed = "Needed here." if keys_required else "Not needed here, where only this machine is served."
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": f"An API key; `loci key create` makes one. {needed}"}
    }
    components["headers"] = {name: {"description": meaning, "schema": {"type": "string"}} for name, meaning in HEADERS.items()}


def _complete_operation(made: Json, path: str, method: str, operation: Json) -> None:
    """Give an operation what all have: its problems, headers and links."""
    replies = operation["responses"]
    given = [p for p in operation.get("parameters", []) if p["name"].lower() != "authorization"]  # it is the security scheme
    for parameter in given:
        _without_null(parameter["schema"])
    operation["parameters"] = given
    if path.startswith(API):
        if method == "get":
            operation["parameters"] = [p for p in given if p["name"].lower() != "idempotency-key"]
        else:
            for status in REPEATABLE:
                replies.setdefault(str(status), problem_response(status))
        if operation["operationId"] in BATCHES:
            _take_array(operation)
        if "requestBody" in operation:
            for status in (413, 415):
                replies.setdefault(str(status), problem_response(status))
    else:
        operation["security"] = []
        replies.pop("422", None) if not operation["parameters"] else None
    for status, response in replies.items():
        response["headers"] = {
            name: {"$ref": f"#/components/headers/{name}"} for name in _reply_headers(status, method, operation["operationId"])
        }
        if status in {"200", "201"} and (links := _make_links(made, path, response)):
            response["links"] = links
    operation["responses"] = dict(sorted(replies.items()))
    if not operation["parameters"]:
        del operation["parameters"]


def _take_array(operation: Json) -> None:
    """A batch may be the array of its items alone."""
    content = operation["requestBody"]["content"]["application/json"]
    items = {"$ref": f"#/components/schemas/{BATCHES[operation['operationId']]}"}
    array = {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_BATCH, "description": "The items alone"}
    content["schema"] = {"anyOf": [content["schema"], array]}


def _without_null(schema: Json) -> None:
    """A parameter may be left out; it is never null."""
    options = [option for option in schema.get("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        del schema["anyOf"]
        schema.update(options[0])


def _reply_headers(status: str, method: str, operation: str) -> list[str]:
    names = ["X-Request-Id"]
    if method != "get" and status.startswith("2") and operation not in ASKING:
        names += ["X-Operation-Id", "Idempotency-Replayed"]
    return names + {"401": ["WWW-Authenticate"], "429": ["Retry-After"], "503": ["Retry-After", "X-Loci-Cell"]}.get(status, [])


def _make_links(made: Json, path: str, response: Json) -> Json:
    """Calls that may follow on a reply that shows one thing: operations below its path that take its id (or its name)."""
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = made["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    links = {}
    for field in ("id", "name"):
        if field not in schema.get("properties", {}):
            continue
        below = re.compile(re.escape(path) + r"/\{(\w+)\}(/\w+)?")
        for other, method, operation in list_operations(made):
            if (match := below.fullmatch(other)) and match[1] in ({"id", "ref"} if field == "id" else {"name"}):
                links[operation["operationId"]] = {
                    "operationId": operation["operationId"],
                    "parameters": {f"path.{match[1]}": f"$response.body#/{field}"},
                    "description": f"{method.upper()} {other} of what was {'made' if field == 'id' else 'named'} here",
                }
    return links
