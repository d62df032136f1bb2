"""Two times over REST: what was true then, what was believed then, and the ways to say that either changed."""

from typing import Any

import pytest
from psycopg import sql

from tests.databases import Database
from tests.services import Api, new_api, ok, problem, serve

BEFORE, THEN, LATER = "2019-06-01T00:00:00Z", "2020-06-01T00:00:00Z", "2022-06-01T00:00:00Z"


@pytest.fixture
def city(api: Api) -> list[dict[str, Any]]:
    """Oslo from 2020 on, Paris from 2022 on."""
    return [
        api.write("Alice lives in Oslo", lineage="city", category="people/alice", valid_from="2020-01-01T00:00:00Z"),
        api.write("Alice lives in Paris", lineage="city", valid_from="2022-01-01T00:00:00Z"),
    ]


def contents(rows: Any) -> list[str]:
    return [row["content"] for row in rows["items"]]


@pytest.mark.parametrize(("as_of", "content"), [(THEN, "Alice lives in Oslo"), (LATER, "Alice lives in Paris")])
def test_any_version_leads_to_the_one_that_was_valid_then(api: Api, city: list[Any], as_of: str, content: str) -> None:
    for version in city:
        assert ok(api.get(f"/memories/{version['id']}", as_of=as_of))["content"] == content


def test_a_memory_that_was_not_there_yet_is_not_found(api: Api, city: list[Any]) -> None:
    problem(api.get(f"/memories/{city[0]['id']}", as_of=BEFORE), 404, "not-found")
    problem(api.get(f"/memories/{city[0]['id']}", known_at=BEFORE), 404, "not-found")


def test_a_memory_is_shown_as_it_was_believed(api: Api, city: list[Any]) -> None:
    old, new = city
    believed = ok(api.get(f"/memories/{old['id']}", known_at=old["recorded_at"]))
    assert (believed["valid_to"], believed["superseded_at"]) == (None, None)
    now = ok(api.get(f"/memories/{old['id']}"))
    assert (now["valid_to"], now["superseded_at"]) == (new["valid_from"], new["recorded_at"])


@pytest.mark.row("M3")
def test_history_as_known_then_has_only_the_versions_written_by_then(api: Api, city: list[Any]) -> None:
    path = "/memories/city/history"
    assert contents(ok(api.get(path, known_at=city[0]["recorded_at"]))) == ["Alice lives in Oslo"]
    assert contents(ok(api.get(path, as_of=THEN))) == ["Alice lives in Oslo"]
    assert [row["current"] for row in ok(api.get(path))["items"]] == [False, True]


@pytest.mark.row("M3")
def test_recall_finds_what_was_true_then_and_what_was_believed_then(api: Api, city: list[Any]) -> None:
    assert api.found("where does Alice live?", as_of=THEN) == ["Alice lives in Oslo"]
    assert api.found("where does Alice live?", known_at=city[0]["recorded_at"]) == ["Alice lives in Oslo"]
    (result,) = api.recall("where does Alice live?", known_at=city[0]["recorded_at"])["results"]
    assert result["valid_to"] is None
    assert api.found("where does Alice live?") == ["Alice lives in Paris"]


@pytest.mark.row("M3")
@pytest.mark.parametrize(("moment", "then"), [("as_of", THEN), ("known_at", None)])
def test_a_search_by_words_finds_what_was_there_then(api: Api, moment: str, then: str | None) -> None:
    fields = {"lineage": "city", "entities": [{"name": "Alice"}]}
    old = api.write("Alice lives in Oslo", valid_from=BEFORE, **fields)
    renamed = ok(api.get("/entities/Alice"))
    api.write("Alice lives in Paris", valid_from=LATER, **fields)
    ok(api.client.patch(f"/entities/{renamed['id']}", json={"name": "Alicia"}))
    body = ok(api.get("/memory/search", q="where does Alice live?", **{moment: then or old["recorded_at"]}))
    assert [(row["content"], row["valid_to"]) for row in body["results"]] == [
        ("Alice lives in Oslo", None if then is None else "2022-06-01T00:00:00Z")
    ]
    named = {entity["name"] for row in body["results"] for entity in row["entities"]}
    assert (named, [entity["name"] for entity in body["entities"]]) == (
        ({"Alice"}, ["Alice"]) if then is None else ({"Alicia"}, ["Alicia"])
    )
    assert contents({"items": ok(api.get("/memory/search", q="where does Alice live?"))["results"]}) == ["Alice lives in Paris"]


@pytest.mark.row("M3")
def test_entities_are_matched_searched_and_told_of_at_two_times(api: Api) -> None:
    seen = api.write("Robert lives in Oslo", entities=[{"name": "Robert"}], valid_from=THEN, layer=3)
    robert = ok(api.get("/entities/Robert"))
    known_at = robert["updated_at"]
    ok(api.client.patch(f"/entities/{robert['id']}", json={"name": "Bob"}))
    for path, body in (("/entities/match", {"text": "Ask Robert"}), ("/entities/search", {"query": "Robert", "mode": "name"})):
        assert [entity["name"] for entity in ok(api.post(path, {**body, "known_at": known_at}))["entities"]] == ["Robert"]
        assert ok(api.post(path, {**body, "known_at": known_at, "as_of": BEFORE}))["entities"] == []
        assert [entity["name"] for entity in ok(api.post(path, body))["entities"]] == ["Bob"]
    events = [row["event"] for row in ok(api.get("/entities/Bob/history"))["items"]]
    assert events == ["created", "version", "changed"]
    assert [row["event"] for row in ok(api.get("/entities/Robert/history", known_at=known_at))["items"]] == events[:-1]
    assert ok(api.get("/entities/Bob/history", as_of=BEFORE))["items"] == []
    assert ok(api.get(f"/entities/{seen['lineage']}/history", as_of=BEFORE))["items"] == []


def test_a_correction_takes_the_place_of_what_was_wrong_and_known_at_tells_it_from_a_change(api: Api, city: list[Any]) -> None:
    old, new = city
    right = api.write("Alice lived in Bergen", corrects=old["id"])
    assert (right["lineage"], right["superseded"]) == ("city", old["id"])
    assert (right["valid_from"], right["valid_to"]) == (old["valid_from"], new["valid_from"])
    assert contents(ok(api.get("/memories", as_of=THEN))) == ["Alice lived in Bergen"]
    assert contents(ok(api.get("/memories", as_of=THEN, known_at=new["recorded_at"]))) == ["Alice lives in Oslo"]
    assert contents(ok(api.get("/memories"))) == ["Alice lives in Paris"]
    wrong = ok(api.get(f"/memories/{old['id']}"))
    assert wrong["valid_from"] == wrong["valid_to"]


def test_a_replacement_is_the_next_version_whichever_version_is_named(api: Api, city: list[Any]) -> None:
    for named, place in ((city[0], "Rome"), (city[1], "Kiel")):
        new = api.write(f"Alice lives in {place}", replaces=named["id"])
        assert new["lineage"] == "city"
        assert contents(ok(api.get("/memories"))) == [f"Alice lives in {place}"]
    assert contents(ok(api.get("/memories", as_of=THEN))) == ["Alice lives in Oslo"]
    first = api.write("Bob drives a Volvo")
    second = api.write("Bob drives a Saab", replaces=first["id"])
    assert (second["lineage"], second["version"]) == (first["lineage"], 2)


def test_a_corrected_later_beginning_lets_the_statement_before_it_last_longer(api: Api, city: list[Any]) -> None:
    api.write("Alice lives in Paris since summer", corrects=city[1]["id"], valid_from="2022-07-01T00:00:00Z")
    assert contents(ok(api.get("/memories", as_of=LATER))) == ["Alice lives in Oslo"]
    assert contents(ok(api.get("/memories"))) == ["Alice lives in Paris since summer"]


@pytest.mark.parametrize(
    ("fields", "status", "slug", "field"),
    [
        ({"corrects": "00000000-0000-4000-8000-000000000001"}, 404, "not-found", "corrects"),
        ({"corrects": "old", "lineage": "other"}, 422, "invalid-request", "corrects"),
        ({"replaces": "00000000-0000-4000-8000-000000000001"}, 404, "not-found", "replaces"),
        ({"replaces": "old", "lineage": "other"}, 422, "invalid-request", "replaces"),
        ({"replaces": "old", "corrects": "old"}, 422, "invalid-request", "replaces"),
        ({"corrects": "old", "valid_from": "2030-01-01T00:00:00Z"}, 422, "invalid-request", "valid_from"),
    ],
)
def test_a_correction_or_replacement_of_nothing_is_refused(
    api: Api, city: list[Any], fields: dict[str, str], status: int, slug: str, field: str
) -> None:
    fields = {key: city[0]["id"] if value == "old" else value for key, value in fields.items()}
    before = api.size()
    answer = problem(api.post("/memories", {"content": "x", **fields}), status, slug)
    assert answer["errors"][0]["field"] == field
    assert api.size() == before


def test_a_corrected_memory_is_not_corrected_again(api: Api, city: list[Any]) -> None:
    api.write("Alice lived in Bergen", corrects=city[0]["id"])
    problem(api.post("/memories", {"content": "Alice lived in Bodø", "corrects": city[0]["id"]}), 409, "conflict")


def test_an_interlude_ends_and_what_it_interrupted_goes_on(api: Api, city: list[Any]) -> None:
    api.write("Alice is in Rome", lineage="city", valid_from="2023-05-01T00:00:00Z", valid_to="2023-06-01T00:00:00Z")
    assert contents(ok(api.get("/memories", as_of="2023-05-15T00:00:00Z"))) == ["Alice is in Rome"]
    assert contents(ok(api.get("/memories"))) == ["Alice lives in Paris"]


def test_a_memory_can_end_without_a_successor_and_the_end_can_be_taken_back(api: Api, city: list[Any]) -> None:
    path = f"/memories/{city[1]['id']}"
    ended = ok(api.client.patch(path, json={"valid_to": "2023-01-01T00:00:00Z"}))
    assert (ended["current"], contents(ok(api.get("/memories")))) == (False, [])
    assert ok(api.client.patch(path, json={"valid_to": None}))["current"]
    refused = problem(api.client.patch(path, json={"valid_from": "2021-01-01T00:00:00Z"}), 409, "conflict")
    assert refused["errors"][0]["field"] == "valid_from"
    problem(api.client.patch(path, json={"valid_to": "2021-01-01T00:00:00Z"}), 422, "invalid-request")


def test_filters_use_the_details_believed_at_the_moment(api: Api, city: list[Any]) -> None:
    known_at = ok(api.get(f"/memories/{city[1]['id']}"))["updated_at"]
    ok(api.client.patch(f"/memories/{city[1]['id']}", json={"category": "archive", "tags": ["moved"]}))
    assert contents(ok(api.get("/memories", category="people"))) == []
    assert contents(ok(api.get("/memories", category="people", known_at=known_at))) == ["Alice lives in Paris"]
    assert [row["category"] for row in ok(api.get("/categories", known_at=known_at))["items"]] == ["people", "people/alice"]
    assert [row["category"] for row in ok(api.get("/categories"))["items"]] == ["archive"]


def test_a_moved_branch_keeps_its_earlier_place_in_both_times(api: Api) -> None:
    home, away = api.write("home", valid_from=BEFORE)["id"], api.write("away", valid_from=BEFORE)["id"]
    branch = api.write("branch", parent_id=home, valid_from=BEFORE)
    api.write("leaf", parent_id=branch["id"], valid_from=BEFORE)
    moved = ok(api.client.patch(f"/memories/{branch['id']}", json={"parent_id": away, "parent_since": "2021-01-01T00:00:00Z"}))
    assert moved["parent_id"] == away

    def under(id: str, **times: str) -> list[str]:
        return contents(ok(api.get(f"/memories/{id}/subtree", **times)))

    assert under(away) == under(home, as_of=THEN) == ["branch", "leaf"]
    assert under(home) == under(away, as_of=THEN) == []
    assert under(home, known_at=branch["recorded_at"]) == ["branch"]
    assert contents(ok(api.get(f"/memories/{branch['id']}/ancestors", as_of=THEN))) == ["home"]
    assert ok(api.get(f"/memories/{branch['id']}", as_of=THEN))["parent_id"] == home
    assert contents(ok(api.get("/memories", under=home, as_of=THEN))) == ["leaf", "branch", "home"]
    assert api.found("leaf", filters={"under": home}, as_of=THEN, k=1) == ["leaf"]
    assert "leaf" not in api.found("leaf", filters={"under": home})


def test_a_subtree_comes_in_pages(api: Api) -> None:
    top = api.write("top")["id"]
    items = [{"content": f"leaf {n}", "parent_id": top} for n in range(25)]
    ok(api.post("/memories/batch", {"items": items, "atomic": True}))
    found: list[str] = []
    cursor = None
    for _ in range(4):
        page = ok(api.get(f"/memories/{top}/subtree", limit=7, **({"cursor": cursor} if cursor else {})))
        found += contents(page)
        cursor = page["next_cursor"]
    assert cursor is None
    assert sorted(found) == sorted(item["content"] for item in items)
    problem(api.get(f"/memories/{top}/subtree", cursor="7"), 422, "invalid-request")


@pytest.mark.parametrize(("parent", "child"), [(2, 1), (3, 2), (1, 0)])
def test_a_memory_does_not_stand_under_a_narrower_layer(api: Api, parent: int, child: int) -> None:
    top = api.write("top", layer=parent)["id"]
    answer = problem(api.post("/memories", {"content": "x", "layer": child, "parent_id": top}), 422, "invalid-request")
    assert answer["errors"][0]["field"] == "layer"
    below = api.write("below", layer=parent, parent_id=top)["id"]
    problem(api.client.patch(f"/memories/{below}", json={"layer": child}), 422, "invalid-request")
    assert ok(api.client.patch(f"/memories/{top}", json={"layer": child}))["layer"] == child


@pytest.mark.row("M5")
def test_a_link_that_was_taken_back_was_there_before(api: Api) -> None:
    a, b = api.write("a")["id"], api.write("b")["id"]
    first = ok(api.post(f"/memories/{a}/links", {"target_id": b, "type": "supports", "strength": 0.4}), 201)
    second = ok(api.post(f"/memories/{a}/links", {"target_id": b, "type": "supports", "strength": 0.9}), 201)

    def strengths(**times: str) -> list[float]:
        return [row["strength"] for row in ok(api.get(f"/memories/{b}/links", **times))["items"]]

    assert (strengths(), strengths(known_at=first["recorded_at"])) == ([0.9], [0.4])
    ok(api.client.delete(f"/memories/{a}/links/{b}", params={"type": "supports"}))
    assert (strengths(), strengths(known_at=second["recorded_at"])) == ([], [0.9])
    problem(api.client.delete(f"/memories/{a}/links/{b}", params={"type": "supports"}), 404, "not-found")


@pytest.mark.row("M5")
def test_a_link_posted_again_keeps_what_it_was_and_is_read_at_both_times(api: Api) -> None:
    a, b = (api.write(name, valid_from=THEN)["id"] for name in "ab")
    first, second, third = (
        ok(api.post(f"/memories/{a}/links", {"target_id": b, "strength": strength}), 201) for strength in (0.4, 0.9, 0.6)
    )

    def strengths(**asked: Any) -> list[float]:
        return [row["strength"] for row in ok(api.get(f"/memories/{b}/links", **asked))["items"]]

    assert strengths() == strengths(as_of=third["recorded_at"]) == [0.6]
    assert strengths(as_of=second["recorded_at"]) == strengths(known_at=second["recorded_at"]) == [0.9]
    assert strengths(as_of=THEN) == strengths(as_of=first["recorded_at"]) == [0.4]
    assert strengths(as_of=BEFORE) == []
    assert strengths(all_versions=True) == [0.9, 0.6, 0.4]
    assert strengths(all_versions=True, known_at=second["recorded_at"]) == [0.9, 0.4]
    ok(api.client.delete(f"/memories/{a}/links/{b}"))
    ok(api.post(f"/memories/{a}/links", {"target_id": b, "strength": 0.1}), 201)
    assert strengths(as_of=second["recorded_at"]) == strengths() == [0.1]


@pytest.mark.row("M5")
@pytest.mark.parametrize("limit", [1, 3, 8])
def test_pages_of_links_visit_each_once_strongest_first(api: Api, limit: int) -> None:
    hub = api.write("hub")["id"]
    for number, kind in enumerate(["t", "a, b", '"t"', "{t}", "null", "t\\", "u"]):
        other = api.write(f"m{number}")["id"]
        ends = (hub, other) if number % 2 else (other, hub)
        ok(api.post(f"/memories/{ends[0]}/links", {"target_id": ends[1], "type": kind, "strength": 0.5 + number // 3 / 10}), 201)
    visited: list[Any] = []
    cursor = None
    while True:
        page = ok(api.get(f"/memories/{hub}/links", limit=limit, **({"cursor": cursor} if cursor else {})))
        visited += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert visited == ok(api.get(f"/memories/{hub}/links"))["items"]
    assert len(visited) == 7
    assert [row["strength"] for row in visited] == sorted((row["strength"] for row in visited), reverse=True)


@pytest.mark.parametrize("path", ["/memories", "/memories/{id}", "/memories/{id}/history", "/memories/{id}/subtree", "/categories"])
@pytest.mark.parametrize("moment", ["yesterday", "2020-13-01", ""])
def test_a_moment_that_is_none_is_refused_by_name(api: Api, city: list[Any], path: str, moment: str) -> None:
    answer = problem(api.get(path.format(id=city[0]["id"]), known_at=moment), 422, "invalid-request")
    assert answer["errors"][0]["field"] == "known_at"


@pytest.mark.parametrize("way", ["restore", "patch"])
def test_a_memory_replaced_by_a_duplicate_stays_away_and_the_duplicate_is_named(api: Api, way: str) -> None:
    old = api.write("Bob likes tea")
    path = f"/memories/{old['id']}"
    ok(api.client.patch(path, json={"valid_to": old["valid_from"]}) if way == "patch" else api.client.delete(path))
    new = api.write("Bob likes tea")
    assert (new["duplicate"], new["id"] != old["id"]) == (False, True)
    back = api.client.patch(path, json={"valid_to": None}) if way == "patch" else api.post(f"{path}/restore")
    body = problem(back, 409, "conflict")
    assert new["id"] in body["detail"]
    assert body["errors"][0]["field"] == "id"
    ok(api.client.delete(f"/memories/{new['id']}"))
    ok(api.client.patch(path, json={"valid_to": None}) if way == "patch" else api.post(f"{path}/restore"))


def test_a_memory_is_read_by_the_name_of_its_lineage(api: Api, city: list[Any]) -> None:
    assert ok(api.get("/memories/city"))["content"] == "Alice lives in Paris"
    assert ok(api.get("/memories/city", as_of=THEN))["content"] == "Alice lives in Oslo"
    body = problem(api.get("/memories/city", as_of=BEFORE), 404, "not-found")
    assert body["errors"][0]["field"] == "id"
    problem(api.get("/memories/nobody"), 404, "not-found")
    api.write("deep", lineage="a/b")
    assert ok(api.get("/memories/a%2Fb"))["content"] == "deep"


def test_a_list_of_memories_can_be_that_of_a_lineage(api: Api, city: list[Any]) -> None:
    api.write("Bob lives in Ulm")
    assert contents(ok(api.get("/memories", lineage="city"))) == ["Alice lives in Paris"]
    assert contents(ok(api.get("/memories", lineage="city", as_of=THEN))) == ["Alice lives in Oslo"]


def test_times_are_said_in_utc_wherever_the_server_is(own_database: Database) -> None:
    with own_database.admin() as owner:
        owner.execute(sql.SQL("alter database {} set timezone = 'Pacific/Honolulu'").format(sql.Identifier(own_database.name)))
    with serve(own_database, worker=False) as service, new_api(service) as api:
        written = api.write("Alice lives in Oslo", valid_from="2020-01-01T00:00:00Z")
        assert ok(api.get(f"/memories/{written['id']}"))["valid_from"] in {"2020-01-01T00:00:00Z", "2020-01-01T00:00:00+00:00"}
