"""Namespaces that are made by the first write to them: only where the setting says so, and only for those who may."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from loci import Forbidden, LociClient, NotFound
from tests.api.clients import client_of
from tests.databases import Server
from tests.services import Service, serve

TALK = [{"role": "user", "content": "I live in Oslo."}]


@pytest.fixture(scope="module")
def making(server: Server) -> Iterator[Service]:
    """A service that makes namespaces on first write."""
    database = server.clone("first_write")
    with serve(database, create_namespaces=True) as service:
        yield service
    server.drop(database)


@pytest.fixture
def name() -> str:
    """A name that no namespace has."""
    return f"new-{uuid4().hex[:8]}"


def names(service: Service) -> set[str]:
    """Namespaces that there are."""
    with client_of(service, "default") as client:
        return {namespace.name for namespace in client.namespaces.list()}


def test_a_first_write_makes_its_namespace_and_reading_makes_none(making: Service, name: str) -> None:
    with client_of(making, name) as client:
        with pytest.raises(NotFound):
            client.recall("Where?")
        with pytest.raises(NotFound):
            client.retain("I live in Oslo.", dry_run=True)
        with pytest.raises(NotFound):
            client.memories.forget(uuid4())
        assert name not in names(making)
        assert client.remember(TALK, session="s").created == 1
        assert [m.content for m in client.memories.list()] == ["I live in Oslo."]
        made = next(iter(client.operations.list()))
        assert made.changes["namespace.created"] == 1


@pytest.mark.parametrize("write", ["write", "retain", "remember", "context"])
def test_every_way_to_write_makes_it(making: Service, name: str, write: str) -> None:
    with client_of(making, name) as client:
        {
            "write": lambda: client.memories.write("x"),
            "retain": lambda: client.retain("Bob bakes bread."),
            "remember": lambda: client.remember("Bob bakes bread."),
            "context": lambda: client.context("Who bakes?", session_id="s"),
        }[write]()
    assert name in names(making)


def key_of(client: LociClient, **fields: str | list[str]) -> str:
    return client.access.create_key(**fields).key  # type: ignore[arg-type]


def test_an_admin_of_its_home_makes_namespaces_and_is_their_admin(making: Service, name: str) -> None:
    with client_of(making, "default") as operator:
        key = key_of(operator, role="admin", name=name)
    with client_of(making, name, key=key) as client:
        client.memories.write("mine")
        assert [g.role for g in client.access.list_grants()] == ["admin"]
    with client_of(making, "default") as operator:
        other = key_of(operator, role="admin")
    with client_of(making, name, key=other) as stranger, pytest.raises(Forbidden, match="no access"):
        stranger.memories.write("theirs")


@pytest.mark.parametrize(
    "fields", [{"role": "writer"}, {"role": "admin", "scope": "write"}, {"role": "admin", "namespaces": ["default"]}]
)
def test_other_keys_make_none(making: Service, name: str, fields: dict[str, str | list[str]]) -> None:
    with client_of(making, "default") as operator:
        key = key_of(operator, **fields)
    with client_of(making, name, key=key) as client, pytest.raises(Forbidden, match="no access"):
        client.memories.write("x")
    assert name not in names(making)


def test_without_the_setting_nobody_makes_one_by_writing(service: Service, name: str) -> None:
    with client_of(service, name) as client, pytest.raises(NotFound, match="does not exist"):
        client.memories.write("x")
    assert name not in names(service)
