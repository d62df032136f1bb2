"""Which embedding model serves, as callers see it; a service that is configured with another one."""

from collections.abc import Callable
from typing import Any

import pytest

from service.embedding.active_model import make_provider_for
from service.settings import EmbeddingSettings
from tests.api.clients import client_of
from tests.databases import Database
from tests.services import Api, Service, eventually, ok

CLOSED = "http://127.0.0.1:9"  # the discard port: nobody listens


def models(api: Api) -> dict[str, str]:
    return {row["name"]: row["state"] for row in ok(api.get("/embeddings/models"))["items"]}


def waiting(api: Api) -> int:
    return int(ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"])


@pytest.fixture
def filled(start_service: Callable[..., Service], server: Any) -> tuple[Service, Database]:
    """A service with the static model, whose one namespace `apples` has a vector."""
    database = server.clone("following")
    service = start_service(database, embedding={"provider": "static"})
    with service.client(**{"X-Namespace": "default"}) as client:
        api = Api(client, "default", service)
        api.write("apple")
        eventually(lambda: waiting(api) == 0)
    return service, database


def test_the_active_model_is_listed_and_the_client_reads_it(api: Api) -> None:
    api.write("warm up")
    eventually(lambda: waiting(api) == 0)
    assert models(api) == {"static/wordllama-256": "active"}
    assert client_of(api.service, api.namespace).models.list().items[0].dimensions == 256


def test_a_service_that_is_configured_with_another_model_changes_a_small_database_and_the_others_follow(
    filled: tuple[Service, Database], start_service: Callable[..., Service]
) -> None:
    first, database = filled
    second = start_service(database, embedding={"provider": "static", "dimensions": 64})
    with first.client(**{"X-Namespace": "default"}) as client, second.client(**{"X-Namespace": "default"}) as other:
        old, new = Api(client, "default", first), Api(other, "default", second)
        eventually(lambda: models(new) == {"static/wordllama-64": "active", "static/wordllama-256": "dropped"})
        for asked in (old, new):
            answer = asked.recall("apple", arms=["vector"])
            assert ([row["content"] for row in answer["results"]], answer["skipped"]) == (["apple"], {})
        old.write("pear")
        eventually(lambda: waiting(old) == 0)
        assert set(new.found("pear", arms=["vector"])) == {"apple", "pear"}


def test_a_service_that_is_configured_with_another_model_serves_with_the_active_one_where_it_may_not_change_it(
    filled: tuple[Service, Database], start_service: Callable[..., Service]
) -> None:
    second = start_service(filled[1], embedding={"provider": "static", "dimensions": 64, "automatic": 0})
    with second.client(**{"X-Namespace": "default"}) as client:
        api = Api(client, "default", second)
        assert api.found("apple", arms=["vector"]) == ["apple"]
        assert models(api) == {"static/wordllama-256": "active"}


def test_a_service_that_cannot_ask_the_active_model_answers_by_words_and_says_why(
    filled: tuple[Service, Database], start_service: Callable[..., Service]
) -> None:
    service, database = filled
    with database.admin() as admin:
        admin.execute("update loci_data.embedding_models set active = false")
        admin.execute("insert into loci_data.embedding_models (name, dimensions, active) values ('openai/any', 256, true)")
    with service.client(**{"X-Namespace": "default"}) as client:
        answer = Api(client, "default", service).recall("apple")
    assert [row["content"] for row in answer["results"]] == ["apple"]
    assert "no endpoint is configured" in answer["skipped"]["vector"]


@pytest.mark.parametrize(
    ("name", "asks", "dimensions"),
    [("openai/any", None, 3), ("openai/any-7", 7, 7), ("openai/any-7", None, 3), ("static/wordllama-128", None, 128)],
)
@pytest.mark.anyio
async def test_a_provider_is_made_from_the_name_of_a_model(name: str, asks: int | None, dimensions: int) -> None:
    settings = EmbeddingSettings(provider="static", endpoint=CLOSED)
    made = make_provider_for(settings, {"name": name, "asks": asks, "dimensions": dimensions})
    assert made.name == name
    await made.close()


@pytest.mark.parametrize("name", ["openai/any", "other/any", "static/any", "minilm/other"])
def test_a_model_that_cannot_be_asked_from_here_is_said_to_be_one(name: str) -> None:
    with pytest.raises(RuntimeError):
        make_provider_for(EmbeddingSettings(provider="static"), {"name": name, "asks": None, "dimensions": 3})
