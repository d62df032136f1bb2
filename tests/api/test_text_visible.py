"""Hidden characters of what is stored: REST gives them as they are, and wherever a person or a model reads a text they are shown."""

import json
import logging
from typing import Any

import pytest

from service.observability.logs import Lines
from tests.api.test_retain_model import about, model, retain
from tests.services import Api, ok
from tests.tools import over_http

HIDDEN = "\x1b]0;owned\x07\x9b2J\u202e\u2066\u200b\ufeff\U000e0068"
CONTENT = f"Alice keeps {HIDDEN} the key\n\tin a drawer"
SHOWN = "\\x1b]0;owned\\x07\\x9b2J\\u202e\\u2066\\u200b\\ufeff\\U000e0068"


def hides(text: str) -> bool:
    return any(character in text for character in HIDDEN if not character.isascii() or not character.isprintable())


@pytest.fixture
def memory(api: Api) -> dict[str, Any]:
    return api.write(CONTENT, entities=[{"name": "Alice"}], category="notes")


def test_rest_returns_stored_values(api: Api, memory: dict[str, Any]) -> None:
    assert ok(api.get(f"/memories/{memory['id']}"))["content"] == CONTENT


@pytest.mark.row("MCP")
def test_tools_show_them_in_text_and_data(api: Api, memory: dict[str, Any]) -> None:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as tools:
        for name, arguments in (
            ("memory_history", {"ref": memory["id"]}),
            ("get_context", {"message": "Alice"}),
            ("recall", {"query": "Alice"}),
        ):
            result = tools.ask(name, **arguments)
            text = result.content[0].text
            assert SHOWN in text, name
            assert not hides(text + json.dumps(result.structured_content, ensure_ascii=False))
            assert "the key\n" in text


def test_a_context_shows_them_in_its_text_and_keeps_to_its_budget(api: Api, memory: dict[str, Any]) -> None:
    ok(api.post("/conversations/s/turns", {"turns": [{"role": "user", "content": f"Who {HIDDEN}?"}]}), 201)
    found = ok(api.post("/context", {"message": "Alice", "session_id": "s"}))
    assert found["text"].count(SHOWN) == 2
    assert not hides(found["text"])
    assert found["memories"][0]["content"] == CONTENT
    short = ok(api.post("/context", {"message": "Alice", "session_id": "t", "max_chars": len(found["text"]) // 2}))
    assert len(short["text"]) <= len(found["text"]) // 2


def test_lines_about_the_graph_show_them(api: Api) -> None:
    api.write("Alice knows Bob", edges=[{"source": f"Alice{HIDDEN}", "type": "knows", "target": "Bob"}])
    found = ok(api.post("/graph/context", {"text": "Bob"}))
    assert found["rendered"]
    assert not hides(found["rendered"])


def test_a_prompt_shows_them_and_says_the_same(api: Api, memory: dict[str, Any]) -> None:
    with model(api, about("create")) as asked:
        retain(api, f"Alice keeps {HIDDEN} the lock in a box")
    sent = asked.heard[-1][-1]["content"]
    assert not hides(sent)
    assert "\\u202e" in sent
    assert HIDDEN in json.loads(sent)["facts"][0]["text"]


@pytest.mark.parametrize("as_json", [True, False])
def test_logs_show_them(as_json: bool) -> None:
    record = logging.LogRecord("service", logging.WARNING, __file__, 1, "of %s", (HIDDEN,), None)
    record.fields = {"namespace": HIDDEN}
    line = Lines(json=as_json).format(record)
    assert not hides(line)
    if as_json:
        assert json.loads(line)["message"] == f"of {HIDDEN}"
