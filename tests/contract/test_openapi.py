"""The OpenAPI document is valid and whole: whoever reads nothing else can use the service."""

import importlib
import pkgutil
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import ValidationError

from db.errors import LociError
from loci import models
from loci.models.fields import Model
from service.app import create_app
from service.http.examples import EXAMPLES
from service.http.paths import list_operations
from service.http.problems import problem_types
from service.routers import known_methods
from service.settings import Settings
from tests.catalogue import ROOT
from tests.services import Api, problem
from tests.sql.details import DETAILS

pytestmark = pytest.mark.every_case

API = "/api/v1"


def made(**options: Any) -> dict[str, Any]:
    settings = Settings(_env_file=None, embedding={"provider": "none"}, **options)  # type: ignore[arg-type]
    return create_app(settings, "postgresql:///nowhere").openapi()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return made(require_keys=True)


@pytest.fixture(scope="module")
def of_the_api(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{method.upper()} {path}": operation for path, method, operation in list_operations(document) if path.startswith(API)}


def test_it_is_valid_openapi(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_no_two_paths_are_the_same_but_for_the_names_in_them(document: dict[str, Any]) -> None:
    shapes = Counter(re.sub(r"\{\w+\}", "{}", path) for path in document["paths"])
    assert [shape for shape, count in shapes.items() if count > 1] == []


def test_every_operation_says_what_it_does_under_a_name_of_its_own(document: dict[str, Any]) -> None:
    listed = [operation for _, _, operation in list_operations(document)]
    assert [operation for operation in listed if not operation.get("summary") or not operation.get("description")] == []
    assert [name for name, count in Counter(operation["operationId"] for operation in listed).items() if count > 1] == []


@pytest.mark.row("REST")
def test_every_parameter_and_field_says_what_it_means(document: dict[str, Any]) -> None:
    parameters = [
        (path, p["name"]) for path, _, o in list_operations(document) for p in o.get("parameters", []) if not p.get("description")
    ]
    schemas = document["components"]["schemas"]
    fields = [
        f"{name}.{field}"
        for name, s in schemas.items()
        for field, value in s.get("properties", {}).items()
        if not value.get("description")
    ]
    assert (parameters, fields) == ([], [])
    assert [name for name, schema in schemas.items() if not schema.get("description")] == []


@pytest.mark.row("M1")
@pytest.mark.parametrize("name", DETAILS)
def test_the_default_of_every_detail_of_a_memory_is_in_the_document(document: dict[str, Any], name: str) -> None:
    detail = DETAILS[name]
    said = document["components"]["schemas"]["MemoryInput"]["properties"][name]["description"]
    assert said.endswith(f" {detail.default}")
    assert ("of the version before" in said) == detail.inherited


def test_every_route_of_the_api_lists_the_problems_that_it_may_reply(of_the_api: dict[str, dict[str, Any]]) -> None:
    always = {"401", "403", "404", "422", "503", "504"}
    for name, operation in of_the_api.items():
        wanted = (
            always
            | ({"409", "410"} if not name.startswith("GET") else set())
            | ({"413", "415"} if "requestBody" in operation else set())
        )
        assert wanted <= set(operation["responses"]), name
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert response["content"] == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, (
                    name,
                    status,
                )


def test_a_key_is_asked_for_where_the_service_asks_for_one(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["key"] == {
        **document["components"]["securitySchemes"]["key"],
        "type": "http",
        "scheme": "bearer",
    }
    assert document["security"] == [{"key": []}]
    assert made()["security"] == [{"key": []}, {}]


def test_a_written_memory_can_be_followed_by_links(of_the_api: dict[str, dict[str, Any]]) -> None:
    links = of_the_api[f"POST {API}/memories"]["responses"]["201"]["links"]
    assert {"get_memory", "change_memory", "forget_memory", "restore_memory"} <= set(links)
    assert links["get_memory"]["parameters"] == {"path.id": "$response.body#/id"}


@pytest.mark.parametrize("schema", EXAMPLES)
def test_a_core_request_has_an_example(document: dict[str, Any], schema: str) -> None:
    assert document["components"]["schemas"][schema]["examples"] == [EXAMPLES[schema]]


def test_every_kind_of_problem_is_in_the_document(document: dict[str, Any]) -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (.+) \|$", document["info"]["description"], re.MULTILINE)
    assert [(slug, int(status)) for slug, status, _ in listed] == [(kind.slug, kind.status) for kind in problem_types()]
    assert LociError in problem_types()


def test_every_kind_of_problem_is_in_the_documentation() -> None:
    listed = re.findall(r"^- `([a-z-]+)` \((\d+)\): .+$", (ROOT / "docs" / "problems.md").read_text(), re.MULTILINE)
    assert [(slug, int(status)) for slug, status in listed] == [(kind.slug, kind.status) for kind in problem_types()]


# What is outside the routes


@pytest.mark.parametrize(
    "path", ["/nothing", "/api/v1", "/api/v1/nothing", "/api/v1/memories/", "/api/v1//memories", "/%00", "/api/v1/%F0%9F%99%82"]
)
def test_a_path_that_is_not_there_is_a_problem(api: Api, path: str) -> None:
    response = api.client.get(f"http://loci{path}", follow_redirects=True)
    if response.status_code != 200:  # a slash too many is led back
        body = problem(response, 404, "not-found")
        assert body["request_id"] == response.headers["x-request-id"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/memories", "GET, POST"),
        ("DELETE", "/edges/batch", "POST"),
        ("PATCH", "/entities/match", "POST"),
        ("PATCH", "/entities/Alice/pin", "POST"),
        ("TRACE", "/entities/Alice", "GET, PATCH"),
        ("OPTIONS", "/memories/00000000-0000-0000-0000-000000000000", "DELETE, GET, PATCH"),
        ("POST", "http://loci/healthz", "GET"),
    ],
)
def test_a_method_that_a_path_does_not_know_is_a_problem_that_says_which_it_knows(
    api: Api, method: str, path: str, allowed: str
) -> None:
    response = api.client.request(method, path)
    body = problem(response, 405, "method-not-allowed")
    assert set(allowed.split(", ")) <= set(response.headers["allow"].split(", "))
    assert body["request_id"] == response.headers["x-request-id"]


def test_which_methods_a_path_knows_is_as_the_document_has_it(document: dict[str, Any]) -> None:
    stated = defaultdict[str, set[str]](set)
    for path, method, _ in list_operations(document):
        stated[path].add(method.upper())
    assert known_methods() == stated


@pytest.mark.anyio
async def test_nobody_waits_for_the_document_because_somebody_made_a_mistake() -> None:
    settings = Settings(_env_file=None, embedding={"provider": "none"})  # type: ignore[arg-type]
    app = create_app(settings, "postgresql:///nowhere")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=f"http://localhost{API}") as client:
        problem(await client.put("/memories"), 405, "method-not-allowed")
        problem(await client.get("/memories", params={"limit": "many"}), 422, "invalid-request")
    assert app.openapi_schema is None


def bodies(model: type[Model] = Model) -> Iterator[type[Model]]:
    """All models of requests."""
    for inner in model.__subclasses__():
        yield inner
        yield from bodies(inner)


def takes(model: type[Model], name: str, value: object) -> bool:
    """Whether a field takes a value for a number."""
    try:
        model.__pydantic_validator__.validate_assignment(model.model_construct(), name, value)
    except ValidationError as error:
        return not any(wrong["loc"][0] == name for wrong in error.errors())
    return True


def fields(*kinds: str) -> list[tuple[type[Model], str]]:
    """Fields of requests that take values of these kinds alone, beside null."""
    for info in pkgutil.walk_packages(models.__path__, "loci.models."):
        importlib.import_module(info.name)
    found = []
    for model in set(bodies()):
        for name, schema in model.model_json_schema().get("properties", {}).items():
            taken = {each["type"] for each in (schema, *schema.get("anyOf", ())) if "type" in each} - {"null"}
            found += [(model, name)] if taken and taken <= set(kinds) else []
    assert len(found) > 15
    return found


@pytest.mark.parametrize("value", [True, "5"])
def test_no_number_of_a_body_is_true_or_a_text(value: object) -> None:
    taken = [(model, name) for model, name in fields("integer", "number") if takes(model, name, value)]
    assert [f"{model.__name__}.{name}" for model, name in taken] == []


@pytest.mark.parametrize("value", [0, "true"])
def test_nothing_but_true_and_false_is_either_in_a_body(value: object) -> None:
    taken = [(model, name) for model, name in fields("boolean") if takes(model, name, value)]
    assert [f"{model.__name__}.{name}" for model, name in taken] == []


# What schemathesis has found


def test_an_integer_of_any_size_in_metadata_comes_back_as_it_is(api: Api) -> None:
    written = api.write("x", metadata={"number": 2**70})
    assert written["metadata"] == {"number": 2**70}
    assert [item["metadata"] for item in api.get("/memories").json()["items"]] == [{"number": 2**70}]


def test_an_edge_that_never_fades_is_listed(api: Api) -> None:
    assert api.client.put("/edge-types/is", json={"decay_rate": 0}).status_code == 200
    assert api.post("/edges", {"source": "a", "type": "is", "target": "b"}).status_code == 201
    assert [edge["fades_at"] for edge in api.get("/edges").json()["items"]] == [None]


def test_null_lists_are_as_if_they_were_not_there(api: Api) -> None:
    assert api.write("x", entities=None, edges=None, tags=None)["content"] == "x"
    assert api.post(
        "/memories/batch", {"items": [{"content": "y", "entities": None, "edges": [{"source": "a", "type": "t", "target": "b"}]}]}
    ).json()["items"][0]["id"]


@pytest.mark.parametrize(
    "moment", ["2020", 2020, "1577836800", 1.5, True, "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"]
)
def test_a_number_is_no_moment_and_a_moment_is_in_the_years_that_all_can_hold(api: Api, moment: Any) -> None:
    body = problem(api.post("/memories", {"content": "x", "valid_from": moment}), 422, "invalid-request")
    assert [error["field"] for error in body["errors"]] == ["valid_from"]


def test_an_offset_that_the_database_does_not_know_is_taken(api: Api) -> None:
    assert api.write("x", valid_from="2020-01-01T00:00:00+17:02")["valid_from"] == "2019-12-31T06:58:00Z"


def test_the_history_of_something_in_an_unknown_namespace_is_not_found(api: Api) -> None:
    problem(api.client.get("/entities/x/history", headers={"X-Namespace": "nowhere"}), 404, "not-found")


def test_a_name_with_a_line_end_is_found(api: Api) -> None:
    assert api.post("/entities", {"name": "two\nlines"}).status_code == 201
    assert api.client.get("/entities/two%0Alines").status_code == 200
