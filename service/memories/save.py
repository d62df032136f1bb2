"""Saving a memory, and having a model expand it later."""

from db import memories
from db.jobs import jobs
from db.memories import WrittenMemory
from db.pool import JsonObject, Transaction


async def save_memory(tx: Transaction, item: JsonObject, *, enrich: bool, has_model: bool) -> JsonObject:
    """Write a memory as it is; where it is to be enriched, the job for that is made in the same transaction."""
    row = await memories.remember_one(tx, item=item)
    saved = {key: value for key, value in row.items() if key != "cursor"}
    return {**saved, "enrichment": await _enrichment(tx, row, has_model=has_model)} if enrich else saved


async def _enrichment(tx: Transaction, row: WrittenMemory, *, has_model: bool) -> JsonObject:
    if not has_model:
        return {"skipped": "no language model is configured"}
    if not (await tx.entered()).settings["enrich_model"]:
        return {"skipped": "the setting enrich_model is off"}
    if row["duplicate"]:
        return {"skipped": "it is known already"}
    job = await jobs.enqueue_job(tx, kind="enrich", arguments={"memory_id": str(row["id"])}, key=str(row["id"]))
    return {"job_id": job["id"]}
