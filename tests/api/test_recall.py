"""Recall over REST: arms alone and together, filters, times, explanations."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.services import Api, Service, eventually, new_api, ok, problem

SKILLS = [
    ("Programming", None, 0),
    ("Functional Programming", "Programming", 1),
    ("experienced with Haskell", "Functional Programming", 2),
    ("has used Erlang", "Functional Programming", 2),
    ("gave a talk on monads", "experienced with Haskell", 3),
]
DIMENSIONS = 256  # of the static model


@pytest.fixture
def skills(api: Api) -> dict[str, str]:
    """A hierarchy whose members share no word with each other."""
    ids: dict[str, str] = {}
    for content, parent, layer in SKILLS:
        ids[content] = api.write(content, layer=layer, parent_id=ids[parent] if parent else None)["id"]
    return ids


def pointing(similarity: float) -> list[float]:
    """A unit vector with this cosine to the first axis."""
    return [similarity, (1 - similarity**2) ** 0.5] + [0.0] * (DIMENSIONS - 2)


@pytest.mark.row("R1")
def test_the_hierarchy_finds_parent_siblings_and_children_of_a_hit(api: Api, skills: dict[str, str]) -> None:
    answer = api.recall("Haskell", arms=["lexical", "hierarchy"], explain=True)
    by_content = {result["content"]: result["explain"]["arms"] for result in answer["results"]}
    assert set(by_content) == {
        "experienced with Haskell",
        "Functional Programming",
        "has used Erlang",
        "gave a talk on monads",
    }
    relations = {content: arms["hierarchy"]["path"]["relation"] for content, arms in by_content.items() if "hierarchy" in arms}
    assert relations == {
        "Functional Programming": "parent",
        "has used Erlang": "sibling",
        "gave a talk on monads": "child",
    }


def test_technical_skills_are_found_by_meaning_and_what_stands_around_them_by_structure(api: Api) -> None:
    """The vectors are stated: one memory is nearest to the question, its relatives are farther than 150 other memories."""
    ids: dict[str, str] = {}
    for content, parent, layer in SKILLS:
        vector = pointing(0.9 if content == "experienced with Haskell" else 0.0)
        ids[content] = api.write(content, layer=layer, parent_id=ids[parent] if parent else None, embedding=vector)["id"]
    others = [{"content": f"something else {n}", "embedding": pointing(0.5 - n / 1000)} for n in range(150)]
    ok(api.post("/memories/batch", {"items": others, "atomic": True}))
    results = api.recall("technical skills", embedding=pointing(1.0), explain=True)["results"]
    found = {result["content"]: result["explain"]["arms"] for result in results}
    assert results[0]["content"] == "experienced with Haskell"
    assert results[0]["explain"]["arms"]["vector"]["rank"] == 1
    relations = {content: arms["hierarchy"]["path"] for content, arms in found.items() if "vector" not in arms}
    haskell = ids["experienced with Haskell"]
    assert relations == {
        "Functional Programming": {"from": haskell, "relation": "parent"},
        "has used Erlang": {"from": haskell, "relation": "sibling"},
        "gave a talk on monads": {"from": haskell, "relation": "child"},
    }


def test_technical_skills_lead_to_the_whole_branch_with_the_default_model(api: Api, skills: dict[str, str]) -> None:
    for other in ("lives in Oslo near the harbour", "plays the violin on Sundays", "the cat sleeps on the sofa", "Cooking"):
        api.write(other)
    eventually(api.embedded)
    assert set(api.found("technical skills", k=5)) == {content for content, _, _ in SKILLS}


@pytest.mark.row("R1")
def test_a_link_leads_to_what_the_words_do_not(api: Api) -> None:
    a, b = api.write("Alice moved to Oslo")["id"], api.write("the flat has four rooms")["id"]
    api.post(f"/memories/{a}/links", {"target_id": b, "type": "is_about", "strength": 0.9})
    (_, linked) = api.recall("Oslo", arms=["lexical", "hierarchy"], explain=True)["results"]
    assert (linked["content"], linked["explain"]["arms"]["hierarchy"]["path"]["relation"]) == (
        "the flat has four rooms",
        "is_about",
    )


@pytest.mark.parametrize(
    ("question", "found"), [("Oslo", ["Alice moved to Oslo", "she sold that flat"]), ("sold", ["she sold that flat"])]
)
def test_a_possibly_outdated_hit_gains_nothing_and_the_newer_one_does(api: Api, question: str, found: list[str]) -> None:
    older, newer = api.write("Alice moved to Oslo")["id"], api.write("she sold that flat")["id"]
    api.post(f"/memories/{newer}/links", {"target_id": older, "type": "contradicts", "strength": 0.9})
    assert api.found(question, arms=["lexical", "hierarchy"]) == found


def test_the_vector_arm_finds_a_meaning_without_a_common_word(api: Api) -> None:
    api.write("The dog chased the cat through the garden.")
    api.write("Quarterly revenue grew by nine percent.")
    eventually(api.embedded)
    assert api.found("puppy and kitten outdoors", arms=["lexical"]) == []
    assert api.found("puppy and kitten outdoors", arms=["vector"])[0] == "The dog chased the cat through the garden."


@pytest.mark.row("R1")
def test_the_graph_arm_finds_what_is_connected_to_a_name(api: Api) -> None:
    api.write("Bob likes tea", entities=[{"name": "Bob"}])
    api.write("the rocket has three stages", entities=[{"name": "RockBot"}])
    api.post("/edges", {"source": "Bob", "type": "works_on", "target": "RockBot"})
    answer = api.recall("Who is Bob?", arms=["graph"], explain=True)
    assert {"Bob likes tea", "the rocket has three stages"} == {result["content"] for result in answer["results"]}
    assert [entity["name"] for entity in answer["entities"]] == ["Bob"]
    assert all(result["explain"]["arms"]["graph"]["path"] for result in answer["results"])


@pytest.mark.row("R1")
@pytest.mark.parametrize("arm", ["lexical", "vector", "graph", "hierarchy"])
def test_each_arm_works_alone(api: Api, arm: str) -> None:
    api.write("Alice lives in Oslo", entities=[{"name": "Alice"}])
    eventually(api.embedded)
    answer = api.recall("Alice", arms=[arm], explain=True)
    assert answer["skipped"] == {}
    parts = {"graph", "names"} if arm == "graph" else {arm}
    assert {name for result in answer["results"] for name in result["explain"]["arms"]} <= parts
    assert bool(answer["results"]) == (arm != "hierarchy")  # which needs a hit of another arm to start from


@pytest.mark.row("R1", "R4")
def test_the_explanation_holds_rank_score_and_weight_of_every_arm(api: Api) -> None:
    api.write("Alice lives in Oslo")
    eventually(api.embedded)
    (result,) = api.recall("Where does Alice live?", explain=True, weights={"lexical": 2.0, "vector": 1.0}, rrf_k=60, fusion="rrf")[
        "results"
    ]
    assert (result["explain"]["fusion"], result["explain"]["rrf_k"]) == ("rrf", 60)
    arms = result["explain"]["arms"]
    assert {"lexical", "vector"} <= set(arms)
    assert {name: (arms[name]["rank"], arms[name]["weight"]) for name in ("lexical", "vector")} == {
        "lexical": (1, 2.0),
        "vector": (1, 1.0),
    }
    assert result["score"] == pytest.approx(sum(arm["weight"] / (60 + arm["rank"]) for arm in arms.values()))


def test_a_vector_of_another_length_is_refused_by_its_field(api: Api) -> None:
    api.write("Alice lives in Oslo")
    eventually(api.embedded)
    wrong = problem(api.post("/recall", {"query": "Alice", "embedding": [1.0, 0.0]}), 422, "invalid-request")
    assert [error["field"] for error in wrong["errors"]] == ["embedding"]


def test_there_is_no_explanation_unless_it_is_asked_for(api: Api) -> None:
    api.write("Alice lives in Oslo")
    assert "explain" not in api.recall("Alice")["results"][0]


@pytest.mark.row("R10")
def test_a_weight_of_nought_silences_an_arm(api: Api) -> None:
    api.write("Alice lives in Oslo")
    assert api.recall("Alice", arms=["lexical"], weights={"lexical": 0})["results"][0]["score"] == 0


@pytest.mark.parametrize("fusion", ["linear", "rrf", "relative_score"])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_at_most_k_results_best_first(api: Api, fusion: str, k: int) -> None:
    api.post("/memories/batch", {"items": [{"content": f"apple {'pear ' * n}"} for n in range(8)]})
    scores = [result["score"] for result in api.recall("apple", k=k, fusion=fusion, arms=["lexical"])["results"]]
    assert len(scores) == min(k, 8)
    assert scores == sorted(scores, reverse=True)


def test_the_same_question_has_the_same_answer(api: Api) -> None:
    api.post("/memories/batch", {"items": [{"content": f"apple {n}", "session_id": "s"} for n in range(30)]})
    eventually(api.embedded)
    assert len({tuple(api.found("apple")) for _ in range(5)}) == 1


@pytest.fixture(scope="module")
def apples(service: Service) -> Iterator[Api]:
    """Two memories that are only asked about, which differ in everything."""
    with new_api(service) as api:
        a = api.write("apple a", category="a/b", session_id="s", source="Ann", valid_from="2020-01-01T00:00:00Z")["id"]
        api.write("apple b", tags=["t"], layer=3, metadata={"k": 1}, parent_id=a, entities=[{"name": "Zeus"}])
        eventually(api.embedded)
        yield api


@pytest.mark.row("R3")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"category": "a"}, ["apple a"]),
        ({"tags": ["t"]}, ["apple b"]),
        ({"layers": [3]}, ["apple b"]),
        ({"session_id": "s"}, ["apple a"]),
        ({"metadata": {"k": 1}}, ["apple b"]),
        ({"source": "Ann"}, ["apple a"]),
        ({"valid_before": "2021-01-01T00:00:00Z"}, ["apple a"]),
        ({"entity": "Zeus"}, ["apple b"]),
    ],
    ids=str,
)
def test_filters_hold_in_every_arm(apples: Api, filters: dict[str, Any], found: list[str]) -> None:
    assert apples.found("apple Zeus", filters=filters) == found


def test_the_subtree_filter_takes_the_node_and_all_below(api: Api, skills: dict[str, str]) -> None:
    eventually(api.embedded)
    found = api.found("programming Haskell Erlang monads", filters={"under": skills["experienced with Haskell"]})
    assert set(found) == {"experienced with Haskell", "gave a talk on monads"}


@pytest.mark.parametrize(
    ("as_of", "found"),
    [
        ("2019-01-01T00:00:00Z", []),
        ("2020-06-01T00:00:00Z", ["Alice lives in Oslo"]),
        ("2021-06-01T00:00:00Z", ["Alice lives in Paris"]),
        (None, ["Alice lives in Paris"]),
    ],
)
def test_recall_excludes_what_was_not_valid_at_as_of(api: Api, as_of: str | None, found: list[str]) -> None:
    api.write("Alice lives in Oslo", lineage="city", valid_from="2020-01-01T00:00:00Z")
    api.write("Alice lives in Paris", lineage="city", valid_from="2021-01-01T00:00:00Z")
    eventually(api.embedded)
    assert api.found("Where does Alice live?", as_of=as_of) == found


def test_recall_known_at_an_earlier_moment_answers_with_the_old_belief(api: Api) -> None:
    first = api.write("Alice lives in Oslo", lineage="city", valid_from="2020-01-01T00:00:00Z")
    api.write("Alice lives in Paris", lineage="city", valid_from="2020-01-01T00:00:00Z")
    assert api.found("Where does Alice live?", known_at=first["recorded_at"]) == ["Alice lives in Oslo"]


@pytest.mark.row("R8")
def test_a_hit_lends_score_to_its_neighbours_in_the_session(api: Api) -> None:
    turns = ["Where did you go last summer?", "Norway.", "Nice!", "Who came along?", "Nobody."]
    api.post(
        "/memories/batch",
        {
            "items": [
                {"content": turn, "session_id": "s", "layer": 3, "valid_from": f"2020-01-01T00:0{n}:00Z"}
                for n, turn in enumerate(turns)
            ]
        },
    )
    assert api.found("summer", arms=["lexical"])[:2] == ["Where did you go last summer?", "Norway."]


@pytest.mark.parametrize("query", ["?", "the of and", "🙂", "a" * 5000, "' or 1=1 --", "SELECT * FROM loci_data.memories"])
def test_any_question_has_an_answer(api: Api, query: str) -> None:
    api.write("Alice lives in Oslo")
    assert isinstance(api.recall(query)["results"], list)


def test_a_question_with_its_own_vector_needs_no_provider(api: Api) -> None:
    api.write("Alice lives in Oslo")
    eventually(api.embedded)
    assert api.found("nonsense", arms=["vector"], embedding=[0.1] * 256) == ["Alice lives in Oslo"]


def test_an_empty_namespace_answers_with_nothing(api: Api) -> None:
    assert api.recall("Alice")["results"] == []


# Without a model


@pytest.fixture
def plain(start_service: Callable[..., Any]) -> Iterator[Api]:
    """A namespace of a service without embeddings."""
    with new_api(start_service(embedding={"provider": "none"})) as client:
        yield client


@pytest.mark.row("R5")
def test_without_a_model_the_other_arms_answer_with_no_error(plain: Api) -> None:
    plain.write("Alice lives in Oslo", entities=[{"name": "Alice"}])
    answer = plain.recall("Alice")
    assert [result["content"] for result in answer["results"]] == ["Alice lives in Oslo"]
    assert "vector" in answer["skipped"]


def test_without_a_model_a_vector_of_ones_own_is_refused_by_name(plain: Api) -> None:
    body = problem(plain.post("/memories", {"content": "x", "embedding": [1.0]}), 422, "invalid-request")
    assert body["errors"][0]["field"] == "embedding"
    assert plain.size()["memories"] == 0


def test_entities_and_the_graph_arm_go_by_the_names_and_merges_of_then(api: Api) -> None:
    api.write("the harbour is quiet", valid_from="2020-01-10T00:00:00Z", layer=3, entities=[{"name": "Robert", "aliases": ["Rob"]}])
    api.write("a firm of tailors", valid_from="2020-01-20T00:00:00Z", layer=3, entities=[{"name": "Rob & Co."}, {"name": "Acme"}])
    before = api.write("nothing of them")["recorded_at"]
    ok(api.client.patch("/entities/Robert", json={"name": "Bob"}))
    ok(api.client.patch("/entities/Bob", json={"aliases": []}))
    ok(api.post("/entities/Acme/merge", {"other": "Rob & Co."}))

    def named(question: str, **moments: str) -> tuple[list[str], list[str]]:
        answer = api.recall(question, arms=["graph"], **moments)
        return [entity["name"] for entity in answer["entities"]], [result["content"] for result in answer["results"]]

    assert named("Who is Robert?") == ([], [])
    assert named("Who is Robert?", known_at=before) == (["Robert"], ["the harbour is quiet"])
    assert named("Who is Bob?", known_at=before) == ([], [])
    assert set(named("Who is Rob & Co.?", known_at=before)[0]) == {"Rob & Co.", "Robert"}
    assert "a firm of tailors" in named("Who is Rob & Co.?", known_at=before)[1]  # whose mentions have moved since
    assert named("Who is Bob?", as_of="2020-01-15T00:00:00Z") == (["Bob"], ["the harbour is quiet"])
    assert named("Who is Bob?", as_of="2020-01-05T00:00:00Z") == ([], [])
    assert named("Who is Acme?", as_of="2020-01-15T00:00:00Z") == ([], [])
    assert named("Who is Bob?", known_at="2020-01-15T00:00:00Z") == ([], [])
