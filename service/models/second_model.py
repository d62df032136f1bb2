"""The second embedding model behind the first: begun once, then filled batch by batch by the worker."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from db.models import reembedding, second_model
from db.pool import Transaction
from service.embedding.second_model import SecondModel
from service.models.reembedding import drop_retired_models
from service.models.vector_batches import MEMORIES, embed_and_store

log = logging.getLogger(__name__)
Begin = Callable[[str], AbstractAsyncContextManager[Transaction]]
BATCH = 32  # memories: a dense model takes seconds for them, in which an erasure of their namespace waits


async def begin_second(begin: Begin, second: SecondModel) -> bool:
    """Make the configured model the second one, and queue all memories for it. Any step may be repeated.

    False: it cannot be yet. Another second model that has made vectors is replaced where there is little to embed, else it stays.
    """
    model = await second.model()
    await drop_retired_models(begin, None, lambda *_: None)
    async with begin("begin_second_model") as tx:
        corpus = await reembedding.corpus_size(tx)
        replace = corpus["memories"] <= second.settings.automatic
        number = await second_model.prepare(tx, model=model, replace=replace)
        there = {row["state"]: row["name"] for row in await reembedding.list_embedding_models(tx)}
    if number is None:
        if "second" in there:
            log.warning(
                "%s is configured as the second model and %s is it: `loci reembed --drop-second`", model["name"], there["second"]
            )
        return "second" in there
    async with begin("begin_second_model") as tx:
        if not await second_model.begin(tx, model=number, replace=replace):
            return False
    await _queue(begin, number)
    await drop_retired_models(begin, None, lambda *_: None)
    return True


async def _queue(begin: Begin, number: int) -> None:
    """Queue what was there before, a namespace at a time."""
    async with begin("queue_reembedding") as tx:
        row = next((row for row in await reembedding.list_embedding_models(tx) if row["id"] == number), None)
    if row is None or row["queued_at"] is not None:
        return
    after: int | None = None
    while True:
        async with begin("queue_reembedding") as tx:
            after = await reembedding.queue_reembedding(tx, model=number, after=after)
        if after is None:
            return


async def embed_second_batch(tx: Transaction, second: SecondModel) -> int:
    """Embed a batch of memories that wait for the second model; how many."""
    if second.serving is None:
        return 0
    claimed = await MEMORIES.claim(tx, limit=BATCH, model=second.serving["id"])
    return await embed_and_store(tx, MEMORIES, second.provider, claimed) if claimed else 0
