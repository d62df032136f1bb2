"""What schemathesis must know of this service: our own checks, and what no document can say.

No route is left out. What is right or wrong inside a model, or in a parameter, that several routes have in common is sent to the first
of them: the same code reads it everywhere. A thorough run sends it to all. Three checks of schemathesis are wrapped, because their rule has
exceptions that are named here.
"""

import itertools
import json
import os
import re
from collections.abc import Hashable, Iterator
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi import checks

MINE = "default"  # the namespace that the run works in
MANY = 1000  # items: more of them are no other case
FEW = 10  # items of a list: what a later one has, one of these has as well
# Lists of this model are not sent with as many as there may be: tests/api/test_memories_batches.py sends ten thousand.
FULL = "#/components/schemas/MemoryInput"
GONE = 410
NAMESPACE, KEY = "x-namespace", "idempotency-key"
KEYS = itertools.count()
TYPE = re.compile(r"urn:loci:problem:[a-z-]+")
# Fields of which JSON Schema cannot say what is right; a 422 that names only these is an answer to a request that the document allows.
BEYOND_THE_DOCUMENT = {
    r"cursor|after": "only the service makes cursors, and gives positions out",
    r"(.+\.)?embedding": "as long as the active model's vectors, which is known at run time",
    r"versions": "must be all where a subtree is erased",
    r"settings(\..*)?": "names and types of settings are the database's",
    r"language": "names of text search configurations are the database's",
    r"(.+\.)?valid_(to|from)": "compared with each other, or with versions that are there",
    r"decay_rate": "no larger than a real number of the database",
    r"(.+\.)?parent_since|known_at|as_of|expires_at": "compared with the clock, or with what is stored",
    r"erase|vectors|format": "parameters of a query that need each other, or exclude each other",
    r"(.+\.)?(metadata|value)": "JSON inside: no NUL at any depth; in a query, text that is JSON",
    r"status|content": "an attribute's content and status change apart, by how it stands",
    r"(.+\.)?(parent_id|target_id|memory_id|ids|corrects|replaces|other|lineage)": "refer to what is stored, or must not be the thing itself",
    r"(.+\.)?name|(.+\.)?aliases(\[\d+\])?|(.+\.)?source|(.+\.)?target|(.+\.)?aspect": "nothing is left of a name when it is folded",
    r"space|X-Space": "no segment . or ..; and schemathesis makes headers that the pattern of the document forbids",
    r"namespaces": "at most as many as the setting recall_namespaces",
    r"body|items\[\d+\]": "lines of NDJSON, of which one must not be blank, and each an object; or a file in another system's format",
    r"messages(\[\d+\].*)?": "messages of several frameworks, of which the document shows the plainest; no NUL at any depth",
    r"questions(\[\d+\].*)?": "ids or contents, of memories that are stored",
    r"recall": "of one namespace, so without the field namespaces",
    r"(.+\.)?time_zone": "names of time zones are the system's",
    r"key": "no segment . or .., and at most 512 characters with its space",
    r"(.+\.)?line|line \d+": "lines are checked one by one",
}
# DELETE /memories/{id} forgets: the memory can still be read, and be restored.
SOFT = {"/api/v1/memories/{id}"}


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
MEANING = ("title", "description", "default", "examples")  # what a schema says beside what it allows
# Mistakes that one piece of code finds for all routes: each is sent to one route of every kind.
ASKED_OF_ALL = {"unspecified_http_method", "malformed_content_type", "unsupported_content_type"}
# Lengths by one from the least and the most that are allowed: those two are sent themselves.
NEAR = ("Near-boundary length string", "Near-boundary items array")
# Of what a schema asks for, what makes no difference to a value of a wrong type; of others it counts that they are there, and not which.
INSIDE = {"properties", "required"}
SHAPE = {"type", "format", "anyOf", "oneOf", "allOf", "items", "additionalProperties", "$ref"}
SEEN: set[Hashable] = set()  # mistakes that were made already, and what was right already


@schemathesis.hook
def filter_case(context: HookContext, case: Case) -> bool:
    """Leave out what other routes have met, but in a thorough run."""
    meta = case.meta
    about = meta.phase.data if meta is not None and meta.phase.name.value == "coverage" else None
    if about is not None and about.parameter == "Authorization":
        return False  # it is sent with every request, whatever a case says; other tests send wrong ones, and none
    if THOROUGH or about is None:
        return True
    if about.scenario.value in ASKED_OF_ALL:
        return is_new({(about.description, *kind_of_route(case))})
    if about.parameter is None:
        return is_new_for_its_place(case, about)
    return is_new_mistake(case, about) if meta.generation.mode.value == "negative" else is_new_and_right(case, about)


def is_new_for_its_place(case: Case, about: Any) -> bool:
    """Which headers come together is read by the same code for all routes; a parameter that a route does not know is one like another."""
    place = about.parameter_location.value if about.parameter_location is not None else None
    if place == "query" and about.scenario.value == "object_unexpected_properties":
        return is_new({(place, about.scenario.value, case.operation.label)})
    return place != "header" or is_new({(place, about.description)})


def is_new(met: set[Hashable]) -> bool:
    """Whether there is something in it that no case before had."""
    new = not met <= SEEN
    SEEN.update(met)
    return new


def is_new_mistake(case: Case, about: Any) -> bool:
    """All mistakes of one kind of field are sent to one such field, and one of them to the others.

    A model or a parameter that routes have in common counts once; for a wrong type, fields of the same types are of one kind.
    """
    place, kind = place_of(case, about)
    scenario = about.scenario.value
    shape = json.dumps(shape_of(kind), sort_keys=True) if scenario == "incorrect_type" else json.dumps(kind, sort_keys=True)
    return is_new({(place, scenario), (about.parameter_location.value, shape, scenario, sent(case, about))})


def kind_of_route(case: Case) -> tuple[Hashable, ...]:
    """What the code that all routes share tells apart: the method, what a body may be, and whether the path has a parameter."""
    route = case.operation.schema.raw_schema["paths"][case.operation.path][case.operation.method]
    return case.operation.method, *route.get("requestBody", {}).get("content", ()), "{" in case.operation.path


def shape_of(schema: Any) -> Any:
    """Types of a schema, without its further conditions on a value of the right type."""
    if isinstance(schema, list):
        return [shape_of(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: shape_of(value) if name in SHAPE else None for name, value in schema.items() if name not in INSIDE}


def is_new_and_right(case: Case, about: Any) -> bool:
    """Whether a body has a value of a field, a field with or without another one, or a length of a list that its model has not had.

    A rule between two fields is met so: one that needs another, or excludes it. Of a parameter it is the value.
    """
    if about.description.endswith(NEAR):
        return False
    document = case.operation.schema.raw_schema
    if about.parameter_location.value == "body":
        route = document["paths"][case.operation.path][case.operation.method]
        schema = route["requestBody"]["content"].get(about.parameter, {}).get("schema", {})
        met = {(case.operation.label, about.parameter), *parts(document, schema, case.body, case.operation.label)}
        if (FULL, "items", MANY) in met:
            return False
    else:
        met = {(case.operation.label, about.parameter, sent(case, about))}
    return is_new(met)


def parts(document: dict[str, Any], schema: Any, value: Any, way: str) -> Iterator[Hashable]:
    """What a value is made of, each with where it stands: a model of the document, and the way from there."""
    while isinstance(schema, dict) and "$ref" in schema:
        way = schema["$ref"]
        schema = document["components"]["schemas"][way.rpartition("/")[2]]
    if not isinstance(schema, dict):
        schema = {}
    kind = {dict: "object", list: "array"}.get(type(value))
    branches = [
        (f"{way}/{each}/{n}", branch)
        for each in ("anyOf", "oneOf", "allOf")
        for n, branch in enumerate(schema.get(each, ()))
        if kind is not None and kind_of(document, branch) in (kind, None)
    ]
    for name, branch in branches:
        yield from parts(document, branch, value, name)
    if branches:
        return
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        yield from ((way, one, other, other in value) for one in value for other in fields)
        for name, inner in value.items():
            yield from parts(document, fields.get(name), inner, f"{way}/{name}")
    elif isinstance(value, list):
        yield way if len(value) < MANY else model_of(schema) or way, "items", min(len(value), MANY)
        for inner in value[:FEW]:
            yield from parts(document, schema.get("items"), inner, f"{way}/items")
    else:
        yield way, "value", repr(value)


def kind_of(document: dict[str, Any], schema: Any) -> Any:
    """The type that a schema asks for."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema.get("type") if isinstance(schema, dict) else None


def model_of(schema: dict[str, Any]) -> str | None:
    """The model that the items of a list have."""
    items = schema.get("items")
    return items.get("$ref") if isinstance(items, dict) else None


def place_of(case: Case, about: Any) -> tuple[str, Any]:
    """Where the mistake is, a model of the document and where in it, or a parameter of this name and schema; and what is asked for there."""
    document = case.operation.schema.raw_schema
    route = document["paths"][case.operation.path][case.operation.method]
    if about.parameter_location.value == "body":
        schema = route["requestBody"]["content"].get(about.parameter, {}).get("schema", {})
        return steps(document, schema, about.location or "")
    declared = [each for each in route.get("parameters", []) if each["name"] == about.parameter]
    schemas = [{name: value for name, value in each.get("schema", {}).items() if name not in MEANING} for each in declared]
    place = json.dumps([about.parameter, *schemas, *([] if declared else [case.operation.label])], sort_keys=True)
    return place, schemas or [about.parameter]


def steps(document: dict[str, Any], schema: Any, location: str) -> tuple[str, Any]:
    """The last model on the way to a place in a schema and the way from there; and the schema of the field that it is about."""
    way: list[str] = [json.dumps(schema, sort_keys=True)]
    field = schema
    for step in [None, *location.split("/")[1:]]:
        if step is not None:
            schema = schema[int(step)] if isinstance(schema, list) else schema.get(step, {})
            way.append(step)
        while isinstance(schema, dict) and "$ref" in schema:
            way = [schema["$ref"]]
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if isinstance(schema, dict) and not {"properties", "items"} & {step}:
            field = schema
    asked = {name: value for name, value in field.items() if name not in MEANING} if isinstance(field, dict) else field
    return "/".join(way), asked


def sent(case: Case, about: Any) -> str:
    """What was sent there: its type, in a body."""
    if about.parameter_location.value != "body":
        values = getattr(case, about.parameter_location.container_name) or {}
        return repr(values.get(about.parameter))
    value = case.body
    keys = (about.location or "").split("/")[1:]
    for before, key in itertools.pairwise([*keys, ""]):
        if before == "properties" and isinstance(value, dict):
            value = value.get(key)
        elif before == "items" and isinstance(value, list):
            value = value[0] if value else None
    return type(value).__name__


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: Any) -> None:
    """Keep the namespace that everything else works in, and reach the route behind what may be refused before it.

    By the document any text is a right namespace, and any is a key of idempotency: but only one is there, and none is used twice.
    """
    meta = case.meta
    if meta is not None and meta.phase.name.value == "coverage":
        tried = (meta.phase.data.parameter or "").lower()
        for name, value in ((NAMESPACE, MINE), (KEY, str(next(KEYS)))):
            if name in (case.headers or {}) and name != tried:
                case.headers[name] = value
    if case.method == "DELETE" and case.path == "/api/v1/namespaces/{name}" and (case.path_parameters or {}).get("name") == MINE:
        case.path_parameters["name"] = "gone"


@schemathesis.serializer("application/x-ndjson")
def lines(ctx: Any, value: Any) -> Any:
    """Lines of JSON as they are."""
    return value if isinstance(value, (bytes, str)) else str(value)


def wrong_fields(response: Response) -> list[str]:
    """Fields that a problem names."""
    return [error["field"] for error in response.json().get("errors", [])]


@schemathesis.check
def what_the_document_allows_is_accepted(ctx: CheckContext, response: Response, case: Case) -> bool | None:
    """positive_data_acceptance, but for fields of which no document can say what is right."""
    try:
        return checks.positive_data_acceptance(ctx, response, case)
    except Failure:
        if {None, "None"} & set((case.path_parameters or {}).values()):
            return None  # a link followed from a field that is null
        if response.status_code == GONE and KEY in (case.headers or {}):
            return None  # another route's request had the key, and what it was about has been erased
        fields = wrong_fields(response) if response.status_code == 422 else []
        if fields and all(any(re.fullmatch(known, field) for known in BEYOND_THE_DOCUMENT) for field in fields):
            return None
        raise


@schemathesis.check
def what_the_document_forbids_is_refused(ctx: CheckContext, response: Response, case: Case) -> bool | None:
    """negative_data_rejection; an item of a batch is refused by its problem."""
    try:
        return checks.negative_data_rejection(ctx, response, case)
    except Failure:
        if case.path == "/api/v1/memories/batch" and any(item.get("problem") for item in response.json()["items"]):
            return None
        raise


@schemathesis.check
def what_was_deleted_is_gone(ctx: CheckContext, response: Response, case: Case) -> bool | None:
    """use_after_free, where deleting is for good."""
    return None if any(case.path.startswith(path) for path in SOFT) else checks.use_after_free(ctx, response, case)


@schemathesis.check
def an_error_is_a_problem_document(ctx: CheckContext, response: Response, case: Case) -> None:
    """Every reply from 400 on is application/problem+json of the one shape."""
    if response.status_code < 400 or case.path == "/readyz":
        return
    assert response.headers["content-type"] == ["application/problem+json"], response.headers["content-type"]
    body = response.json()
    assert TYPE.fullmatch(body["type"]), body
    assert body["status"] == response.status_code, body
    assert body["title"], body
    assert body["detail"], body
    assert [body["request_id"]] == response.headers["x-request-id"], body
    assert set(body) <= {"type", "title", "status", "detail", "errors", "hint", "request_id"}, body
    for error in body.get("errors", []):
        assert set(error) == {"field", "message"}, body
        assert error["message"], body
