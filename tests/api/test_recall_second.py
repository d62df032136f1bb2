"""A second embedding model beside the first: what it adds to a recall, and that without it the recall is that of the first."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from service.embedding.active_model import make_active_provider
from service.recall.second_arm import BESIDE, INCOMPLETE
from service.settings import EmbeddingSettings, SecondEmbeddingSettings, Settings
from tests.api.test_models_embeddings import Endpoint, listening
from tests.databases import Database
from tests.services import PATIENCE, Api, Row, Service, eventually, new_api, ok, serve

AXES = {"automobile": 0, "car": 0, "doctor": 1, "physician": 1}  # what the second model knows: words of one meaning
NAME = "openai/topics-4"
FIRST = {"provider": "static"}
QUESTION = "Who repairs the automobile?"
STRONG = {"second": 4}  # so that what it finds comes first


def topics(texts: list[str]) -> tuple[int, Any, dict[str, str]]:
    """Vectors by meaning: an axis for each of AXES, and one that all texts have a little of."""
    made = []
    for text in texts:
        vector = [0.0, 0.0, 0.0, 0.2]
        for word in text.lower().split():
            if (axis := AXES.get(word.strip("?.,"))) is not None:
                vector[axis] = 1.0
        made.append(vector)
    return 200, {"data": [{"index": n, "embedding": vector} for n, vector in enumerate(made)]}, {}


def refuse(_: list[str]) -> tuple[int, Any, dict[str, str]]:
    return 503, {"error": "down"}, {}


def second(endpoint: Endpoint, **options: Any) -> Row:
    return {
        "provider": "openai",
        "endpoint": endpoint.url,
        "model": "topics",
        "dimensions": 4,
        "query_timeout": PATIENCE,
        "timeout": PATIENCE,
        **options,
    }


@dataclass(frozen=True)
class Both:
    """One namespace in two services without workers: with a second model whose vectors are there, and with the first alone."""

    api: Api
    plain: Api
    endpoint: Endpoint
    database: Database

    def asking(self, **options: Any) -> Any:
        """Another service with the second model."""
        return serve(self.database, embedding=FIRST, second_embedding=second(self.endpoint, **options), worker=False)

    def of(self, service: Service) -> Api:
        """The namespace in another service."""
        return Api(service.client(**{"X-Namespace": self.api.namespace}), self.api.namespace, service)


@pytest.fixture(scope="module")
def filled(own_database: Database) -> Iterator[Both]:
    with listening() as endpoint:
        endpoint.works = topics
        with serve(own_database, embedding=FIRST, second_embedding=second(endpoint)) as service, new_api(service) as api:
            api.write("Anna mends every car in our street")
            api.write("Berta is a physician")
            for number in range(20):
                api.write(f"Note {number} is about the repairs of roof {number}", session_id="s")
            eventually(lambda: complete(api))
            name = api.namespace
        with (
            serve(own_database, embedding=FIRST, second_embedding=second(endpoint), worker=False) as service,
            serve(own_database, embedding=FIRST, worker=False) as alone,
            service.client(**{"X-Namespace": name}) as one,
            alone.client(**{"X-Namespace": name}) as other,
        ):
            api, plain = Api(one, name, service), Api(other, name, alone)
            eventually(lambda: any("second" in found for found in arms(api, QUESTION)))
            yield Both(api, plain, endpoint, own_database)


@pytest.fixture
def both(filled: Both) -> Iterator[Both]:
    """The same; what a test writes is gone afterwards, and the endpoint works again."""
    known = ids(filled.api)
    yield filled
    filled.endpoint.works = topics
    if more := sorted(ids(filled.api) - known):
        ok(filled.api.post("/memories/erase", {"ids": more}))


def ids(api: Api) -> set[str]:
    return {row["id"] for row in ok(api.get("/memories", limit=100))["items"]}


def models(api: Api) -> dict[str, Row]:
    return {row["name"]: row for row in ok(api.get("/embeddings/models"))["items"]}


def complete(api: Api) -> bool:
    row = models(api).get(NAME)
    return api.embedded() and row is not None and row["state"] == "second" and row["queued_at"] is not None and row["waiting"] == 0


def arms(api: Api, question: str, **fields: Any) -> list[Row]:
    """Arms that found each result, best first."""
    return [result["explain"]["arms"] for result in api.recall(question, explain=True, **fields)["results"]]


def scores(api: Api, question: str, **fields: Any) -> list[tuple[str, float, float]]:
    """What a recall answers: ids, scores and relevance."""
    return [(result["id"], result["score"], result["relevance"]) for result in api.recall(question, **fields)["results"]]


def test_it_finds_what_the_first_model_and_words_do_not(both: Both) -> None:
    assert both.plain.found(QUESTION, k=1) != ["Anna mends every car in our street"]
    assert both.api.found(QUESTION, k=1, weights=STRONG) == ["Anna mends every car in our street"]


def test_an_explanation_names_it_as_an_arm_with_its_weight_beside_that_of_meaning(both: Both) -> None:
    found = next(found for found in arms(both.api, QUESTION, k=50) if found.get("second", {}).get("rank") == 1)
    assert found["second"]["weight"] == pytest.approx(BESIDE * found["vector"]["weight"])
    assert found["second"]["part"] == pytest.approx(found["second"]["weight"])


def test_its_weight_may_be_stated_and_nought_leaves_it_unasked(both: Both) -> None:
    assert arms(both.api, QUESTION, weights=STRONG)[0]["second"]["weight"] == 4
    both.endpoint.asked = []
    assert scores(both.api, QUESTION, weights={"second": 0}) == scores(both.plain, QUESTION)
    assert both.endpoint.asked == []


@pytest.mark.parametrize("chosen", [["lexical"], ["lexical", "graph"]])
def test_the_second_model_is_not_asked_without_the_arm_of_meaning(both: Both, chosen: list[str]) -> None:
    both.endpoint.asked = []
    assert scores(both.api, QUESTION, arms=chosen) == scores(both.plain, QUESTION, arms=chosen)
    assert both.endpoint.asked == []


def test_a_service_that_names_no_second_model_does_not_ask_it(both: Both) -> None:
    both.endpoint.asked = []
    assert not any("second" in found for found in arms(both.plain, QUESTION))
    assert both.endpoint.asked == []


@pytest.mark.parametrize("fusion", ["linear", "rrf", "relative_score"])
def test_it_takes_part_in_every_fusion(both: Both, fusion: str) -> None:
    assert any("second" in found for found in arms(both.api, QUESTION, fusion=fusion))


def test_filters_hold_for_it(both: Both) -> None:
    found = both.api.recall(QUESTION, filters={"session_id": "s"})["results"]
    assert len(found) == 10
    assert all(result["content"].startswith("Note") for result in found)


def test_a_dead_endpoint_costs_its_arm_and_nothing_else(both: Both) -> None:
    both.endpoint.works = refuse
    with both.asking() as service:
        api = both.of(service)
        skipped = eventually(lambda: api.recall(QUESTION)["skipped"].get("second"))
        assert "503" in skipped
        assert scores(api, QUESTION) == scores(both.plain, QUESTION)


def test_a_slow_endpoint_is_not_waited_for(both: Both) -> None:
    free = threading.Event()

    def stand(texts: list[str]) -> tuple[int, Any, dict[str, str]]:
        free.wait(PATIENCE)
        return topics(texts)

    both.endpoint.works = stand
    try:
        with both.asking(query_timeout=0.1) as service:
            api = both.of(service)
            assert "within 0.1 s" in eventually(lambda: api.recall(QUESTION)["skipped"].get("second"))
            assert scores(api, QUESTION) == scores(both.plain, QUESTION)
    finally:
        free.set()


def test_a_memory_that_waits_counts_as_the_first_model_says(both: Both) -> None:
    fresh = both.api.write("The automobile is repaired by Carla")["id"]
    answer = both.api.recall(QUESTION, explain=True)
    found = next(result for result in answer["results"] if result["id"] == fresh)["explain"]["arms"]
    assert found["second"]["part"] == pytest.approx(BESIDE * found["vector"]["part"])


def test_a_namespace_most_of_which_waits_is_as_good_as_with_one_model(both: Both) -> None:
    for number in range(5):
        both.api.write(f"The automobile {number} is repaired by Carla")
    assert both.api.recall(QUESTION)["skipped"]["second"] == INCOMPLETE
    assert scores(both.api, QUESTION) == scores(both.plain, QUESTION)


def test_a_recall_over_several_namespaces_asks_it_in_each(both: Both) -> None:
    with new_api(both.api.service) as other:
        asked: Row = {"namespaces": [both.api.namespace, other.namespace], "weights": STRONG}
        assert both.api.found(QUESTION, k=1, **asked) == ["Anna mends every car in our street"]
        other.write("Dora drives a car")
        answer = both.api.recall(QUESTION, explain=True, **asked)
        assert answer["skipped"]["second"] == INCOMPLETE  # there, where the first model says what it counts
        dora = next(result for result in answer["results"] if result["namespace"] == other.namespace)["explain"]["arms"]
        assert dora["second"]["score"] == pytest.approx(dora["vector"]["part"] / dora["vector"]["weight"])


def test_a_logged_recall_says_what_it_found(both: Both) -> None:
    recall = both.api.recall(QUESTION, log=True, weights=STRONG)["recall_id"]
    logged = ok(both.api.get(f"/recalls/{recall}"))
    assert "second" in logged["memories"][0]["arms"]


def test_another_second_model_takes_its_place_where_there_is_little_to_embed(
    own_database: Database, start_service: Callable[..., Service], server: Any
) -> None:
    database = server.clone("replaced")
    with listening() as endpoint:
        endpoint.works = topics
        with serve(database, embedding=FIRST, second_embedding=second(endpoint)) as service, new_api(service) as api:
            api.write("a car")
            eventually(lambda: complete(api))
        other = {"provider": "static", "dimensions": 64}
        with serve(database, embedding=FIRST, second_embedding=other) as service, new_api(service) as api:
            eventually(lambda: {name: row["state"] for name, row in models(api).items()}.get(NAME) == "dropped")
            eventually(lambda: models(api)["static/wordllama-64"]["waiting"] == 0)
            assert models(api)["static/wordllama-64"]["state"] == "second"
    with database.admin() as admin:
        used = admin.execute(
            "select distinct m.name from loci_data.memory_vectors v join loci_data.embedding_models m on m.id = v.model_id"
        )
        assert {row[0] for row in used.fetchall()} == {"static/wordllama-256", "static/wordllama-64"}
    server.drop(database)


def test_the_default_model_beside_an_endpoint_weighs_less_and_answers_when_that_is_dead(server: Any) -> None:
    database = server.clone("beside")
    with listening() as endpoint:
        endpoint.works = topics
        with (
            serve(database, embedding=second(endpoint), second_embedding={"provider": "static"}) as service,
            new_api(service) as api,
        ):
            api.write("The dog chased the cat through the garden")
            api.write("Quarterly revenue grew by nine percent")
            eventually(lambda: [row["waiting"] for row in models(api).values() if row["state"] == "second"] == [0])
            eventually(api.embedded)
            found = next(found for found in arms(api, "puppy outdoors") if "second" in found and "vector" in found)
            assert found["second"]["weight"] == pytest.approx(found["vector"]["weight"] / BESIDE)
            endpoint.works = refuse
            answer = api.recall("puppy and kitten outdoors", k=1)
            assert "503" in answer["skipped"]["vector"]
            assert [result["content"] for result in answer["results"]] == ["The dog chased the cat through the garden"]
    server.drop(database)


@pytest.mark.parametrize(
    ("first", "beside", "said"),
    [
        ({"provider": "none"}, {"provider": "static"}, "no first one"),
        ({"provider": "static"}, {"provider": "static"}, "which is the first model"),
    ],
    ids=["no first", "the same"],
)
def test_settings_that_make_no_pair_are_refused(first: Row, beside: Row, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        make_active_provider(EmbeddingSettings(**first), SecondEmbeddingSettings(**beside))


def test_a_recall_waits_for_it_no_longer_than_leaves_it_time_to_answer() -> None:
    from service.embedding.second_model import second_settings

    settings = Settings(_env_file=None, second_embedding={"provider": "static", "query_timeout": 60}, deadlines={"read": 4})
    assert second_settings(settings).query_timeout == 2
