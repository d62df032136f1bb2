"""Calls wait here for a slot of the endpoint, requests before jobs, and nobody who leaves takes a slot away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from service.llm.call_slots import Slots
from service.llm.client import EndpointModel
from service.llm.model import ModelError
from service.settings import LLMSettings

pytestmark = pytest.mark.anyio


async def hold(slots: Slots, name: str, order: list[str], *, by_request: bool = False) -> None:
    async with slots.hold_slot(by_request=by_request):
        order.append(name)
        await asyncio.sleep(0)


async def test_requests_go_before_jobs_and_each_in_its_turn() -> None:
    slots, order = Slots(1), list[str]()
    async with slots.hold_slot(by_request=False):
        waiting = [asyncio.create_task(hold(slots, name, order, by_request=name > "m")) for name in ("a", "x", "b", "y")]
        await asyncio.sleep(0)
        assert order == []
    await asyncio.gather(*waiting)
    assert order == ["x", "y", "a", "b"]


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_no_more_calls_than_slots_run_at_once(limit: int) -> None:
    slots, most, running = Slots(limit), 0, 0

    async def work() -> None:
        nonlocal most, running
        async with slots.hold_slot(by_request=False):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

    await asyncio.gather(*(work() for _ in range(20)))
    assert (most, running) == (limit, 0)


@pytest.mark.parametrize("handed_over", [False, True])
async def test_a_call_that_leaves_the_queue_takes_no_slot_with_it(handed_over: bool) -> None:
    slots, order = Slots(1), list[str]()
    async with slots.hold_slot(by_request=False):
        leaving = asyncio.create_task(hold(slots, "leaving", order))
        await asyncio.sleep(0)
        if not handed_over:
            leaving.cancel()
    leaving.cancel()  # the slot was handed over, and nobody has woken yet
    await asyncio.wait([leaving])
    await asyncio.wait_for(hold(slots, "next", order), 1)
    assert order == ["next"]


@pytest.fixture
async def models() -> AsyncIterator[list[EndpointModel]]:
    made: list[EndpointModel] = []
    yield made
    for model in made:
        await model.close()


@pytest.mark.parametrize(
    ("url", "concurrency", "waits"),
    [
        ("http://127.0.0.1:9/v1", None, True),
        ("http://localhost:9/v1", None, True),
        ("http://[::1]:9/v1", None, True),
        ("http://127.0.0.1:9/v1", 2, False),
        ("https://api.example.com/v1", None, False),
        ("https://api.example.com/v1", 1, True),
    ],
)
async def test_an_endpoint_on_this_machine_has_one_slot_unless_told_otherwise(
    models: list[EndpointModel], url: str, concurrency: int | None, waits: bool
) -> None:
    models.append(EndpointModel(LLMSettings(endpoint=url, concurrency=concurrency)))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(models[0].slot(None))
        if waits:
            stack.enter_context(pytest.raises(ModelError, match=r"was busy with other calls for 0\.2 s \(LOCI_LLM__CONCURRENCY\)"))
        left = await stack.enter_async_context(models[0].slot(0.2))
        assert (waits, left) == (False, pytest.approx(0.2, abs=0.1))
