"""Working memory and conversation as arms of recall; relative scores; what the parts of a score are."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import exp
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.services import Api, Service, ok, problem
from tests.services import new_api as new_client

DIMENSIONS = 256  # of the static model
ENTRY_FIELDS = {"tier", "namespace", "key", "space", "value", "category", "tags", "stored_at", "expires_at", "score", "relevance"}
TURN_FIELDS = {"tier", "namespace", "id", "session_id", "role", "content", "metadata", "said_at", "score", "relevance"}


def call(api: Api, statement: Any, **parameters: Any) -> list[dict[str, Any]]:
    """Run a statement as the operator, past REST."""
    with psycopg.connect(api.service.database.app_url, row_factory=dict_row) as connection:
        connection.execute("select loci_api.begin_request(null, %s, 'writer')", [api.namespace])
        return connection.execute(statement, {"ns": api.namespace, **parameters}).fetchall()


def save(api: Api, key: str, value: Any, **fields: Any) -> None:
    """Write an entry of working memory."""
    call(
        api,
        "select * from loci_api.save_working_memory(%(ns)s, %(key)s, %(value)s, %(ttl)s, %(category)s, %(tags)s)",
        key=key,
        value=Jsonb(value),
        **{"ttl": 300, "category": None, "tags": None, **fields},
    )


def say(api: Api, session: str, *turns: str) -> None:
    """Add turns to a session."""
    said = [{"role": "user", "content": turn} for turn in turns]
    call(api, "select * from loci_api.add_turns(%(ns)s, %(s)s, %(t)s)", s=session, t=Jsonb(said))


def pointing(similarity: float) -> list[float]:
    """A unit vector with this cosine to the first axis."""
    return [similarity, (1 - similarity**2) ** 0.5] + [0.0] * (DIMENSIONS - 2)


@pytest.fixture
def tiers(api: Api) -> Api:
    """A memory, an entry and two turns about apples."""
    api.write("apple trees grow in the orchard", category="garden", tags=["fruit"])
    save(api, "session/abc/apples", "three apple crates arrived", category="garden/stock", tags=["fruit", "today"])
    say(api, "s1", "when are the apple crates due?")
    say(api, "s2", "I like apple pie")
    return api


def tiers_of(answer: dict[str, Any]) -> list[str]:
    return sorted(result["tier"] for result in answer["results"])


# Tiers


def test_other_tiers_take_part_only_when_asked(tiers: Api) -> None:
    assert tiers_of(tiers.recall("apple crates")) == ["memory"]
    answer = tiers.recall("apple crates", arms=["lexical", "working_memory", "conversation"])
    assert tiers_of(answer) == ["conversation", "conversation", "memory", "working_memory"]
    assert answer["skipped"] == {}


def test_every_result_says_its_tier_and_namespace_and_has_the_fields_of_its_tier(tiers: Api) -> None:
    results = tiers.recall("apple crates", arms=["lexical", "working_memory", "conversation"])["results"]
    by_tier = {result["tier"]: result for result in results}
    assert {result["namespace"] for result in results} == {tiers.namespace}
    assert set(by_tier["working_memory"]) == ENTRY_FIELDS
    assert set(by_tier["conversation"]) == TURN_FIELDS
    entry = by_tier["working_memory"]
    assert (entry["key"], entry["value"], entry["category"], entry["tags"]) == (
        "session/abc/apples",
        "three apple crates arrived",
        "garden/stock",
        ["fruit", "today"],
    )


@pytest.mark.row("R10")
def test_tiers_are_fused_with_the_weights_of_the_settings(tiers: Api) -> None:
    ok(tiers.client.patch(f"/namespaces/{tiers.namespace}", json={"settings": {"weights": {"working_memory": 3.0}}}))
    results = tiers.recall("apple crates", arms=["lexical", "working_memory", "conversation"], explain=True)["results"]
    assert results[0]["tier"] == "working_memory"
    for result in results:
        assert result["score"] == pytest.approx(sum(arm["part"] for arm in result["explain"]["arms"].values()))
    weights = {name: arm["weight"] for result in results for name, arm in result["explain"]["arms"].items()}
    assert weights == {"lexical": 1.0, "working_memory": 3.0, "conversation": 0.7}


def test_weights_of_a_request_count_for_other_tiers_too(tiers: Api) -> None:
    arms = ["lexical", "working_memory", "conversation"]
    assert tiers.recall("apple crates", arms=arms, weights={"conversation": 9})["results"][0]["tier"] == "conversation"
    assert tiers.recall("apple crates", arms=arms, weights={"lexical": 9})["results"][0]["tier"] == "memory"


def test_an_expired_entry_is_not_recalled(api: Api) -> None:
    save(api, "session/abc/apples", "three apple crates", ttl=300)
    with api.service.database.admin() as admin:
        admin.execute("update loci_data.working_memory set expires_at = now() where key = 'session/abc/apples'")
    assert api.recall("apple crates", arms=["working_memory"])["results"] == []


@pytest.mark.parametrize(
    ("filters", "entries"),
    [
        ({"category": "garden"}, 1),
        ({"category": "kitchen"}, 0),
        ({"tags": ["today"]}, 1),
        ({"tags": ["yesterday"]}, 0),
        ({"category": "garden", "tags": ["fruit"]}, 1),
    ],
    ids=str,
)
def test_category_and_tags_hold_in_working_memory(tiers: Api, filters: dict[str, Any], entries: int) -> None:
    answer = tiers.recall("apple crates", arms=["working_memory"], filters=filters)
    assert (len(answer["results"]), answer["skipped"]) == (entries, {})


@pytest.mark.parametrize(
    ("question", "skipped"),
    [
        ({"filters": {"layers": [2]}}, {"working_memory", "conversation"}),
        ({"filters": {"category": "garden"}}, {"conversation"}),
        ({"filters": {"session_id": "s1"}}, {"working_memory"}),
        ({"as_of": "2020-01-01T00:00:00Z"}, {"working_memory", "conversation"}),
        ({"known_at": "2020-01-01T00:00:00Z"}, {"working_memory", "conversation"}),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_a_tier_that_cannot_keep_to_a_filter_is_left_out_and_says_so(
    tiers: Api, question: dict[str, Any], skipped: set[str]
) -> None:
    answer = tiers.recall("apple crates", arms=["lexical", "working_memory", "conversation"], **question)
    assert set(answer["skipped"]) == skipped
    assert not skipped & set(tiers_of(answer))


@pytest.mark.parametrize(
    ("question", "sessions"),
    [
        ({}, ["s1", "s2"]),
        ({"session_id": "s1"}, ["s1"]),
        ({"filters": {"session_id": "s2"}}, ["s2"]),
        ({"session_id": "s1", "filters": {"session_id": "s2"}}, ["s2"]),
    ],
    ids=str,
)
def test_conversation_is_that_of_the_filter_else_of_the_asker_else_all(
    tiers: Api, question: dict[str, Any], sessions: list[str]
) -> None:
    results = tiers.recall("apple", arms=["conversation"], **question)["results"]
    assert sorted(result["session_id"] for result in results) == sessions


def test_other_tiers_bring_no_neighbours_of_theirs_and_hide_none_of_the_memories(tiers: Api) -> None:
    for number in range(3):
        tiers.write(f"turn {number} of an apple talk", session_id="talk", layer=3)
    alone = {result["id"] for result in tiers.recall("apple", k=50)["results"]}
    together = tiers.recall(
        "apple", k=50, arms=["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]
    )
    assert {result["id"] for result in together["results"] if result["tier"] == "memory"} == alone


def test_an_unknown_arm_is_refused_by_name(api: Api) -> None:
    body = problem(api.post("/recall", {"query": "x", "arms": ["lexical", "dreams"]}), 422, "invalid-request")
    assert body["errors"][0]["field"].startswith("arms")


# Relative scores


@pytest.fixture
def stated(api: Api) -> Api:
    """Memories with vectors and words of known strength."""
    api.write("apple apple apple", embedding=pointing(0.6))
    api.write("apple", embedding=pointing(0.4))
    api.write("quince", embedding=pointing(0.9))
    api.write("medlar", embedding=pointing(0.3))
    return api


def test_a_relative_score_is_the_mean_over_the_arms_that_found_anything(stated: Api) -> None:
    results = stated.recall("apple", arms=["lexical", "vector"], embedding=pointing(1.0), fusion="relative_score", explain=True)[
        "results"
    ]
    found = {result["content"]: result for result in results}
    words = {
        content: result["explain"]["arms"]["lexical"]["score"]
        for content, result in found.items()
        if "lexical" in result["explain"]["arms"]
    }
    best = max(words.values())
    assert found["quince"]["score"] == pytest.approx(0.5)  # the best of the vector arm, and of no other
    assert found["apple apple apple"]["score"] == pytest.approx((words["apple apple apple"] / best + 0.6 / 0.9) / 2, abs=1e-3)
    assert found["apple"]["score"] == pytest.approx(words["apple"] / best / 2)  # its cosine is below the floor
    assert "medlar" not in found


@pytest.mark.row("R2")
def test_relative_scores_are_what_their_explanation_says(stated: Api) -> None:
    results = stated.recall("apple", arms=["lexical", "vector"], embedding=pointing(1.0), fusion="relative_score", explain=True)[
        "results"
    ]
    for result in results:
        shares = [arm["part"] for arm in result["explain"]["arms"].values() if arm["part"] is not None]
        assert result["score"] == pytest.approx(sum(shares) / 2)
        assert 0 <= result["score"] <= 1
        assert (result["explain"]["lent"], result["explain"]["rrf_k"]) == (0, None)
    apple = next(result for result in results if result["content"] == "apple")
    assert apple["explain"]["arms"]["vector"]["part"] is None


def test_a_namespace_says_how_it_fuses_and_a_request_differently(stated: Api) -> None:
    asked = {"arms": ["lexical", "vector"], "embedding": pointing(1.0), "explain": True}

    def fused(**fields: Any) -> tuple[str, dict[str, float]]:
        results = stated.recall("apple", **asked, **fields)["results"]
        return results[0]["explain"]["fusion"], {result["content"]: result["score"] for result in results}

    plain = fused()
    ok(
        stated.client.patch(
            f"/namespaces/{stated.namespace}", json={"settings": {"fusion": "relative_score", "relative_similarity": 0.95}}
        )
    )
    assert (plain[0], fused()[0], fused(fusion="linear")) == ("linear", "relative_score", plain)
    assert "quince" not in fused()[1]  # its cosine is 0.9
    ok(stated.client.patch(f"/namespaces/{stated.namespace}", json={"settings": {"fusion": "rrf"}}))
    assert fused() == fused(fusion="rrf")
    wrong = problem(
        stated.client.patch(f"/namespaces/{stated.namespace}", json={"settings": {"fusion": "borda"}}), 422, "invalid-request"
    )
    assert "linear or rrf or relative_score" in wrong["detail"]


def test_a_context_fuses_as_its_namespace_says(stated: Api) -> None:
    def scores() -> list[float]:
        return [row["score"] for row in ok(stated.post("/context", {"message": "apple", "preview": True}))["memories"]]

    plain = scores()
    ok(stated.client.patch(f"/namespaces/{stated.namespace}", json={"settings": {"fusion": "relative_score"}}))
    assert scores() != plain
    assert scores() == [row["score"] for row in stated.recall("apple", fusion="relative_score", k=len(plain))["results"]]


def test_relative_scores_owe_nothing_to_neighbours_nor_to_weights(api: Api) -> None:
    for number, turn in enumerate(["Where did you go last summer?", "Norway.", "Nice!"]):
        api.write(turn, session_id="s", layer=3, valid_from=f"2020-01-01T00:0{number}:00Z")
    plain = api.recall("summer", arms=["lexical"], fusion="relative_score")
    assert [(result["content"], result["score"]) for result in plain["results"]] == [("Where did you go last summer?", 1.0)]
    weighted = api.recall("summer", arms=["lexical"], fusion="relative_score", weights={"lexical": 0.1}, rrf_k=100)
    assert [result["score"] for result in weighted["results"]] == [1.0]


def test_relative_scores_average_over_the_other_tiers_too(tiers: Api) -> None:
    results = tiers.recall("apple crates", arms=["lexical", "working_memory", "conversation"], fusion="relative_score")["results"]
    assert [result["score"] for result in results if result["tier"] == "working_memory"] == [pytest.approx(1 / 3)]
    assert all(0 <= result["score"] <= 1 for result in results)


# Explanations


@pytest.mark.row("R4")
def test_an_explanation_says_what_a_hit_owes_to_its_neighbours(api: Api) -> None:
    for number, turn in enumerate(["Where did you go last summer?", "Norway.", "Nice!"]):
        api.write(turn, session_id="s", layer=3, valid_from=f"2020-01-01T00:0{number}:00Z")
    results = api.recall("summer", arms=["lexical"], explain=True)["results"]
    found = {result["content"]: result for result in results}
    asked, answer = found["Where did you go last summer?"], found["Norway."]
    assert (asked["score"], asked["explain"]["lent"]) == (1, 0)
    assert (answer["explain"]["arms"], answer["explain"]["lent"]) == ({}, pytest.approx(0.5))  # of the turn beside it
    assert found["Nice!"]["explain"]["lent"] == pytest.approx(0.25)
    assert answer["explain"]["because"] == "0.5 = neighbours 0.5"


@pytest.mark.row("R10")
def test_a_name_shared_by_long_memories_counts_less(api: Api) -> None:
    """A long memory has many names. One that it shares with another says little."""

    def names_part() -> float:
        for content in ("Oslo Harbour belongs to Marta Quist", "Marta Quist paints crates"):
            named = [{"name": name} for name in ("Oslo Harbour", "Marta Quist") if name in content]
            api.write(f"{content}{filler}", entities=named)
        results = api.recall("Who owns Oslo Harbour?", arms=["lexical", "graph"], explain=True)["results"]
        return max(result["explain"]["arms"]["names"]["part"] for result in results if "names" in result["explain"]["arms"])

    filler = ""
    short = names_part()
    filler = "".join(f" word{number}" for number in range(400))
    assert names_part() < 0.5 * short


def test_the_speaker_counts_and_the_explanation_says_so(api: Api) -> None:
    for source, lake in (("Caroline", "lake"), ("Melanie", "river"), ("assistant", "sea")):
        api.write(f"I have painted a sunrise over the {lake}", source=source, session_id=source)
    results = api.recall("When did Caroline paint the sunrise?", arms=["lexical"], explain=True)["results"]
    assert {result["source"]: result["explain"]["factor"] for result in results} == {
        "Caroline": 2.0,
        "Melanie": 1.0,
        "assistant": 0.5,
    }
    assert results[0]["source"] == "Caroline"
    assert results[0]["explain"]["because"].endswith("× 2 (said by Caroline)")
    both = api.recall("What did Caroline and Melanie paint?", arms=["lexical"], explain=True)["results"]
    assert {result["explain"]["factor"] for result in both if result["source"] != "assistant"} == {1.0}
    (asked,) = (r for r in api.recall("What has the assistant painted?", explain=True)["results"] if r["source"] == "assistant")
    assert asked["explain"]["factor"] == 2.0
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"speaker_weight": 1, "assistant_weight": 1}}))
    assert {r["explain"]["factor"] for r in api.recall("Caroline sunrise", explain=True)["results"]} == {1.0}


@pytest.mark.parametrize("fusion", ["linear", "rrf"])
def test_an_explanation_adds_up(api: Api, fusion: str) -> None:
    for number, (source, turn) in enumerate(
        [("Ann", "Bob Stone moved to Oslo"), ("assistant", "Oslo is cold"), ("Ann", "He likes it")]
    ):
        api.write(turn, source=source, session_id="s", layer=3, valid_from=f"2020-01-01T00:0{number}:00Z")
    api.write("Bob Stone paints crates", entities=[{"name": "Bob Stone"}], category="people/bob")
    for question in ("What did Ann say of Oslo?", "crates", "Who is Bob Stone?"):
        for result in api.recall(question, fusion=fusion, explain=True)["results"]:
            explained = result["explain"]
            sum_ = sum(arm["part"] for arm in explained["arms"].values()) + explained["added"] + explained["lent"]
            assert result["score"] == pytest.approx(sum_ * explained["factor"])
            assert explained["because"].startswith(f"{result['score']:.3g} = ")


@pytest.mark.row("R4")
def test_the_path_of_the_graph_arm_says_what_decay_did(api: Api) -> None:
    api.write("Bob likes tea", entities=[{"name": "Bob"}])
    api.write("the rocket has three stages", entities=[{"name": "RockBot"}])
    edge = {"source": "Bob", "type": "works_on", "target": "RockBot", "confidence": 0.8}
    ok(api.post("/edges", {**edge, "observed_at": (datetime.now(UTC) - timedelta(days=30)).isoformat()}), 201)
    results = api.recall("Who is Bob?", arms=["graph"], explain=True)["results"]
    path = next(r["explain"]["arms"]["graph"]["path"] for r in results if r["content"] == "the rocket has three stages")
    (step,) = path["decay"]
    assert path["path"] == ["Bob", "--works_on-->", "RockBot"]
    assert step["observed_confidence"] == pytest.approx(0.8)
    assert step["confidence"] == pytest.approx(0.8 * exp(-0.01 * 30), abs=1e-3)


# Anti-patterns

ANTI_PATTERNS = [
    (
        "anti-patterns/file-operations",
        "Don't use `search_files` for content search — use `grep`; BM25 recall returns better results",
    ),
    (
        "anti-patterns/email",
        "Don't send emails without confirming recipient — user may have multiple addresses for different contexts",
    ),
]


@pytest.fixture
def warned(api: Api) -> Api:
    """Anti-patterns among regular memories."""
    for category, content in ANTI_PATTERNS:
        api.write(content, category=category, tags=["anti-pattern"])
    for content in (
        "The search for file contents of a project starts in its src folder",
        "Emails to the team go out on Friday",
        "User is in Chicago (America/Chicago, UTC-6)",
        "The cat sleeps on the sofa",
    ):
        api.write(content, category="general")
    return api


@pytest.mark.parametrize(
    ("question", "category", "beside"),
    [
        (
            "How do I search the contents of files?",
            "anti-patterns/file-operations",
            "The search for file contents of a project starts in its src folder",
        ),
        ("Please send an email to the team", "anti-patterns/email", "Emails to the team go out on Friday"),
    ],
)
@pytest.mark.parametrize("arms", [["lexical"], None], ids=["words", "all arms"])
def test_an_anti_pattern_surfaces_beside_regular_memories(
    warned: Api, question: str, category: str, beside: str, arms: list[str] | None
) -> None:
    results = warned.recall(question, k=3, arms=arms)["results"]
    assert category in [result["category"] for result in results]
    assert beside in [result["content"] for result in results]


@pytest.mark.parametrize(
    ("question", "category"),
    [("search the contents of files", "anti-patterns/file-operations"), ("send an email", "anti-patterns/email")],
)
def test_anti_patterns_alone_are_asked_for_by_their_category(warned: Api, question: str, category: str) -> None:
    results = warned.recall(question, filters={"category": "anti-patterns"})["results"]
    assert {result["category"].split("/")[0] for result in results} == {"anti-patterns"}
    assert results[0]["category"] == category
    assert ok(warned.get("/memory/search", q=question, category="anti-patterns"))["results"][0]["category"] == category


# Lexical search with entity context


@pytest.fixture
def known(api: Api) -> Api:
    """Alice, with a rule about her, and two memories that mention her and others."""
    api.write(
        "Alice drinks tea",
        category="people/alice",
        tags=["drink"],
        entities=[{"name": "Alice", "type": "person"}, {"name": "Tea", "type": "topic"}],
    )
    api.write("tea is grown in Assam", category="places", tags=["trade", "drink"], entities=[{"name": "Assam", "type": "place"}])
    under = ok(api.post("/entities/Alice/aspects", {"name": "Diet"}), 201)["id"]
    ok(api.post(f"/aspects/{under}/attributes", {"content": "never serve nuts", "kind": "constraint"}), 201)
    return api


def test_lexical_search_shows_what_the_graph_knows_about_question_and_results(known: Api) -> None:
    found = ok(known.get("/memory/search", q="What tea does Alice drink?"))
    assert {entity["name"] for entity in found["entities"]} >= {"Alice"}
    assert [rule["content"] for rule in found["constraints"]] == ["never serve nuts"]
    mentioned = {result["content"]: {entity["name"] for entity in result["entities"]} for result in found["results"]}
    assert mentioned["Alice drinks tea"] == {"Alice", "Tea"}
    assert "Assam" in mentioned["tea is grown in Assam"]
    assert {entity["type"] for result in found["results"] for entity in result["entities"] if entity["name"] == "Alice"} == {
        "person"
    }


def test_lexical_search_without_anything_known_has_no_context(api: Api) -> None:
    api.write("nobody drinks tea")
    found = ok(api.get("/memory/search", q="tea"))
    assert (found["entities"], found["constraints"]) == ([], [])
    assert [result["entities"] for result in found["results"]] == [[]]
    assert ok(api.get("/memory/search", q="coffee")) == {"results": [], "entities": [], "constraints": []}


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"category": "people"}, ["Alice drinks tea"]),
        ({"tags": "trade"}, ["tea is grown in Assam"]),
        ({"tags": ["trade", "drink"]}, ["Alice drinks tea", "tea is grown in Assam"]),
        ({"category": "people", "tags": "trade"}, []),
        ({"limit": 1, "category": "places"}, ["tea is grown in Assam"]),
    ],
    ids=str,
)
def test_lexical_search_is_filtered_by_category_and_tags(known: Api, params: dict[str, Any], found: list[str]) -> None:
    results = ok(known.get("/memory/search", q="tea", **params))["results"]
    assert sorted(result["content"] for result in results) == found


@pytest.mark.parametrize(
    ("params", "field"), [({"category": "a//b"}, "category"), ({"tags": ""}, "tags"), ({"limit": 0}, "limit")], ids=str
)
def test_a_wrong_filter_of_a_lexical_search_is_named(api: Api, params: dict[str, Any], field: str) -> None:
    body = problem(api.get("/memory/search", q="tea", **params), 422, "invalid-request")
    assert field in body["errors"][0]["field"]


@pytest.mark.row("R5")
def test_without_a_model_other_tiers_answer_too(start_service: Callable[..., Service]) -> None:
    with new_client(start_service(embedding={"provider": "none"})) as api:
        save(api, "session/abc/apples", "three apple crates")
        answer = api.recall("apple", arms=["vector", "working_memory"])
        assert (tiers_of(answer), set(answer["skipped"])) == (["working_memory"], {"vector"})
