"""The language model of tests stands beside the service that asks it, as a real one does."""

import asyncio
import threading

import pytest

from service.llm.model import Message
from tests.scripted import ScriptedModel
from tests.services import PATIENCE


@pytest.mark.anyio
async def test_a_script_may_wait_for_what_the_service_it_answers_has_open() -> None:
    committed = threading.Event()
    model = ScriptedModel(lambda _: committed.wait(PATIENCE))
    asking = asyncio.create_task(model.complete([Message(role="user", content="{}")], schema={}, title=""))
    asyncio.get_running_loop().call_soon(committed.set)  # after the model was asked
    assert (await asking).text == "true"
