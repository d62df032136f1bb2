"""The number of results may be left open: then as many come as may answer."""

from typing import Any

import pytest

from tests.services import Api, Service, eventually, is_settled, ok, problem

ANSWERS = [f"Ann sails to the island of Elba in boat {n}" for n in range(5)]
OTHERS = [f"Bob sails sometimes, says neighbour {n} of the long and winding street by the old harbour wall" for n in range(20)]


@pytest.fixture
def boats(api: Api, service: Service) -> Api:
    ok(api.post("/memories/batch", {"items": [{"content": content} for content in [*ANSWERS, *OTHERS]]}))
    eventually(lambda: is_settled(service.database))  # two recalls find the same vectors and names
    return api


def test_as_many_come_as_may_answer_and_they_are_the_first_of_what_a_number_gives(boats: Api) -> None:
    found = boats.found("Does Ann sail to the island of Elba?", k="auto")
    assert set(found) == set(ANSWERS)
    assert found == boats.found("Does Ann sail to the island of Elba?", k=25)[: len(found)]
    many = boats.found("Which neighbour of the street by the harbour wall sails?", k="auto")
    assert len(many) >= len(OTHERS)


def test_a_context_may_leave_it_open_too(boats: Api) -> None:
    made = ok(boats.post("/context", {"message": "Does Ann sail to the island of Elba?", "k": "auto", "sections": ["memories"]}))
    assert {row["content"] for row in made["memories"]} == set(ANSWERS)


@pytest.mark.parametrize("path", ["/recall", "/context"])
@pytest.mark.parametrize("wrong", [0, 101, -1, 2.5, "5", "many", True, []])
def test_another_word_or_number_is_refused_by_name(api: Api, path: str, wrong: Any) -> None:
    body = {"query" if path == "/recall" else "message": "boats", "k": wrong}
    [error] = problem(api.post(path, body), 422, "invalid-request")["errors"]
    assert error["field"] == "k"
    assert "from 1 to 100, or auto" in error["message"]
