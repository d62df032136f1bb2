"""The longest answer that a schema allows fits the room that is asked for, whatever the model."""

import json
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.cli.model_trials import TRIALS, Trial
from service.llm.answer_parsing import Answer, read_answer
from service.llm.context_size import BASE, Sizes
from service.llm.model import Completion
from service.llm.prompts import Prompts
from service.llm.schemas import at_most, least_tokens, mark_bounded_list, mark_shown_number, most_tokens, schema_of, text_of
from service.settings import LLMSettings
from tests.llm.longest import longest
from tests.llm.strict_schema import schema_refusal

CHARACTERS_OF_TOKEN = 1.8  # of JSON that a small model repeats, as measured
each_purpose = pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.trial_name)
PROMPTS = Prompts()


def tokens_of_longest(schema: object) -> float:
    """Tokens of the longest answer, over several lines as small models write it."""
    return len(json.dumps(longest(schema), indent=0)) / CHARACTERS_OF_TOKEN  # type: ignore[arg-type]


@each_purpose
@given(things=st.integers(1, 1000), room=st.integers(100, 40_000))
def test_the_longest_answer_fits_the_room_that_it_is_given(trial: Trial, things: int, room: int) -> None:
    schema = schema_of(trial.answer, trial.numbers(things), room)
    assert schema_refusal(schema) is None
    assert tokens_of_longest(schema) <= max(room, least_tokens(trial.answer, trial.numbers(things)))


@each_purpose
@pytest.mark.parametrize("context", [1280, 2048, 4096, 8192, 32_768])
def test_as_much_is_shown_as_leaves_room_for_prompt_and_longest_answer(trial: Trial, context: int) -> None:
    sizes, settings = Sizes(context), LLMSettings(endpoint="http://localhost/v1")
    things = trial.count_fitting_things(PROMPTS, sizes, settings)
    longest_answer = tokens_of_longest(trial.make_schema(PROMPTS, things, sizes, settings.max_tokens))
    assert longest_answer <= sizes.answer_room(settings.max_tokens)


@each_purpose
def test_one_thing_can_be_answered_in_few_tokens(trial: Trial) -> None:
    assert least_tokens(trial.answer, trial.numbers(1)) <= 320


@each_purpose
def test_little_that_is_shown_gets_no_long_answer_however_much_there_is_room_for(trial: Trial) -> None:
    sizes = Sizes(1_000_000)
    shown_bytes = len(trial.make_messages(PROMPTS, 1)[-1]["content"].encode())
    assert tokens_of_longest(trial.make_schema(PROMPTS, 1, sizes, 100_000)) <= BASE + 3 * shown_bytes


@each_purpose
def test_the_longest_answer_of_a_schema_can_be_read(trial: Trial) -> None:
    schema = trial.make_schema(PROMPTS, min(3, trial.most), Sizes(), 16_000)
    completion = Completion(json.dumps(longest(schema)), 1, 1, 1)
    assert isinstance(read_answer(completion, trial.answer), trial.answer)


class Shelf(Answer):
    words: list[Annotated[str, text_of(1000, least=10)]] = at_most(50, least=2)
    books: list[Annotated[int, mark_shown_number("books")]] = mark_bounded_list("books", 3, least=1)


def test_limits_shrink_together_and_to_their_least() -> None:
    wide, narrow = schema_of(Shelf, {"books": range(9)}), schema_of(Shelf, {"books": range(9)}, 1)
    middle = schema_of(Shelf, {"books": range(9)}, 2000)
    limits = [
        (s["words"]["maxItems"], s["words"]["items"]["maxLength"], s["books"]["maxItems"])
        for s in (narrow["properties"], middle["properties"], wide["properties"])
    ]
    assert limits[0] == (2, 10, 9)
    assert limits[2] == (50, 1000, 27)
    assert all(least < between < most for least, between, most in zip(*limits, strict=True))
    assert most_tokens(middle) <= 2000


def test_a_list_without_a_limit_has_no_longest_answer() -> None:
    assert most_tokens(schema_of(Shelf)) == float("inf")
