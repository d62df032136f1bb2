"""What a consolidation of 1,000 memories costs beside its model: looking, the guards of texts, applying.

    python -m bench.passes [--quick]

The model is scripted: in a namespace of 10,000 memories it merges 200 pairs of the 1,000 that it is shown, deletes 100 and refines 100, and has
each answer checked as a real one's is. The floor of applying writes as many memories and forgets as many by plain calls.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from db.text import TEXT_MARKS
from service.dreams.consolidation import Consolidation, Known, check_consolidation
from service.dreams.passes import Plan, Seen
from service.text.marks import with_readings

NAME = "passes"
PAIRS, DELETES, REFINEMENTS = 200, 100, 100


def statement(number: int) -> str:
    """Every second one says what the one before says, in other words."""
    town, rest = number // 2, " now" if number % 2 else ""
    return (
        f"Person{town % 97} moved to Town{town} on 2024-{1 + town % 12:02}-{1 + town % 28:02} with {town % 7 + 2} suitcases{rest}"
    )


def fill(app: Any, size: int) -> None:
    """A namespace of so many memories."""
    app.execute("select loci_api.create_namespace(%s, null, 'english')", [NAME])
    for start in range(0, size, 5_000):
        items = [{"content": statement(n), "category": f"topic/{n // 20 % 50}"} for n in range(start, min(start + 5_000, size))]
        app.execute("select count(*) from loci_api.remember(%s, %s::jsonb)", [NAME, json.dumps(items)])


def timed(times: list[float], what: Callable[[], Any]) -> Any:
    """What it gives, with its time noted in milliseconds."""
    started = time.perf_counter()
    given = what()
    times.append((time.perf_counter() - started) * 1000)
    return given


def answer(known: Known) -> Consolidation:
    """What the scripted model says."""
    numbers: dict[str, list[int]] = {}
    for number, memory in known.memories.items():
        numbers.setdefault(memory["content"].removesuffix(" now"), []).append(number)
    pairs = [pair for pair in numbers.items() if len(pair[1]) > 1][:PAIRS]
    used = {number for _, pair in pairs for number in pair}
    free = [number for number in known.memories if number not in used]
    merges = [{"source_ids": pair, "content": f"{text} again", "category": "merged", "tags": ["merged"]} for text, pair in pairs]
    deletes = [{"id": number, "reason": "noise"} for number in free[:DELETES]]
    refinements = [{"id": number, "tags": ["refined"]} for number in free[DELETES : DELETES + REFINEMENTS]]
    return Consolidation.model_validate({"merges": merges, "deletes": deletes, "refinements": refinements})


async def checked(app: Any, said: Consolidation, known: Known) -> Plan:
    """What stands up to the guards, with the texts read that they look at."""

    async def ask(texts: list[str]) -> list[dict[str, Any]]:
        return app.cursor(row_factory=dict_row).execute(TEXT_MARKS, {"texts": texts}).fetchall()

    return await with_readings(ask, lambda read: check_consolidation(Seen(None, 0, None, known, read), said, None))  # type: ignore[arg-type]


def forget(app: Any, ids: list[UUID]) -> None:
    """The floor: forget one by one in one call, and write as many as merges do."""
    app.execute("select loci_api.forget_memory(%s, i, true) from unnest(%s::uuid[]) i", [NAME, ids]).fetchall()
    items = [{"content": f"written {n} on 2024-01-01"} for n in range(PAIRS)]
    app.execute("select count(*) from loci_api.remember(%s, %s::jsonb)", [NAME, json.dumps(items)])


def run(base: Database, given: Options) -> list[Figure]:
    """Look, check and apply, each the best of five; what is applied is taken back."""
    size = given.size(10_000)
    times: dict[str, list[float]] = {name: [] for name in ("look", "check", "apply", "floor")}
    with base.owner() as owner, base.app() as app:
        fill(app, size)
        for _ in range(5):
            cursor = timed(times["look"], lambda: app.execute("select * from loci_api.memories_to_consolidate(%s)", [NAME]))
            names = [column.name for column in cursor.description]
            known = Known({n: dict(zip(names, row, strict=True)) for n, row in enumerate(cursor.fetchall(), 1)}, {})
            said = answer(known)
            plan = timed(times["check"], lambda s=said, k=known: asyncio.run(checked(app, s, k)))  # type: ignore[misc]
            steps = json.dumps(plan.steps)
            with app.transaction(force_rollback=True):
                done = timed(
                    times["apply"],
                    lambda s=steps: app.execute("select * from loci_api.apply_consolidation(%s, %s::jsonb)", [NAME, s]).fetchone(),
                )
            assert done[2] is None, done[2]
            ids = [memory["id"] for memory in list(known.memories.values())[: 2 * len(said.merges) + len(said.deletes)]]
            with app.transaction(force_rollback=True):
                timed(times["floor"], lambda i=ids: forget(app, i))
        best = {name: min(all_times) for name, all_times in times.items()}
        counts = f"{len(plan.steps['merges'])} merges, {len(plan.steps['deletes'])} deletes, {len(plan.steps['refinements'])} refinements"
        figures = [
            Figure(f"consolidation: look, {len(known.memories):,} of {size:,} memories, best of 5", f"{best['look']:.0f} ms"),
            Figure(f"consolidation: guards of texts ({counts}), best of 5", f"{best['check']:.0f} ms"),
            Figure(f"consolidation: apply ({counts}), best of 5", f"{best['apply']:.0f} ms", f"{best['floor']:.0f} ms (plain calls)",
                   best["apply"] / best["floor"]),
        ]  # fmt: skip
        return report("Passes", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
