"""Loci over PostgreSQL 17 in a container: reached over TCP, with passwords, as in docker-compose.yml."""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy.engine import URL

from db.migrate import upgrade
from tests.databases import Database
from tests.docker.containers import PASSWORD, running_postgres
from tests.services import Service, eventually, new_api, ok, serve

APP_PASSWORD = PASSWORD[::-1]


def text(url: URL) -> str:
    return url.render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with running_postgres() as url:
        upgrade(text(url), app_password=APP_PASSWORD)
        yield Database("loci", text(url), text(url.set(username="loci_app", password=APP_PASSWORD)))


@pytest.fixture(scope="module")
def contained(database: Database) -> Iterator[Service]:
    with serve(database, embedding={"provider": "static"}) as running:
        yield running


def test_service_writes_and_recalls_over_postgresql_17(contained: Service) -> None:
    with new_api(contained) as api:
        api.write("Paris is where Alice moved in spring", lineage="alice-city")
        api.write("The cat sleeps on the warm radiator")
        assert api.found("where did Alice move", k=1) == ["Paris is where Alice moved in spring"]
        assert eventually(lambda: api.found("feline pet napping", k=1)) == ["The cat sleeps on the warm radiator"]
        api.write("Alice moved on to Rome", lineage="alice-city")
        versions = ok(api.get("/memories/alice-city/history"))
        assert [row["version"] for row in versions["items"]] == [1, 2]


def test_service_over_postgresql_17_is_ready(contained: Service) -> None:
    with contained.client() as client:
        assert ok(client.get("http://loci/readyz"))["status"] == "ready"


def test_migrating_again_keeps_the_schema_and_changes_the_password(database: Database) -> None:
    upgrade(database.admin_url, app_password="another")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        database.app()
    upgrade(database.admin_url, app_password=APP_PASSWORD)
    with database.app() as connection:
        assert connection.execute("select current_user").fetchone() == ("loci_app",)


def test_loci_app_needs_its_password(database: Database) -> None:
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(database.app_url, password="wrong", connect_timeout=5)
