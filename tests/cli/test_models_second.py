"""The second embedding model from the command line: what `loci doctor` says of it, and how it is dropped."""

import json
from collections.abc import Iterator

import psycopg
import pytest

from service.settings import get_settings
from tests.cli.conftest import Loci

NAME = "static/wordllama-64"
OPERATOR = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def doubled(loci: Loci, namespace: str) -> Iterator[Loci]:
    """A database with two models, `test/three` and NAME; one memory waits for a vector of the second."""
    with psycopg.connect(loci.database.app_url) as connection:
        connection.execute("select set_config('loci.agent', %s, true)", [OPERATOR])
        connection.execute("select loci_api.register_model('test/three', 3)")
        connection.execute("select loci_api.begin_second_model(loci_api.prepare_second_model(%s, 64))", [NAME])
        connection.execute("""select loci_api.remember(%s, '[{"content": "apple", "embedding": [1, 0, 0]}]')""", [namespace])
    yield loci
    get_settings.cache_clear()


def configure(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"LOCI_SECOND_EMBEDDING__{name}", value)
    get_settings.cache_clear()


def examined(loci: Loci) -> dict[str, tuple[bool, str]]:
    said = json.loads(loci("doctor", "--json", "--model-seconds", "0").stdout)
    return {check["name"]: (check["ok"], check["detail"]) for check in said}


def test_doctor_asks_the_second_model_and_says_what_waits_for_it(doubled: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, PROVIDER="static", DIMENSIONS="64")
    said = examined(doubled)
    waiting = doubled.rows(
        "select from loci_data.embedding_queue q join loci.embedding_models m on m.id = q.model_id and m.name = %s", NAME
    )
    assert waiting
    assert said["second model"] == (True, f"{NAME} joins the first; {len(waiting)} wait")
    assert said["second embedding"][0]


def test_doctor_calls_it_wrong_where_none_is_configured(doubled: Loci) -> None:
    said = examined(doubled)
    assert not said["second model"][0]
    assert "none is configured (LOCI_SECOND_EMBEDDING__PROVIDER)" in said["second model"][1]
    assert "second embedding" not in said


def test_doctor_calls_it_wrong_where_another_is_configured(doubled: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, PROVIDER="static", DIMENSIONS="128")
    ok, detail = examined(doubled)["second model"]
    assert not ok
    assert "static/wordllama-128 is configured" in detail


def test_it_can_be_dropped_and_doctor_speaks_of_it_no_more(doubled: Loci) -> None:
    assert json.loads(doubled("reembed", "--drop-second", "--json").stdout) == {"dropped": NAME}
    assert doubled.rows("select state from loci.embedding_models where name = %s", NAME)[0]["state"] == "dropped"
    assert (
        doubled.rows(
            "select from loci_data.embedding_queue q join loci.embedding_models m on m.id = q.model_id and m.name = %s", NAME
        )
        == []
    )
    assert "second model" not in examined(doubled)
    assert json.loads(doubled("reembed", "--drop-second", "--json").stdout) == {"dropped": None}
