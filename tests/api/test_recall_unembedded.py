"""Recall of memories whose vectors are not there yet."""

from collections.abc import Iterator

import numpy as np
import pytest

from db.recall.search import Found, Hits
from service.embedding.active_model import UNKNOWN, ActiveModel
from service.recall.unembedded import include_unembedded
from tests.databases import Database
from tests.services import Api, eventually, new_api, ok, serve
from tests.tools import over_http

FRESH = "The billing service uses Valkey as its cache"
QUESTION = "What is the cache of the billing service?"


@pytest.fixture(scope="module")
def still(own_database: Database) -> Iterator[Api]:
    """A namespace with thirty notes that have vectors, in a service whose worker stands still since then."""
    with serve(own_database, embedding={"provider": "static"}) as service, new_api(service) as api:
        for number in range(30):
            api.write(f"Note {number}: the cache of the billing service was Redis in sprint {number}, and the cache was discussed")
        eventually(api.embedded)
        name = api.namespace
    with (
        serve(own_database, embedding={"provider": "static"}, worker=False) as service,
        service.client(**{"X-Namespace": name}) as client,
    ):
        yield Api(client, name, service)


@pytest.fixture
def quiet(still: Api) -> Iterator[Api]:
    """The same, in which nothing waits yet."""
    known = ids(still)
    yield still
    ok(still.post("/memories/erase", {"ids": sorted(ids(still) - known)}))


def ids(api: Api) -> set[str]:
    return {row["id"] for row in ok(api.get("/memories", limit=100))["items"]}


@pytest.mark.row("R8")
def test_a_fresh_memory_ranks_as_if_its_vector_were_there(quiet: Api) -> None:
    assert quiet.recall(QUESTION)["waiting"] == 0
    fresh = quiet.write(FRESH, session_id="s")["id"]
    answer = quiet.recall(QUESTION, explain=True)
    assert (answer["waiting"], answer["results"][0]["id"]) == (1, fresh)
    assert answer["results"][0]["explain"]["waited"]
    assert not any("waited" in result["explain"] for result in answer["results"][1:])
    assert quiet.recall("puppies", arms=["vector"], filters={"session_id": "s"})["results"][0]["id"] == fresh
    assert quiet.recall(QUESTION, arms=["lexical"])["waiting"] == 0
    assert fresh not in [result["id"] for result in quiet.recall(QUESTION, filters={"session_id": "other"})["results"]]
    assert fresh not in [result["id"] for result in quiet.recall(QUESTION, as_of="2020-01-01T00:00:00Z")["results"]]


def test_its_similarity_is_that_of_the_vector_that_it_will_have(quiet: Api, api: Api) -> None:
    def cosine(client: Api) -> float:
        result = client.recall(QUESTION, arms=["vector"], filters={"tags": ["x"]}, explain=True, embedding=toward)["results"][0]
        return float(result["explain"]["arms"]["vector"]["score"])

    toward = [1.0] + [0.1] * 255  # given, since the question's own vector tells itself apart from what is stored
    quiet.write("The ledger is kept in Oslo", tags=["x"])
    api.write("The ledger is kept in Oslo", tags=["x"])
    eventually(api.embedded)
    provider = quiet.service.app.state.loci.resources.provider
    provider.serving = ActiveModel(UNKNOWN, provider.configured)  # this process has not looked yet which model is active
    assert cosine(quiet) == pytest.approx(cosine(api), abs=1e-3)


@pytest.mark.row("R8")
def test_more_than_the_setting_are_not_embedded_but_placed_by_their_words(quiet: Api) -> None:
    ok(quiet.client.patch(f"/namespaces/{quiet.namespace}", json={"settings": {"recall_waiting": 0}}))
    quiet.write("Zebras graze near the aqueduct")
    result = quiet.recall("zebras near the aqueduct", explain=True)["results"][0]
    assert (result["explain"]["waited"], result["explain"]["arms"]["vector"]["rank"]) == (True, 1)
    assert "Zebras graze near the aqueduct" not in quiet.found("striped horses", arms=["vector"])
    ok(quiet.client.patch(f"/namespaces/{quiet.namespace}", json={"settings": {"recall_waiting": 10}}))


@pytest.mark.row("R8")
def test_contexts_and_tools_say_as_well_how_many_wait(quiet: Api) -> None:
    assert ok(quiet.post("/context", {"message": QUESTION}))["waiting"] == 0
    with over_http(quiet.service, **{"X-Namespace": quiet.namespace}) as tools:
        assert "vector" not in tools.text("recall", query=QUESTION) + tools.text("get_context", message=QUESTION)
        quiet.write(FRESH)
        quiet.write("Swans winter on the Alster")
        assert ok(quiet.post("/context", {"message": QUESTION}))["waiting"] == 2
        for tool, given in (("search_memory", "query"), ("recall", "query"), ("get_context", "message")):
            assert "\n2 memories wait for their vectors" in tools.text(tool, **{given: QUESTION})
            assert tools(tool, **{given: QUESTION})["waiting"] == 2


@pytest.mark.parametrize("arms", [None, ["lexical", "hierarchy"]])
def test_neighbours_of_an_unembedded_memory_are_found(quiet: Api, arms: list[str] | None) -> None:
    parent = quiet.write("Quagga herd of Namibia")["id"]
    child = quiet.write("Okapi sightings in the north", parent_id=parent)["id"]
    sibling = quiet.write("Bonobo census", parent_id=parent)["id"]
    other = quiet.write("The ledger of the wine cellar")["id"]
    ok(quiet.post(f"/memories/{child}/links", {"target_id": other, "type": "related_to"}), 201)
    results = quiet.recall("okapi sightings", explain=True, **({"arms": arms} if arms else {}))["results"]
    found = {result["id"]: result["explain"]["arms"].get("hierarchy", {}).get("path") for result in results}
    assert [found[id_]["relation"] for id_ in (parent, sibling, other)] == ["parent", "sibling", "related_to"]


@pytest.mark.anyio
async def test_an_endpoint_is_not_asked_for_what_waits() -> None:
    class Endpoint:
        name, weight, focus = "openai/x", 1.0, 0.0

    found = Found({"lexical": Hits({1: 9.0, 2: 8.0, 3: 7.0}, {}), "vector": Hits({1: 0.9, 3: 0.5}, {})}, [], [], False, model=1)
    found.questions[0] = np.ones(2, dtype=np.float32)
    found.waiting = [{"doc_id": 2, "text": "two"}, {"doc_id": 4, "text": "four"}]
    await include_unembedded(found, ActiveModel(1, Endpoint()), depth=3)  # type: ignore[arg-type]
    assert (list(found.arms["vector"].scores), found.waited) == ([1, 2, 3], {2})
