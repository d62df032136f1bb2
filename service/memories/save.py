"""Saving a memory, comparing it with what is known, and having a model expand it later."""

from db import memories, retain
from db.jobs import jobs
from db.memories import WrittenMemory
from db.pool import JsonObject, Transaction
from db.retain import UnsettledRow
from service.resources import Resources
from service.retain.retain_text import prepare_items
from service.retain.rules_or_model import Read
from service.retain.settle_contradictions import enqueue_settling


async def item_to_compare(resources: Resources, item: JsonObject, read: Read) -> JsonObject:
    """A memory that is to be compared with what is known, embedded as a fact is, unless it has a vector of its own."""
    if item.get("embedding") is not None:
        return item
    return (await prepare_items(resources, [item], read)).items[0]


async def save_memory(
    tx: Transaction, item: JsonObject, *, enrich: bool, has_model: bool, compared: JsonObject | None = None
) -> JsonObject:
    """Write a memory as it is; where it is to be enriched, the job for that is made in the same transaction.

    `compared`: it is to be compared with what is known, by this vector (`embedding`, of the model `embedding_model`) if any.
    """
    row = await memories.remember_one(tx, item=item)
    saved = {key: value for key, value in row.items() if key != "cursor"}
    if compared is not None:
        saved["unsettled"] = await _mark_unsettled_pairs(tx, row, compared)
        if saved["unsettled"] and has_model:
            await enqueue_settling(tx)
    return {**saved, "enrichment": await _queue_enrichment(tx, row, has_model=has_model)} if enrich else saved


async def _mark_unsettled_pairs(tx: Transaction, row: WrittenMemory, compared: JsonObject) -> list[UnsettledRow]:
    if row["duplicate"]:
        return []
    vector, model = compared.get("embedding"), compared.get("embedding_model")
    return await retain.notice_memory(tx, id=row["id"], embedding=vector, model=model)


async def _queue_enrichment(tx: Transaction, row: WrittenMemory, *, has_model: bool) -> JsonObject:
    if not has_model:
        return {"skipped": "no language model is configured"}
    if not (await tx.read_caller()).settings["enrich_model"]:
        return {"skipped": "the setting enrich_model is off"}
    if row["duplicate"]:
        return {"skipped": "it is known already"}
    job = await jobs.enqueue_job(tx, kind="enrich", arguments={"memory_id": str(row["id"])}, key=str(row["id"]))
    return {"job_id": job["id"]}
