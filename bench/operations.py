"""What the operations log and the change feed cost: the same writes with the triggers that note changes and without them.

    python -m bench.operations [--folder FOLDER] [--quick]

Memories one by one over REST; then, by statements of the service's role, memories one by one and in bulk, edges in bulk, versions, and
entries of working memory. Ways take turns in blocks: before each the owner switches the triggers on or off, and the outbox is emptied after
it. Statements are measured twice: by the clock, and by the processor time of their backend, which other work on the machine does not change.
And what the sequencer takes to move changes into the feed, what the list of 100,000 operations takes, and what a page of changes does.
"""

import itertools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from psycopg import Connection, sql

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, against, milliseconds, options, report, within
from bench.recall_latency import Client
from bench.server import running

NAME = "operations"
ORIGIN = json.dumps({"action": "write_memory", "via": "rest", "request_id": "0123456789abcdef"})
ENTER = "select agent_id from loci_api.begin_request(null, %s, 'writer', %s::jsonb)"
LOGGED = """
insert into loci_data.operations (namespace_id, id, action, via, request_id, started_at)
select %s, loci_api.uuid7(), case when n %% 1000 = 0 then 'erase_memories' else 'write_memory' end, 'rest',
       md5(n::text), now() - n * interval '1 minute'
from generate_series(%s, 1, -1) n"""
CHANGED = """
insert into loci_data.changes (namespace_id, position, place, operation_id, kind, action, subject_id, after, changed_at)
select namespace_id, row_number() over (order by id), nextval('loci_data.change_places'), id, 'memory', 'created', id, '{"lineage": "x", "version": 1}', started_at
from loci_data.operations where namespace_id = %s order by id"""


def switch(owner: Connection[Any], *, on: bool) -> None:
    """Switch the triggers that note changes on or off."""
    found = owner.execute(
        "select c.relname, t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid where starts_with(t.tgname, 'zz_')"
    ).fetchall()
    verb = sql.SQL("enable" if on else "disable")
    with owner.transaction():
        for table, trigger in found:
            names = (sql.Identifier("loci_data", table), verb, sql.Identifier(trigger))
            owner.execute(sql.SQL("alter table {} {} trigger {}").format(*names))


def compared(
    owner: Connection[Any], write: Callable[[], Any], *, rounds: int, block: int, clock: Callable[[], float] = time.perf_counter
) -> dict[bool, list[float]]:
    """Milliseconds of a write with the triggers and without, by a clock; the first of each block is not counted."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for on in (True, False) if number % 2 else (False, True):
            switch(owner, on=on)
            try:
                write()
                for _ in range(block):
                    started = clock()
                    write()
                    times[on].append(1000 * (clock() - started))
            finally:
                switch(owner, on=True)
            owner.execute("delete from loci_data.outbox")
    return times


def over_rest(base: Database, owner: Connection[Any], texts: "itertools.cycle[str]", rounds: int) -> Figure:
    """POST /memories, without a worker beside it."""
    with running(base.folder, worker=False, environment={"LOCI_EMBEDDING__PROVIDER": "none"}) as (address, _):
        client, mark = Client(address, NAME), itertools.count()
        times = compared(
            owner, lambda: client.post("/memories", {"content": f"{next(texts)} {next(mark)}"}), rounds=rounds, block=40
        )
    return against("one memory over REST; without the log", times[True], times[False], 1.1)


def by_statements(base: Database, owner: Connection[Any], texts: "itertools.cycle[str]", given: Options) -> list[Figure]:
    """Writes of the service's role, each a transaction."""
    figures, mark = [], itertools.count()
    with base.app() as app:
        own = Path(f"/proc/{app.info.backend_pid}/schedstat")

        def processor() -> float:
            return int(own.read_text().split()[0]) / 1e9

        def send(statement: Any, items: Any) -> None:
            with app.transaction():
                app.execute(ENTER, (NAME, ORIGIN))
                app.execute(statement, (NAME, json.dumps(items))).fetchall()

        def memory(**more: Any) -> dict[str, Any]:
            return {"content": f"{next(texts)} {next(mark)}", **more}

        def edge() -> dict[str, Any]:
            number = next(mark)
            return {"source": f"Source {number % 5000}", "type": "knows", "target": f"Target {number % 4999}"}

        one, many = "select loci_api.remember_one(%s, %s::jsonb)", "select id from loci_api.remember(%s, %s::jsonb)"
        ways: list[tuple[str, Callable[[], Any], int, int, float | None]] = [
            ("one memory", lambda: send(one, memory()), 40, given.size(20), None),
            ("a version of one", lambda: send(one, memory(lineage=f"line {next(mark) % 50}")), 40, given.size(20), None),
            ("1,000 memories", lambda: send(many, [memory() for _ in range(1000)]), 2, given.size(20), 1.15),
            ("1,000 edges", lambda: send("select id from loci_api.observe_edges(%s, %s::jsonb)", [edge() for _ in range(1000)]),
             3, given.size(20), 1.15),
            ("an entry of working memory", lambda: send("select key from loci_api.save_working_memory(%s, 'session/a/plan', %s::jsonb)", 1),
             40, given.size(20), 1.05),
        ]  # fmt: skip
        for name, write, block, rounds, goal in ways:
            for kind, clock in (("", time.perf_counter), (", processor time", processor)):
                times = compared(owner, write, rounds=max(2, rounds // 2), block=block, clock=clock)
                limit = goal if kind else None
                figures.append(
                    against(f"{name}{kind}", times[True], times[False], limit)
                    if limit
                    else Figure(f"{name}{kind}", milliseconds(times[True]), milliseconds(times[False]),
                                statistics.median(times[True]) / statistics.median(times[False]))
                )  # fmt: skip
        send(many, [memory() for _ in range(given.size(10_000))])
        started = time.perf_counter()
        (moved,) = app.execute("select moved from loci_api.sequence_changes(1000000)").fetchone() or (0,)
        figures.append(Figure("changes given their positions", f"{moved / (time.perf_counter() - started):,.0f} a second"))
    return figures


def reading(base: Database, owner: Connection[Any], count: int) -> list[Figure]:
    """Pages of the log and of what an operation changed."""
    number = fill.namespace(owner, f"{NAME}-read")
    owner.execute(LOGGED, (number, count))
    owner.execute(CHANGED, (number,))
    owner.execute("vacuum analyze loci_data.operations, loci_data.changes, loci_data.operation_counts")
    with base.app() as app:
        (some,) = owner.execute("select id from loci_data.operations where namespace_id = %s limit 1", [number]).fetchone() or (
            None,
        )
        asked: dict[str, tuple[Any, tuple[Any, ...]]] = {
            f"first page of {count:,} operations": ("select * from loci.list_operations(%s)", ()),
            "… of one action": ("select * from loci.list_operations(%s, p_action => 'erase_memories')", ()),
            "… of a day": ("select * from loci.list_operations(%s, p_until => now() - interval '30 days')", ()),
            "… on one memory": ("select * from loci.list_operations(%s, p_subject => %s)", (some,)),
            "what an operation changed": ("select * from loci.operation_changes(%s, %s)", (some,)),
        }
        figures = []
        for name, (statement, more) in asked.items():
            times = []
            for _ in range(30):
                started = time.perf_counter()
                app.execute(statement, (f"{NAME}-read", *more)).fetchall()
                times.append(1000 * (time.perf_counter() - started))
            figures.append(within(name, times[5:], p50=10))
        return figures


def run(base: Database, given: Options) -> list[Figure]:
    """Write, then read."""
    mark = str(time.time_ns())
    texts = itertools.cycle([f"{text} {mark}" for text in corpus.recombined(corpus.turns(given.data), 2000, seed=21)])
    with base.owner() as owner:
        fill.namespace(owner, NAME)
        figures = [
            over_rest(base, owner, texts, max(2, given.size(20))),
            *by_statements(base, owner, texts, given),
            *reading(base, owner, given.size(100_000)),
        ]
        return report("The operations log", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
