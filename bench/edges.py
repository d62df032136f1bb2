"""Edges: written in bulk by name with their evidence, observed again, and a change of decay over all edges of a type.

    python -m bench.edges [--folder FOLDER] [--quick]

Bulk: loci_api.observe_edges on one connection, batches of 1,000 and 10,000 (the largest that REST takes), between entities that are
known; ten edges a session, or ten a memory. Beside it, batch by batch, the floor: COPY of the same rows into a temporary table,
and insert…select into edges, edge_observations and entity_sessions (or memory_mentions), foreign keys checked, nothing resolved or
counted.
Decay: a new rate for a type with 1,000,000 edges, in the batches that the service makes, while another session walks the graph.
"""

import random
import statistics
import threading
import time
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection
from psycopg.types.json import Jsonb

from bench import graph_data
from bench.database import Database, database
from bench.measure import Figure, Options, milliseconds, options, report

ENTITIES = 20_000
PER_CONVERSATION = 10
STAGE = """create temp table stage (id uuid, source_id uuid, type text, target_id uuid, session_id text, memory_id uuid)"""
BARE_EDGES = """
insert into loci_data.edges (namespace_id, id, source_id, type, target_id, confidence, initial_confidence, first_observed_at,
                             last_observed_at, restored_at, fades_at, valid_from, recorded_at, updated_at)
select %(ns)s, id, source_id, type, target_id, 0.9, 0.9, now(), now(), now(), now() + interval '219 days', now(), now(), now() from stage"""
BARE_EVIDENCE = """
insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at, confidence, reinforcement, recorded_at)
select %(ns)s, loci_api.uuid7(), id, memory_id, session_id, now(), 0.9, 'full', now() from stage"""
BARE_SESSIONS = """
insert into loci_data.entity_sessions (namespace_id, entity_id, session_id, observations, first_observed_at, last_observed_at)
select %(ns)s, e.id, e.session_id, count(*), now(), now()
from (select source_id as id, session_id from stage union all select target_id, session_id from stage) e
where e.session_id is not null group by e.id, e.session_id"""
BARE_MENTIONS = """
insert into loci_data.memory_mentions (namespace_id, memory_id, entity_id, mention_text, observed)
select distinct %(ns)s, e.memory_id, e.id, 'x', true
from (select source_id as id, memory_id from stage union all select target_id, memory_id from stage) e where e.memory_id is not null"""
WALK = "select count(*) from loci.traverse(%s, array[%s], p_max_hops => 2)"


class Namespace:
    """A namespace with known entities, and memories to be evidence."""

    def __init__(self, app: Connection[Any], size: int) -> None:
        self.name = f"edges-{uuid4().hex[:8]}"
        self.number = first(app, "select loci_api.create_namespace(%s)", self.name)
        self.entities = [f"Person number {n}" for n in range(ENTITIES)]
        self.ids: list[UUID] = []
        for start in range(0, ENTITIES, 5000):
            names = Jsonb([{"name": name, "type": "person"} for name in self.entities[start : start + 5000]])
            self.ids += [
                row[0]
                for row in app.execute("select id from loci_api.upsert_entities(%s, %s) order by ordinal", [self.name, names])
            ]
        self.memories: list[UUID] = []
        for start in range(0, size // PER_CONVERSATION, 5000):
            items = Jsonb([{"content": f"{self.name} {n}"} for n in range(start, min(start + 5000, size // PER_CONVERSATION))])
            self.memories += [
                row[0] for row in app.execute("select id from loci_api.remember(%s, %s) order by ordinal", [self.name, items])
            ]


def first(connection: Connection[Any], statement: Any, *values: Any) -> Any:
    """The only value of a statement."""
    row = connection.execute(statement, values).fetchone()
    assert row is not None
    return row[0]


def triples(count: int) -> list[tuple[int, str, int]]:
    """Distinct triples of entity numbers and a type."""
    draw = random.Random(7)
    found: dict[tuple[int, str, int], None] = {}
    while len(found) < count:
        found[draw.randrange(ENTITIES), draw.choice(graph_data.TYPES), draw.randrange(ENTITIES)] = None
    return list(found)


def stated(
    space: Namespace, items: list[tuple[int, str, int]], start: int, evidence: str, round_: str = ""
) -> list[dict[str, Any]]:
    """Items of observe_edges."""
    edges = []
    for place, (source, type_, target) in enumerate(items, start):
        edge = {
            "source": space.entities[source],
            "type": type_,
            "target": space.entities[target],
            "confidence": 0.9,
            "strength": 0.5,
        }
        talk = place // PER_CONVERSATION
        edges.append(
            edge
            | ({"session_id": f"session {talk}{round_}"} if evidence == "session" else {"memory_id": str(space.memories[talk])})
        )
    return edges


def observe(app: Connection[Any], space: Namespace, edges: list[dict[str, Any]]) -> float:
    """Seconds that a batch takes."""
    batch = Jsonb(edges)
    started = time.perf_counter()
    app.execute("select count(*) from loci_api.observe_edges(%s, %s)", [space.name, batch])
    return time.perf_counter() - started


def bare(owner: Connection[Any], space: Namespace, items: list[tuple[int, str, int]], start: int, evidence: str) -> float:
    """Seconds of the floor for the same batch."""
    rows = []
    for place, (source, type_, target) in enumerate(items, start):
        talk = place // PER_CONVERSATION
        session, memory = (f"session {talk}", None) if evidence == "session" else (None, space.memories[talk])
        rows.append((uuid4(), space.ids[source], type_, space.ids[target], session, memory))
    started = time.perf_counter()
    with owner.transaction():
        owner.execute("truncate stage")
        with owner.cursor() as cursor, cursor.copy("copy stage from stdin") as copy:
            for row in rows:
                copy.write_row(row)
        for statement in (BARE_EDGES, BARE_EVIDENCE, BARE_SESSIONS, BARE_MENTIONS):
            owner.execute(statement, {"ns": space.number})  # type: ignore[arg-type]
    return time.perf_counter() - started


def bulk(app: Connection[Any], owner: Connection[Any], evidence: str, count: int, size: int) -> list[Figure]:
    """Edges a second, new and observed again, and the floor of the new ones."""
    space, floor = Namespace(app, count), Namespace(app, count)
    items = triples(count)
    times: dict[str, list[float]] = {"new": [], "bare": [], "again": []}
    for start in range(0, count, size):
        part = items[start : start + size]
        times["new"].append(observe(app, space, stated(space, part, start, evidence)))
        times["bare"].append(bare(owner, floor, part, start, evidence))
    for start in range(0, count, size):
        part = items[start : start + size]
        times["again"].append(observe(app, space, stated(space, part, start, "session", " again")))
    rate = {name: count / sum(taken) for name, taken in times.items()}
    what = f"{count:,} edges by {evidence}, batches of {size:,}"
    return [
        Figure(
            what,
            f"{rate['new']:,.0f} /s",
            f"{rate['bare']:,.0f} /s",
            rate["new"] / rate["bare"],
            "≥ 10,000 /s",
            rate["new"] >= 10_000,
        ),
        Figure("… observed again in new sessions", f"{rate['again']:,.0f} /s", ratio=rate["again"] / rate["new"]),
    ]


def decay(base: Database, count: int) -> list[Figure]:
    """A change of the rate of a type, and a reader beside it."""
    with base.owner() as owner, base.app() as app, base.app() as reader:
        name = f"decay-{uuid4().hex[:8]}"
        number = graph_data.load(owner, name, count // 4, count, types=["works_on"])
        rows = owner.execute(
            "select name from loci_data.entities where namespace_id = %s order by id offset 1000 limit 500", [number]
        )
        starts = [row[0] for row in rows]
        before = [walk(reader, name, start) for start in starts]
        during: list[float] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                during.append(walk(reader, name, starts[len(during) % len(starts)]))

        thread = threading.Thread(target=read)
        thread.start()
        app.execute("select loci_api.set_edge_type(%s, 'works_on', '{\"decay_rate\": 0.05}')", [name])
        batches, counts = [], (0, 0, 0, False)
        started = time.perf_counter()
        while not counts[3]:
            began = time.perf_counter()
            counts = app.execute("select * from loci_api.recalculate_decay_batch(%s, 'works_on')", [name]).fetchone() or counts
            batches.append(time.perf_counter() - began)
        total = time.perf_counter() - started
        done.set()
        thread.join()
    longest = f"batches p50 {1000 * statistics.median(batches):.0f} ms, longest {1000 * max(batches):.0f} ms"
    return [
        Figure(f"a new rate for {counts[0]:,} edges", f"{total:.1f} s", longest),
        Figure(
            "a walk of two hops meanwhile",
            milliseconds(during),
            milliseconds(before),
            statistics.median(during) / statistics.median(before),
        ),
    ]


def walk(reader: Connection[Any], namespace: str, start: str) -> float:
    """Milliseconds of a walk."""
    began = time.perf_counter()
    reader.execute(WALK, [namespace, start])
    return 1000 * (time.perf_counter() - began)


def run(base: Database, given: Options) -> list[Figure]:
    """Write, observe again, change the rate."""
    figures = []
    with base.app() as app, base.owner() as owner:
        owner.execute(STAGE)
        for evidence in ("session", "memory"):
            for size in (1000, 10_000):
                figures += bulk(app, owner, evidence, given.size(100_000), size)
    figures += decay(base, given.size(1_000_000))
    with base.owner() as owner:
        return report("Edges", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
