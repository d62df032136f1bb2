"""`loci demo`: a small world to try things on, in the namespace `default`."""

import hashlib
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson

from service.cli.database_session import Session, run_command
from service.cli.framework import tell_result
from service.cli.output import echo

if TYPE_CHECKING:
    from db.pool import Transaction

NAMESPACE = "default"
MARKER = "alice-location"  # a lineage of the demo; where it is, the demo is


def demo() -> None:
    """Load a small world to try things on.

    It goes into the namespace `default`, of a database that is made here if there is none. Loading it again changes nothing.
    """
    loaded = run_command(load_demo, make=True)
    tell_result({"loaded": loaded}, lambda: _tell_counts(loaded))


def _tell_counts(loaded: dict[str, int] | None) -> None:
    if loaded is None:
        echo("the demo is loaded already")
        return
    echo(f"loaded {loaded['memories']} memories, {loaded['entities']} entities and {loaded['edges']} edges; try:")
    for command in ('recall "technical skills" --k 3 --explain', "traverse Alice", "memory history alice-location"):
        echo(f"  loci {command}")


def read_demo() -> tuple[bytes, dict[str, list[dict[str, Any]]]]:
    """The content of the demo, and its lines by kind: memory, entity, edge, turn, entry (of working memory)."""
    content = files("service.cli").joinpath("demo.jsonl").read_bytes()
    kinds: dict[str, list[dict[str, Any]]] = {"memory": [], "entity": [], "edge": [], "turn": [], "entry": []}
    for line in content.splitlines():
        item = orjson.loads(line)
        kinds[item.pop("kind")].append(item)
    return content, kinds


async def load_demo(session: Session) -> dict[str, int] | None:
    """Write the demo in one transaction; None when it is there already."""
    from db import idempotency, memories
    from db.graph import edges, entities

    content, kinds = read_demo()
    async with session.open_transaction(NAMESPACE, "writer") as tx:
        # Two loaders at once take turns here: the second one waits for this key and finds it used.
        if await idempotency.claim_idempotency_key(tx, key="loci demo", request_hash=hashlib.sha256(content).digest()):
            return None
        if await memories.list_memories(tx, filters={"lineage": MARKER}, limit=1, all_versions=True):
            return None
        await _write_memories(tx, kinds["memory"])  # first: tables are locked in this order when a model is registered
        await entities.upsert_entities(tx, entities=kinds["entity"])
        await edges.observe_edges(tx, edges=[_date_edge(edge) for edge in kinds["edge"]])
        await _write_tiers(tx, kinds)
        await _write_history(tx)
        await idempotency.store_idempotent_reply(tx, key="loci demo", status=201, response=b"{}")
    return {"memories": len(kinds["memory"]), "entities": len(kinds["entity"]), "edges": len(kinds["edge"])}


def _date_edge(edge: dict[str, Any]) -> dict[str, Any]:
    """An edge that was seen some days before the demo is loaded: so there is one that fades within weeks, whenever that is."""
    if "observed_days_ago" not in edge:
        return edge
    seen = datetime.now(UTC) - timedelta(days=edge["observed_days_ago"])
    return {name: value for name, value in edge.items() if name != "observed_days_ago"} | {"observed_at": seen.isoformat()}


async def _write_memories(tx: "Transaction", items: list[dict[str, Any]]) -> None:
    """Write memories whose `parent` names a lineage: level by level, so that parents have their ids."""
    from db import memories

    ids: dict[str, str] = {}
    while items:
        ready = [item for item in items if item.get("parent") is None or item["parent"] in ids]
        items = [item for item in items if item not in ready]
        rows = [
            {
                **{k: v for k, v in item.items() if k != "parent"},
                **({"parent_id": ids[item["parent"]]} if "parent" in item else {}),
            }
            for item in ready
        ]
        for item, outcome in zip(ready, await memories.remember(tx, items=rows), strict=True):
            ids[item["lineage"]] = str(outcome["id"])


async def _write_tiers(tx: "Transaction", kinds: dict[str, list[dict[str, Any]]]) -> None:
    """Write the conversation and the entries of working memory, which live for a day."""
    from db.sessions import conversations, working_memory

    for turn in kinds["turn"]:
        await conversations.add_turns(tx, session_id=turn["session_id"], turns=[{"role": turn["role"], "content": turn["content"]}])
    for entry in kinds["entry"]:
        await working_memory.save_working_memory(tx, **entry)


async def _write_history(tx: "Transaction") -> None:
    """Write what agents have done in this world: facts, recalls, feedback, jobs, calls of a model, and a second agent."""
    from migrations.sql_files import split

    for statement in split(files("service.cli").joinpath("demo.sql").read_text(encoding="utf-8")):
        await tx.post(statement)
