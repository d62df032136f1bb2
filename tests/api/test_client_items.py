"""The store of session items behind the sessions of agent frameworks: what went in comes back as it was, in its order."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from loci import LociClient
from loci.items import SessionItems, text_of
from loci.openai_agents import LociSession
from tests.api.clients import async_client_of, client_of
from tests.services import Api

SAID = {"role": "user", "content": "What is the weather in Oslo?"}
CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "weather",
    "arguments": '{"city": "Oslo"}',
    "status": None,
    "new": {"a": []},
}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "Rain"}
THOUGHT = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "…"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains.", "annotations": []}]}
IMAGE = {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}
ITEMS: list[dict[str, Any]] = [SAID, CALL, RESULT, THOUGHT, ANSWER, IMAGE]


@pytest.fixture
def client(api: Api) -> Iterator[LociClient]:
    with client_of(api.service, api.namespace) as client:
        yield client


@pytest.mark.row("X10")
def test_items_come_back_whole_and_in_order(client: LociClient) -> None:
    items = SessionItems(client, "s/1")
    items.add(ITEMS)
    assert items.get() == ITEMS
    assert items.get(2) == [ANSWER, IMAGE]
    assert SessionItems(client, "other").get() == []


def test_the_last_item_is_popped_until_none_is_left(client: LociClient) -> None:
    items = SessionItems(client, "s")
    items.add([SAID, ANSWER])
    assert [items.pop(), items.pop(), items.pop()] == [ANSWER, SAID, None]
    items.add([SAID])
    items.clear()
    assert items.get() == []


def test_more_items_than_a_page_holds_come_back(client: LociClient) -> None:
    items = SessionItems(client, "long")
    items.add({"role": "user", "content": f"turn {n}"} for n in range(1001))
    assert [item["content"] for item in items.get()] == [f"turn {n}" for n in range(1001)]
    assert [item["content"] for item in items.get(1)] == ["turn 1000"]


def test_items_are_turns_that_others_read_and_write(api: Api, client: LociClient) -> None:
    SessionItems(client, "s").add([SAID, CALL, RESULT])
    turns = api.get("/conversations/s/turns").json()["items"]
    assert [(turn["role"], turn["content"]) for turn in turns] == [
        ("user", "What is the weather in Oslo?"), ("assistant", 'weather({"city": "Oslo"})'), ("tool", "Rain"),
    ]  # fmt: skip
    api.post("/conversations/s/turns", {"role": "assistant", "content": "It rains."})
    assert SessionItems(client, "s").get(1) == [{"role": "assistant", "content": "It rains."}]


def test_items_stay_when_a_pass_has_read_them(api: Api, client: LociClient) -> None:
    SessionItems(client, "s").add({"role": "user", "content": f"turn {n}"} for n in range(30))
    with api.service.database.admin() as admin:
        cleared = admin.execute(
            """select (loci_internal.clear_turns(n.id, array(select t.id from loci_data.conversation_turns t
                                                             where t.namespace_id = n.id))).cleared
               from loci_data.namespaces n where n.name = %s""",
            [api.namespace],
        ).fetchone()
        assert cleared == (30,)
    assert len(SessionItems(client, "s").get()) == 30


def test_a_session_of_the_openai_agents_sdk_keeps_to_its_protocol(api: Api) -> None:
    async def use() -> None:
        async with async_client_of(api.service, api.namespace) as client:
            session = LociSession(client, "agent-1")
            await session.add_items(ITEMS)
            assert await session.get_items() == ITEMS
            assert await session.get_items(limit=1) == [IMAGE]
            assert await session.pop_item() == IMAGE
            await session.clear_session()
            assert (await session.get_items(), await session.pop_item()) == ([], None)

    asyncio.run(use())


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (SAID, "What is the weather in Oslo?"),
        (ANSWER, "It rains."),
        ({"role": "user", "contents": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"role": "user", "blocks": [{"block_type": "text", "text": "hello"}]}, "hello"),
        (IMAGE, ""),
    ],
)
def test_an_item_is_read_as_its_text(item: dict[str, Any], text: str) -> None:
    assert text_of(item) == text
