"""`loci reembed` from the command line: what it would do, what it does, and what it refuses."""

import json
import os

import psycopg
import pytest

from service.settings import get_settings
from tests.cli.conftest import Loci


@pytest.fixture
def embedded(loci: Loci, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Loci:
    """A database whose model `test/three` has a vector, and an owner's connection in the environment."""
    monkeypatch.setenv("LOCI_MIGRATION_URL", loci.database.admin_url)
    get_settings.cache_clear()
    with psycopg.connect(loci.database.app_url) as connection:
        connection.execute("select set_config('loci.agent', %s, true)", ["00000000-0000-0000-0000-000000000000"])
        if not loci.rows("select from loci_data.embedding_models where active"):
            connection.execute("select loci_api.register_model('test/three', 3)")
            connection.execute("""select loci_api.remember(%s, '[{"content": "apple", "embedding": [1, 0, 0]}]')""", [namespace])
    return loci


def states(loci: Loci) -> dict[str, str]:
    return {
        row["name"]: row["state"] for row in loci.rows("select name, state from loci.embedding_models where state <> 'dropped'")
    }


def begin(loci: Loci, dimensions: int) -> str:
    name = f"static/wordllama-{dimensions}"  # 64 is active once a test has gone on to the end
    with psycopg.connect(loci.database.app_url) as connection:
        connection.execute("select set_config('loci.agent', %s, true)", ["00000000-0000-0000-0000-000000000000"])
        connection.execute("select loci_api.begin_reembedding(%s, %s)", [name, dimensions])
    return name


def active(loci: Loci) -> str:
    return next(name for name, state in states(loci).items() if state == "active")


def test_a_dry_run_says_how_much_there_is_to_do_and_does_nothing(embedded: Loci) -> None:
    before = states(embedded)
    said = json.loads(embedded("reembed", "--model", "static/wordllama-128", "--dry-run", "--json").stdout)
    assert (said["model"], said["active"], said["filling"]) == ("static/wordllama-128", active(embedded), None)
    assert said["memories"] == embedded.count("memories")
    assert states(embedded) == before


def test_filling_can_be_cancelled_and_leaves_nothing(embedded: Loci) -> None:
    was = active(embedded)
    begin(embedded, 128)
    assert json.loads(embedded("reembed", "--cancel", "--json").stdout) == {"cancelled": "static/wordllama-128"}
    assert states(embedded) == {was: "active"}


def test_another_model_is_refused_while_one_is_being_filled(embedded: Loci) -> None:
    begin(embedded, 128)
    refused = embedded("reembed", "--model", "static/wordllama-256")
    assert refused.exit_code == 1
    assert "static/wordllama-128 is being filled" in refused.stderr
    embedded("reembed", "--cancel")


def test_without_a_name_it_goes_on_with_the_one_under_way(embedded: Loci) -> None:
    begin(embedded, 64)
    done = embedded("reembed", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["model"] == "static/wordllama-64"
    assert states(embedded) == {"static/wordllama-64": "active"}
    again = json.loads(embedded("reembed", "--model", "static/wordllama-64", "--json").stdout)
    assert again["changed"] is False


@pytest.mark.parametrize("model", ["cohere/any", "text-embedding-3-small", "/"])
def test_a_name_that_no_provider_has_is_refused(embedded: Loci, model: str) -> None:
    refused = embedded("reembed", "--model", model)
    assert refused.exit_code == 1
    assert "names no provider" in refused.stderr


def test_a_large_database_needs_the_owner_to_build_indexes(embedded: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCI_MIGRATION_URL")
    monkeypatch.setenv("LOCI_EMBEDDING__AUTOMATIC", "0")
    get_settings.cache_clear()
    refused = embedded("reembed", "--model", "static/wordllama-128")
    assert refused.exit_code == 1
    assert "LOCI_MIGRATION_URL" in refused.stderr
    assert "LOCI_MIGRATION_URL" not in os.environ
