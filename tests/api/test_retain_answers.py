"""No answer of a model keeps the service from others while it is read and weighed, however much it says."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.test_retain_model import model, retain
from tests.holding import held_by_a_busy_thread, watched
from tests.services import Api

HELD = 0.15  # seconds: 50 ms, and as much again twice where other tests share the processor
TRIES = 3
SIZE = 120_000  # characters: about as many as an answer may have

ANSWERS: dict[str, Callable[[], Any]] = {
    "wrong decisions": lambda: '{"decisions":[' + "{}," * (SIZE // 3) + "{}]}",
    "marks upon a letter": lambda: '{"decisions":[],"more":"e' + "\u0301\u0323" * (SIZE // 2) + '"}',
    "decisions about nothing": lambda: {"decisions": [{"fact": n, "action": "create"} for n in range(SIZE // 40)]},
    "links": lambda: {
        "decisions": [
            {"fact": 1, "action": "link", "target": 1, "links": [{"target": n, "type": f"t{n}"} for n in range(SIZE // 40)]}
        ]
    },
    "reasons": lambda: {"decisions": [{"fact": 1, "action": "nothing", "target": 1, "reason": "a b c. " * (SIZE // 7)}]},
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_answer_of_a_model_holds_the_loop(api: Api, answer: str) -> None:
    loop, said, seen = api.service.loop, ANSWERS[answer](), []
    assert loop is not None
    api.write("Carol Diaz joined Acme Corp.")
    text = said if isinstance(said, str) else json.dumps(said)
    for _ in range(TRIES):
        with model(api, lambda _: text), watched(loop) as most:
            retain(api, "Carol Diaz left Acme Corp.", dry_run=True)
        if most.thread < HELD and (most.process < HELD or most.process < 2 * held_by_a_busy_thread(loop)):
            return
        seen.append(most)
    raise AssertionError(seen)
