"""`DELETE /entities/{id}` over REST: gone at once, kept in history, and after a move to another service too."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

from tests.services import Api, Service, ok, problem


def removed(api: Api) -> tuple[str, str]:
    """An entity that was removed: its id, and a moment before that."""
    zeus = ok(api.post("/entities", {"name": "Zeus", "type": "god"}), 201)["id"]
    ok(api.post("/edges", {"source": "Zeus", "type": "rules", "target": "Olympus"}), 201)
    known_at = datetime.now(UTC).isoformat()
    assert ok(api.client.delete(f"/entities/{zeus}"))["name"] == "Zeus"
    return zeus, known_at


def test_a_deleted_entity_is_gone_now_and_still_there_in_the_past(api: Api) -> None:
    zeus, known_at = removed(api)
    for ref in (zeus, "Zeus"):
        problem(api.get(f"/entities/{ref}"), 404, "not-found")
        assert ok(api.get(f"/entities/{ref}", known_at=known_at))["type"] == "god"
        assert ok(api.get(f"/entities/{ref}/history"))["items"][-1]["event"] in ("deleted", "observed")
    assert [entity["name"] for entity in ok(api.get("/entities"))["items"]] == ["Olympus"]
    assert ok(api.get("/edges"))["items"] == []
    assert len(ok(api.get("/edges", known_at=known_at))["items"]) == 1


def test_deleting_twice_or_what_never_was_is_not_found(api: Api) -> None:
    zeus, _ = removed(api)
    problem(api.client.delete(f"/entities/{zeus}"), 404, "not-found")
    problem(api.client.delete(f"/entities/{uuid4()}"), 404, "not-found")


def test_the_name_of_a_deleted_entity_is_free(api: Api) -> None:
    zeus, _ = removed(api)
    assert ok(api.post("/entities", {"name": "Zeus"}), 201)["id"] != zeus


def test_a_deleted_entity_moves_with_its_namespace(api: Api, start_service: Callable[..., Service]) -> None:
    zeus, known_at = removed(api)
    data = api.get(f"/namespaces/{api.namespace}/export").content
    with start_service(worker=False).client(**{"X-Namespace": api.namespace}) as there:
        ok(there.post(f"/namespaces/{api.namespace}/import", content=data))
        problem(there.get(f"/entities/{zeus}"), 404, "not-found")
        assert ok(there.get(f"/entities/{zeus}", params={"known_at": known_at}))["name"] == "Zeus"
        assert there.get(f"/namespaces/{api.namespace}/export").content.split(b"\n")[1:] == data.split(b"\n")[1:]
