"""The stores: one that waits, one that is awaited, both over the same plans."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeVar

from langgraph.store.base import BaseStore, Op, Result, TTLConfig

from loci.client import AsyncLociClient, LociClient
from loci.errors import LociError
from loci.langgraph.items import Layout
from loci.langgraph.plans import Plan, Plans

T = TypeVar("T")


class LociStore(BaseStore):
    """A LangGraph store in a namespace of Loci.

    `root` is the category that its items stand under: stores with other roots share nothing. `fields` are the paths of a value
    that are searched, unless a put says others; Loci embeds them. `ttl` as in other stores. A put of a key that is there is a
    new version of a memory; a deleted item is a forgotten one.
    """

    supports_ttl = True

    def __init__(
        self, client: LociClient, *, root: str = "langgraph", fields: Sequence[str] = ("$",), ttl: TTLConfig | None = None
    ) -> None:
        self._client = client
        self._plans = Plans(_layout(root, fields))
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Raises LociError."""
        return self._run(self._plans.batch(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread; AsyncLociStore needs none."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _run(self, plan: Plan[T]) -> T:
        try:
            request = next(plan)
            while True:
                try:
                    reply = self._client.send(request)
                except LociError as error:
                    request = plan.throw(error)
                else:
                    request = plan.send(reply)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # what the plan returns


class AsyncLociStore(BaseStore):
    """LociStore for asynchronous graphs. It is made inside a running loop; other threads may use its synchronous methods."""

    supports_ttl = True

    def __init__(
        self, client: AsyncLociClient, *, root: str = "langgraph", fields: Sequence[str] = ("$",), ttl: TTLConfig | None = None
    ) -> None:
        self._client = client
        self._plans = Plans(_layout(root, fields))
        self._loop = asyncio.get_running_loop()
        self.ttl_config = ttl

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Raises LociError."""
        return await self._run(self._plans.batch(ops))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in the store's loop. Raises InvalidStateError in the loop itself, which it would block for ever."""
        try:
            own = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            own = False
        if own:
            raise asyncio.InvalidStateError("use the asynchronous methods (aget, aput, …) inside the loop of the store")
        return asyncio.run_coroutine_threadsafe(self.abatch(list(ops)), self._loop).result()

    async def _run(self, plan: Plan[T]) -> T:
        try:
            request = next(plan)
            while True:
                try:
                    reply = await self._client.send(request)
                except LociError as error:
                    request = plan.throw(error)
                else:
                    request = plan.send(reply)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # what the plan returns


def _layout(root: str, fields: Sequence[str]) -> Layout:
    if not root.strip() or "/" in root or "~" in root:
        raise ValueError(f"root must be one segment of a category, without / and ~, not {root!r}")
    return Layout(root, tuple(fields))
