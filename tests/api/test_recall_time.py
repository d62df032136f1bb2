"""A time in a question counts for what began then; it is told from where and when it is asked, and shuts nothing out."""

from typing import Any

import pytest

from tests.services import Api, Service, eventually, ok, problem

ASKED = "2026-11-27T10:00:00+01:00"
DID = {
    "I cleaned the attic.": "2026-11-26T15:00:00+01:00",
    "I painted the fence.": "2026-11-24T15:00:00+01:00",
    "I planted the roses.": "2026-11-19T15:00:00+01:00",
    "I saw Ann in Ulm.": "2026-11-13T15:00:00+01:00",
    "I bought a bike.": "2026-10-18T15:00:00+02:00",
    "I went to Paris.": "2026-07-19T15:00:00+02:00",
    "I built the shed.": "2025-06-10T15:00:00+02:00",
}


@pytest.fixture
def diary(api: Api) -> Api:
    """Some days of somebody's year."""
    api.write_all(*({"content": text, "layer": 3, "valid_from": day} for text, day in DID.items()))
    eventually(api.embedded)
    return api


def found(api: Api, question: str, **fields: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = api.recall(question, **{"at": ASKED, "explain": True, **fields})["results"]
    return results


@pytest.mark.row("R15")
@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What did I do yesterday?", "I cleaned the attic."),
        ("What did I do three days ago?", "I painted the fence."),
        ("What did I do on Tuesday?", "I painted the fence."),
        ("What did I do two weeks ago?", "I saw Ann in Ulm."),
        ("What did I do last month?", "I bought a bike."),
        ("What did I do last summer?", "I went to Paris."),
        ("What did I do in July?", "I went to Paris."),
        ("What did I do last year?", "I built the shed."),
        ("What did I do in June 2025?", "I built the shed."),
        ("Was habe ich gestern gemacht?", "I cleaned the attic."),
        ("Was habe ich vor zwei Wochen gemacht?", "I saw Ann in Ulm."),
        ("Was habe ich letzten Sommer gemacht?", "I went to Paris."),
    ],
)
def test_memories_of_the_time_in_a_question_come_first_and_none_is_shut_out(diary: Api, question: str, fact: str) -> None:
    results = found(diary, question)
    assert results[0]["content"] == fact
    assert {row["content"] for row in results} == set(DID)


def test_an_explanation_says_how_the_time_was_read(diary: Api) -> None:
    first = found(diary, "What did I do last month?")[0]["explain"]
    read = first["time"]
    assert (read["said"], read["nearness"]) == ("last month", 1.0)
    assert (read["from"], read["to"]) == ("2026-10-01T00:00:00+01:00", "2026-11-01T00:00:00+01:00")
    assert "when it was" in first["because"]
    assert "time" not in found(diary, "What did I build?")[0]["explain"]


def test_the_time_zone_of_the_one_who_asks_says_which_day_yesterday_is(api: Api) -> None:
    for text, moment in (("I mowed the lawn.", "2026-11-26T10:00:00Z"), ("I fixed the roof.", "2026-11-25T10:00:00Z")):
        api.write(text, layer=3, valid_from=moment)
    eventually(api.embedded)
    asked = {"at": "2026-11-26T16:00:00Z", "k": 1}  # the 27th in Tokyo
    assert found(api, "What did I do yesterday?", **asked)[0]["content"] == "I fixed the roof."
    assert found(api, "What did I do yesterday?", **asked, time_zone="Asia/Tokyo")[0]["content"] == "I mowed the lawn."
    assert found(api, "What did I do yesterday?", at="2026-11-27T01:00:00+09:00")[0]["content"] == "I mowed the lawn."


def test_a_key_says_in_which_time_zone_its_user_asks(api: Api, guarded: Service) -> None:
    for text, moment in (("I mowed the lawn.", "2026-11-26T10:00:00Z"), ("I fixed the roof.", "2026-11-25T10:00:00Z")):
        api.write(text, layer=3, valid_from=moment)
    made = ok(api.post("/keys", {"role": "writer", "time_zone": "Asia/Tokyo"}), 201)
    asked = {"at": "2026-11-26T16:00:00Z", "k": 1}  # the 27th in Tokyo

    def did(client: Api, **fields: Any) -> str:
        return str(found(client, "Was it the lawn or the roof yesterday?", **asked, **fields)[0]["content"])

    rotated = ok(api.post(f"/keys/{made['id']}/rotate"), 201)
    with guarded.client(Authorization=f"Bearer {rotated['key']}", **{"X-Namespace": api.namespace}) as client:
        theirs = Api(client, api.namespace, guarded)
        assert ok(client.get("/agents/me"))["time_zone"] == rotated["time_zone"] == "Asia/Tokyo"
        assert (did(theirs), did(theirs, time_zone="UTC")) == ("I mowed the lawn.", "I fixed the roof.")
        assert ok(api.client.patch(f"/keys/{rotated['id']}", json={"time_zone": None}))["time_zone"] is None
        assert did(theirs) == "I fixed the roof."
    for call, path in ((api.client.post, "/keys"), (api.client.patch, f"/keys/{rotated['id']}")):
        wrong = problem(call(path, json={"time_zone": "Europe/Atlantis"}), 422, "invalid-request")
        assert [error["field"] for error in wrong["errors"]] == ["time_zone"]


@pytest.mark.row("R15")
def test_a_question_about_the_past_as_of_a_moment_is_told_from_there(diary: Api) -> None:
    first = found(diary, "What did I do last month?", at=None, as_of="2026-08-01T12:00:00Z")[0]
    assert first["content"] == "I went to Paris."


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "", "../etc/passwd", "+01:00"])
def test_a_time_zone_that_there_is_not_is_refused(api: Api, zone: str) -> None:
    wrong = problem(api.client.post("/recall", json={"query": "yesterday", "time_zone": zone}), 422, "invalid-request")
    assert [error["field"] for error in wrong["errors"]] == ["time_zone"]


def test_a_moment_of_asking_is_a_time(api: Api) -> None:
    for at in (2026, "yesterday"):
        wrong = problem(api.client.post("/recall", json={"query": "x", "at": at}), 422, "invalid-request")
        assert [error["field"] for error in wrong["errors"]] == ["at"]
