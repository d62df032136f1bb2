"""What schemathesis must know of this service: our own checks, and what no document can say.

Nothing is left out for a route. Three checks of schemathesis are wrapped, because their rule has exceptions that are named here.
"""

import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi import checks

MINE = "default"  # the namespace that the run works in
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
    r"erase": "parameters of a query that need each other",
    r"(.+\.)?(metadata|value)": "JSON inside: no NUL at any depth; in a query, text that is JSON",
    r"status|content": "an attribute's content and status change apart, by how it stands",
    r"(.+\.)?(parent_id|target_id|memory_id|ids|corrects|other|lineage)": "refer to what is stored, or must not be the thing itself",
    r"(.+\.)?name|(.+\.)?aliases(\[\d+\])?|(.+\.)?source|(.+\.)?target|(.+\.)?aspect": "nothing is left of a name when it is folded",
    r"space|X-Space": "no segment . or ..; and schemathesis makes headers that the pattern of the document forbids",
    r"namespaces": "at most as many as the setting recall_namespaces",
    r"body": "lines of NDJSON, of which one must not be blank; or a file in a format of another system",
    r"key": "no segment . or .., and at most 512 characters with its space",
    r"(.+\.)?line|line \d+": "lines are checked one by one",
}
# DELETE /memories/{id} forgets: the memory can still be read, and be restored.
SOFT = {"/api/v1/memories/{id}"}


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: Any) -> None:
    """Keep the namespace that everything else works in."""
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
