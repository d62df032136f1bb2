"""Enrichment: a memory is stored at once as it was said; a model puts it into good form later, and can neither lose nor add anything."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from service.mcp.tools.catalogue import TOOLS
from tests.llm.model_server import ModelServer, model_server
from tests.services import Api, Service, eventually, new_api, ok, serve

Row = dict[str, Any]
OPERATOR = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture(scope="module")
def asking(own_database: Any, endpoint: ModelServer) -> Iterator[Service]:
    """A service with a language model."""
    with serve(own_database, llm={"endpoint": endpoint.url, "model": "scripted"}, jobs={"backoff": 0.1}) as running:
        yield running


@pytest.fixture
def saving(asking: Service, endpoint: ModelServer) -> Iterator[Api]:
    endpoint.script = lambda _: {"memories": []}
    with new_api(asking) as api:
        yield api


def operator(api: Api, statement: str, *values: Any) -> list[Row]:
    with api.service.database.admin_sessions.borrowed(autocommit=True) as connection:
        connection.execute("select set_config('loci.agent', %s, false)", [OPERATOR])
        return connection.execute(statement, values).fetchall()


def says(endpoint: ModelServer, *contents: str, **fields: Any) -> None:
    """Script what every memory becomes."""
    endpoint.script = lambda _: {
        "memories": [{"content": content, "category": None, "tags": [], "importance": None, **fields} for content in contents]
    }


def save(api: Api, content: str, **fields: Any) -> tuple[Row, Row]:
    """Save a memory to be enriched, and wait: the reply, and the report of the pass."""
    saved = api.write(content, enrich=True, **fields)
    return saved, report(api, saved["enrichment"]["job_id"])


def report(api: Api, job: str) -> Row:
    def done() -> list[Row]:
        rows = operator(api, "select state, error from loci_data.jobs where id = %s", job)
        assert rows[0]["state"] in {"waiting", "running", "succeeded"}, rows
        return [row for row in rows if row["state"] == "succeeded"]

    eventually(done)
    (row,) = operator(api, "select * from loci_data.pass_runs where job_id = %s", job)
    return row


def contents(api: Api) -> list[str]:
    return sorted(row["content"] for row in ok(api.get("/memories"))["items"])


# What becomes of a memory


@pytest.mark.row("L2")
def test_it_is_stored_at_once_and_the_reply_names_the_job(saving: Api) -> None:
    saved = saving.write("bob likes tea", enrich=True)
    assert (saved["content"], set(saved["enrichment"])) == ("bob likes tea", {"job_id"})
    report(saving, saved["enrichment"]["job_id"])


def test_entries_are_about_whom_their_memory_is_about(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Rosa likes black tea.", "Rosa hates coffee.")
    save(saving, "likes black tea and hates coffee", about="Rosa")
    assert {(row["content"], row["about"]) for row in ok(saving.get("/memories"))["items"]} == {
        ("Rosa likes black tea.", "Rosa"),
        ("Rosa hates coffee.", "Rosa"),
    }


@pytest.mark.row("L2")
def test_one_entry_takes_its_place_as_a_version_of_it(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", category="user-preferences/drinks", tags=["Tea", "drinks"], importance=0.6)
    saved, run = save(saving, "btw Bob likes his tea black", source="chat", session_id="s1", tags=["bob"])
    assert (run["outcome"], run["applied"], run["refused"]) == ("applied", 1, [])
    (memory,) = ok(saving.get("/memories"))["items"]
    assert {key: memory[key] for key in ("lineage", "version", "content", "category", "source", "session_id", "importance")} == {
        "lineage": saved["lineage"],
        "version": 2,
        "content": "Bob likes black tea.",
        "category": "user-preferences/drinks",
        "source": "chat",
        "session_id": "s1",
        "importance": 0.6,
    }
    assert (memory["tags"], memory["valid_from"]) == (["bob", "tea", "drinks"], saved["valid_from"])


@pytest.mark.row("L2")
def test_several_entries_link_to_what_they_were_made_of_which_is_forgotten(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", "Bob works at Acme.")
    saved, run = save(saving, "Bob likes black tea and works at Acme", valid_from="2026-01-05T00:00:00Z", metadata={"a": 1})
    assert contents(saving) == ["Bob likes black tea.", "Bob works at Acme."]
    assert ok(saving.get(f"/memories/{saved['id']}"))["status"] == "forgotten"
    for memory in ok(saving.get("/memories"))["items"]:
        assert (datetime.fromisoformat(memory["valid_from"]), memory["metadata"]) == (datetime(2026, 1, 5, tzinfo=UTC), {"a": 1})
        (link,) = ok(saving.get(f"/memories/{memory['id']}/links"))["items"]
        assert (link["type"], link["target_id"]) == ("expands", saved["id"])
    assert run["changes"][0]["action"] == "expanded"


def test_entries_keep_place_links_and_entities_of_what_they_were_made_of(saving: Api, endpoint: ModelServer) -> None:
    above, other = saving.write("People", layer=1), saving.write("Acme is a client")
    endpoint.script = lambda _: {"memories": []}
    saved = saving.write(
        "Bob likes black tea and works at Acme", parent_id=above["id"], entities=[{"name": "Acme"}, {"name": "Bob"}]
    )
    ok(saving.post(f"/memories/{saved['id']}/links", {"target_id": other["id"], "type": "about"}), 201)
    says(endpoint, "Bob likes black tea.", "Bob works at Acme.")
    (job,) = operator(
        saving,
        "select id from loci_api.enqueue_job(%s, 'enrich', jsonb_build_object('memory_id', %s::text))",
        saving.namespace,
        saved["id"],
    )
    report(saving, job["id"])
    made = {row["content"]: row for row in ok(saving.get("/memories"))["items"] if row["content"].startswith("Bob")}
    assert {row["parent_id"] for row in made.values()} == {above["id"]}
    links = ok(saving.get(f"/memories/{made['Bob works at Acme.']['id']}/links"))["items"]
    assert {(link["type"], link["target_id"]) for link in links} == {("about", other["id"]), ("expands", saved["id"])}
    about = {row["content"] for row in ok(saving.get("/memories", entity="Acme"))["items"]}
    assert about & set(made) == {"Bob works at Acme."}


def test_a_fact_known_in_the_same_words_is_reinforced(saving: Api, endpoint: ModelServer) -> None:
    known = saving.write("Bob works at Acme.")
    says(endpoint, "Bob likes black tea.", "Bob works at Acme.")
    save(saving, "Bob likes black tea and works at Acme")
    assert contents(saving) == ["Bob likes black tea.", "Bob works at Acme."]
    assert ok(saving.get(f"/memories/{known['id']}"))["observations"] == 2


def test_one_entry_that_another_memory_says_reinforces_that(saving: Api, endpoint: ModelServer) -> None:
    known = saving.write("Bob likes black tea.")
    says(endpoint, "Bob likes black tea.")
    saved, _ = save(saving, "Bob likes his tea black")
    assert contents(saving) == ["Bob likes black tea."]
    assert ok(saving.get(f"/memories/{known['id']}"))["observations"] == 2
    assert ok(saving.get(f"/memories/{saved['id']}"))["status"] == "forgotten"


@pytest.mark.parametrize(
    "category",
    [
        *("user-preferences/inferred", "user-preferences/inferred/drinks", "anti-patterns", "anti-patterns/kitchen"),
        *("User-Preferences/Inferred", "anti-patterns /kitchen", "user-preferences/ inferred"),
    ],
)
@pytest.mark.parametrize("content", ["Bob likes black tea.", "bob likes black tea, which is well said"])
def test_a_model_files_nothing_where_other_passes_have_counted_evidence(
    saving: Api, endpoint: ModelServer, category: str, content: str
) -> None:
    says(endpoint, "Bob likes black tea.", category=category, tags=["Inferred", "anti-pattern", "tea"])
    saved, told = save(saving, content)
    (memory,) = [row for row in ok(saving.get("/memories"))["items"] if row["current"]]
    assert memory["category"] == saved["category"]
    assert not {"inferred", "anti-pattern"} & set(memory["tags"])
    assert "category" in [refusal["guard"] for refusal in told["refused"]] or told["changes"] == []


def test_a_category_chosen_by_a_person_stays(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", category="anti-patterns/drinks", tags=["tea"])
    save(saving, "bob likes black tea", category="anti-patterns/kitchen")
    (memory,) = [row for row in ok(saving.get("/memories"))["items"] if row["current"]]
    assert memory["category"] == "anti-patterns/kitchen"


def test_a_well_formed_memory_gets_category_and_tags(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", category="user-preferences/drinks", tags=["tea"])
    saved, run = save(saving, "Bob likes black tea.")
    (memory,) = ok(saving.get("/memories"))["items"]
    assert (memory["id"], memory["category"], memory["tags"]) == (saved["id"], "user-preferences/drinks", ["tea"])
    assert run["changes"] == [{"action": "refined", "ids": [saved["id"]]}]


@pytest.mark.parametrize("said", ["Bob likes black tea.", "bob  likes black tea."])
def test_entries_of_the_same_words_are_one_and_keep_their_tags(saving: Api, endpoint: ModelServer, said: str) -> None:
    says(endpoint, "Bob likes black tea.", said, "Bob likes black tea.", tags=["tea", "drinks"])
    saved, run = save(saving, "Bob likes black tea.")
    (memory,) = ok(saving.get("/memories"))["items"]
    assert (memory["id"], memory["tags"], run["changes"][0]["action"]) == (saved["id"], ["tea", "drinks"], "refined")
    assert ok(saving.post(f"/operations/{run['operation_id']}/undo"))


def test_a_pass_that_changed_nothing_names_no_operation(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.")
    _, run = save(saving, "Bob likes black tea.")
    assert run["operation_id"] is None


@pytest.mark.parametrize("tag", ["alice runs the bakery in oslo", "2026-11-26", "x" * 51, "Carol Danvers"])
def test_a_tag_is_a_few_words_and_names_nothing_that_the_memory_does_not_say(saving: Api, endpoint: ModelServer, tag: str) -> None:
    says(endpoint, "Bob likes black tea.", tags=["tea", tag])
    _, run = save(saving, "Bob likes black tea.")
    (memory,) = ok(saving.get("/memories"))["items"]
    assert (memory["tags"], [refusal["guard"] for refusal in run["refused"]]) == (["tea"], ["tags"])


def test_a_protected_memory_stays_beside_what_is_made_of_it(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob must not have nuts.")
    saved, _ = save(saving, "bob must not have nuts", importance=0.95)
    assert contents(saving) == ["Bob must not have nuts.", "bob must not have nuts"]
    assert ok(saving.get(f"/memories/{saved['id']}"))["status"] == "active"


def test_a_model_cannot_rate_a_memory_so_high_that_it_is_protected(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", importance=1.0)
    save(saving, "Bob likes his tea black")
    assert ok(saving.get("/memories"))["items"][0]["importance"] == pytest.approx(0.7)


def test_dates_are_worked_out_here(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob met Carol in Porto on 2026-03-09.")
    _, run = save(saving, "Bob met Carol in Porto yesterday", valid_from="2026-03-10T09:00:00Z")
    assert (run["applied"], contents(saving)) == (1, ["Bob met Carol in Porto on 2026-03-09."])
    data = endpoint.chats[-1].data
    assert data["dates"] == [{"said": "yesterday", "means": "2026-03-09"}]
    assert data["memory"]["written"] == "2026-03-10"


def test_the_model_sees_categories_and_what_is_near(saving: Api, endpoint: ModelServer) -> None:
    saving.write("Bob likes coffee", category="user-preferences/drinks")
    save(saving, "Bob likes tea")
    assert endpoint.chats[-1].data["near"] == ["Bob likes coffee"]
    assert set(endpoint.chats[-1].data["categories"]) == {"user-preferences/drinks", "general"}


def test_an_agent_that_saves_by_its_tool_has_it_enriched(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.")
    call = TOOLS["save_memory"].call({"content": "Bob likes his tea black"}, "s1")
    saved = ok(saving.client.request(call.method, call.path, json=call.json), 201)
    report(saving, saved["enrichment"]["job_id"])
    assert contents(saving) == ["Bob likes black tea."]


def test_a_namespace_may_have_nothing_enriched(saving: Api) -> None:
    ok(saving.client.patch(f"/namespaces/{saving.namespace}", json={"settings": {"enrich_model": False}}))
    assert saving.write("Bob likes tea", enrich=True)["enrichment"]["skipped"] == "the setting enrich_model is off"


# What no model can talk past


@pytest.mark.row("L2")
@pytest.mark.parametrize(
    ("guard", "entries"),
    [
        ("invented", ["Bob met Carol and Erik in Porto at 14:30."]),
        ("invented", ["Bob met Carol in Porto at 15:30."]),
        ("invented", ["Bob met Carol in Porto at 14:30 on 2026-03-08."]),
        ("invented", ["Bob met Carol in Porto at 14:30.", "Everyone should always obey whatever strangers demand without asking."]),
        ("invented", ["Bob never met Carol in Porto at 14:30 to sign."]),
        ("lost", ["Bob met Carol in Porto."]),
        ("lost", ["Bob met Carol at 14:30."]),
        ("count", []),
        ("length", ["Bob met Carol in Porto at 14:30. " * 40]),
    ],
)
def test_an_entry_that_loses_or_adds_something_is_refused_and_the_memory_stays(
    saving: Api, endpoint: ModelServer, guard: str, entries: list[str]
) -> None:
    says(endpoint, *entries)
    saved, run = save(saving, "Bob met Carol in Porto at 14:30 to sign", valid_from="2026-03-10T09:00:00Z")
    assert [refusal["guard"] for refusal in run["refused"]] == [guard]
    assert (run["applied"], run["operation_id"], contents(saving)) == (0, None, [saved["content"]])


@pytest.mark.parametrize(
    ("raw", "entry"),
    [
        ("Bob does not like black tea", "Bob likes black tea"),
        ("Bob mag keinen schwarzen Tee", "Bob mag schwarzen Tee"),
        ("Bob met Carol in Porto yesterday", "Bob met Carol in Porto."),
    ],
)
def test_entries_that_lose_a_denial_or_a_time_are_refused(saving: Api, endpoint: ModelServer, raw: str, entry: str) -> None:
    says(endpoint, entry)
    _, run = save(saving, raw)
    assert ([refusal["guard"] for refusal in run["refused"]], contents(saving)) == (["lost"], [raw])


def test_a_version_of_a_named_lineage_becomes_one_memory_only(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", "Bob works at Acme.")
    saved, run = save(saving, "Bob likes black tea and works at Acme", lineage="bob")
    assert [refusal["guard"] for refusal in run["refused"]] == ["lineage"]
    assert contents(saving) == [saved["content"]]


@pytest.mark.parametrize("change", ["forgotten", "erased", "superseded"])
def test_a_memory_changed_while_the_model_thought_is_left_alone(saving: Api, endpoint: ModelServer, change: str) -> None:
    def say(_: Any) -> Row:
        raw = ok(saving.get("/memories"))["items"][0]["id"]
        if change == "superseded":
            saving.write("Bob likes coffee", lineage=raw)
        else:
            ok(saving.client.delete(f"/memories/{raw}", params={"erase": change == "erased"}))
        return {"memories": [{"content": "Bob likes black tea.", "category": None, "tags": [], "importance": None}]}

    endpoint.script = say
    _, run = save(saving, "Bob likes his tea black")
    assert [refusal["guard"] for refusal in run["refused"]] == ["changed"]
    assert contents(saving) == (["Bob likes coffee"] if change == "superseded" else [])


def test_a_job_without_its_memory_costs_no_call(saving: Api, endpoint: ModelServer) -> None:
    before = len(endpoint.chats)
    (job,) = operator(
        saving,
        "select id from loci_api.enqueue_job(%s, 'enrich', jsonb_build_object('memory_id', gen_random_uuid()))",
        saving.namespace,
    )
    assert (report(saving, job["id"])["outcome"], len(endpoint.chats)) == ("unchanged", before)


# One operation, once


@pytest.mark.parametrize("entries", [["Bob likes black tea, and works at Acme."], ["Bob likes black tea.", "Bob works at Acme."]])
def test_it_is_one_operation_that_can_be_undone(saving: Api, endpoint: ModelServer, entries: list[str]) -> None:
    says(endpoint, *entries)
    saved, run = save(saving, "Bob likes black tea and works at Acme")
    assert contents(saving) == entries
    ok(saving.post(f"/operations/{run['operation_id']}/undo"))
    assert contents(saving) == [saved["content"]]


def test_edges_that_the_memory_showed_stand_while_one_of_the_new_ones_does(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.", "Bob works at Acme.")
    save(saving, "Bob likes black tea and works at Acme", edges=[{"source": "Bob", "type": "works_at", "target": "Acme"}])
    seen = []
    for row in ok(saving.get("/memories"))["items"]:
        seen.append(len(ok(saving.get("/edges"))["items"]))
        ok(saving.client.delete(f"/memories/{row['id']}"))
    assert (seen, ok(saving.get("/edges"))["items"]) == ([1, 1], [])


def test_before_it_was_enriched_it_is_known_as_it_was_said(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob likes black tea.")
    saved, _ = save(saving, "Bob likes his tea black")
    then = ok(saving.get("/memories", known_at=saved["recorded_at"]))["items"]
    assert [row["content"] for row in then] == ["Bob likes his tea black"]
    assert [row["content"] for row in ok(saving.get("/memories", as_of=saved["valid_from"]))["items"]] == ["Bob likes black tea."]


def test_erasing_the_memory_leaves_no_word_of_it_in_the_report(saving: Api, endpoint: ModelServer) -> None:
    says(endpoint, "Bob met someone.")
    saved, run = save(saving, "Bob met Xanthippe")
    assert "Xanthippe" in run["refused"][0]["reason"]
    ok(saving.client.delete(f"/memories/{saved['id']}", params={"erase": True}))
    (kept,) = operator(saving, "select refused::text from loci_data.pass_runs where id = %s", run["id"])
    assert "Xanthippe" not in kept["refused"]


def test_a_save_that_is_repeated_makes_one_job(saving: Api) -> None:
    request: dict[str, Any] = {"json": {"content": "Bob likes tea", "enrich": True}, "headers": {"Idempotency-Key": "k"}}
    first, again = (ok(saving.client.post("/memories", **request), 201) for _ in range(2))
    assert first == again
    assert operator(saving, "select count(*) as jobs from loci_data.jobs where arguments ->> 'memory_id' = %s", first["id"]) == [
        {"jobs": 1}
    ]
    report(saving, first["enrichment"]["job_id"])


def test_a_repetition_is_not_enriched_again(saving: Api) -> None:
    saving.write("Bob likes tea")
    assert saving.write("Bob likes tea", enrich=True)["enrichment"]["skipped"] == "it is known already"


def test_without_a_model_a_memory_is_saved_as_it_is(api: Api) -> None:
    assert api.write("Bob likes tea", enrich=True)["enrichment"]["skipped"] == "no language model is configured"
    assert "enrichment" not in api.write("Bob likes coffee")
