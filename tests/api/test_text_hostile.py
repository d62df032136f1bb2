"""Texts that were made to cost much, where requests take texts: four times the text costs about four times as much, and not sixteen."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import service.routers  # noqa: F401 (all models are there)
from loci.models.fields import Model
from service.embedding.static import WORD, StaticProvider
from tests.holding import watched
from tests.services import Api, Service, new_api, serve

# What looks like the beginning of something to one pattern or another: a number, a path, a link, a type, a moment, a mark of a letter.
UNITS = (
    *(
        "9",
        "9_",
        ".9",
        " ",
        "\t",
        "\n",
        "a/",
        "/",
        "aA",
        "A",
        "_",
        "-",
        "a-",
        "1-",
        "1:",
        "T0:",
        "2026-01-01T",
        "[[",
        "((",
        "{",
        "<!--",
    ),
    *(
        "`",
        "'",
        "a'",
        '"',
        "\\",
        "%",
        "$1,",
        ". ",
        "…",
        "Dr. ",
        "a1@",
        "a_b_",
        "./",
        "/~",
        "&'e",
        "<a ",
        "Alice and ",
        "1 May ",
        "。",
        "é",
    ),
    *("\u0301\u0323", "e\u0301", "\u1100\u1161", "\u0130", "🙂", "\u200d", "漢", "\u202e"),
)
SHORT, TIMES = 6000, 4  # characters, and how many times as many
MOST = 10.0  # times the cost; its square would be sixteen
HELD = 0.15  # seconds of a processor that the loop may be kept from others by one request
SLACK = 0.1  # seconds, for what has nothing to do with the text


def texts(unit: str) -> tuple[str, str]:
    """A short and a long text of nothing else, which end otherwise."""
    return unit * (SHORT // len(unit)) + "x!", unit * (TIMES * SHORT // len(unit)) + "x!"


def is_square(cost: Callable[[str], float], unit: str) -> str | None:
    """What both texts cost, where the long one costs too much; each is tried again, since others may have had the processor."""
    short, long = texts(unit)
    for _ in range(3):
        before, after = cost(short), cost(long)
        if after < MOST * before + SLACK:
            return None
    return f"{unit!r}: {before:.3f} s, {after:.3f} s"


def models(of: type[Model] = Model) -> Iterator[type[Model]]:
    """Every model of what callers send."""
    for each in of.__subclasses__():
        yield each
        yield from models(each)


def test_no_field_of_a_request_costs_the_square_of_its_text() -> None:
    checked = {model.__name__: model for model in models()}
    assert {"MemoryInput", "RecallInput", "Retain", "EntryInput", "TurnInput", "EdgeWrite"} <= checked.keys()

    def cost(text: str) -> float:
        began = time.process_time()
        for model in checked.values():
            for said in (text, [text]):
                with suppress(ValidationError):
                    model.model_validate(dict.fromkeys(model.model_fields, said))
        return time.process_time() - began

    assert [found for unit in UNITS if (found := is_square(cost, unit))] == []


ROUTES: dict[str, Callable[[str], dict[str, Any]]] = {
    "/memories": lambda text: {"content": text, "on_duplicate": "refuse"},
    "/recall": lambda text: {"query": text},
    "/recall/why-not": lambda text: {"query": text, "id": "00000000-0000-0000-0000-000000000001"},
    "/context": lambda text: {"message": text, "session_id": "s"},
    "/retain": lambda text: {"content": text[:10_000]},
    "/remember": lambda text: {"messages": [{"role": "user", "content": text}]},
    "/entities/match": lambda text: {"text": text},
    "/entities/search": lambda text: {"query": text},
    "/graph/context": lambda text: {"message": text},
    "/working-memory/search": lambda text: {"query": text},
    "/conversations/s/turns": lambda text: {"turns": [{"role": "user", "content": text}]},
}


@pytest.fixture(scope="module")
def quiet(service: Service) -> Iterator[Service]:
    """A service that does nothing behind requests."""
    with serve(service.database, worker=False) as running:
        yield running


@pytest.mark.parametrize("path", ROUTES)
def test_no_text_costs_a_route_its_square(quiet: Service, path: str) -> None:
    nth = [*ROUTES].index(path)
    with new_api(quiet) as api:
        api.write("Alice lives in Porto", entities=[{"name": "Alice"}])
        assert [found for unit in UNITS[nth % 4 :: 4] if (found := is_square(lambda text: answered(api, path, text), unit))] == []


def held_by(api: Api, path: str, text: str) -> float:
    """How long the request keeps the loop, in seconds of a processor."""
    assert api.service.loop is not None
    with watched(api.service.loop) as most:
        answered(api, path, text)
    return most.thread


@pytest.mark.parametrize("path", ROUTES)
def test_no_text_keeps_the_loop_from_others(quiet: Service, path: str) -> None:
    with new_api(quiet) as api:
        answered(api, path, "Alice")
        for unit in ("a1@", "a_b_", "Alice and "):  # words without number, of which few are different
            assert any(held_by(api, path, unit * 3000) < HELD for _ in range(3)), unit  # others may have had the processor


@pytest.mark.parametrize("unit", UNITS)
def test_words_of_a_question_cost_no_more_than_its_length(unit: str) -> None:
    provider = StaticProvider()

    def cost(text: str) -> float:
        began = time.thread_time()
        provider.words(text)
        return time.thread_time() - began

    assert is_square(cost, unit) is None


@given(st.text("Alice don't \u0301\u0130ﬁ1@_.漢", max_size=60))
def test_each_token_of_a_question_belongs_to_the_first_word_that_it_touches(text: str) -> None:
    provider = StaticProvider()
    spans = [(found.start(), found.end(), found.group()) for found in WORD.finditer(text)]
    sums: dict[str, Any] = {}
    encoded = provider._model.tokenizer.encode(text, add_special_tokens=False)
    for token, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
        word = next((word for first, last, word in spans if first < end and start < last), "")
        sums[word] = sums.get(word, 0) + provider._model.embedding[token].astype(np.float32)
    found = provider.words(text)
    assert (found is None) == (not spans)
    if found is not None:
        assert found.words == [*sums]
        np.testing.assert_allclose(found.vectors, [*sums.values()], atol=1e-4)


def answered(api: Api, path: str, text: str) -> float:
    """Seconds until an answer."""
    began = time.monotonic()
    reply = api.post(path, ROUTES[path](text))
    assert reply.status_code < 500, reply.text
    return time.monotonic() - began
