"""Aspects, attributes and constraints for benchmarks of the walk: over a graph of bench.graph_data, and a graph made to exceed every bound."""

from typing import Any

from psycopg import Connection

from bench import fill, graph_data

MADE = "(lpad(to_hex(1700000000000 + {0}), 12, '0') || '70008000' || lpad(to_hex({0}), 12, '0'))::uuid"

# Every third entity: 4 aspects of 4 attributes and 1 constraint each; every second attribute rests on a memory.
ASPECTS = """
insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name, weight)
select e.namespace_id, loci_api.uuid7(), e.id, 'aspect ' || n, 'aspect ' || n, 0.1 + abs(hashtext(e.id::text || n)) %% 90 / 100.0
from (select *, row_number() over (order by id) as place from loci_data.entities where namespace_id = %(ns)s) e
cross join generate_series(1, 4) n
where e.place %% 3 = 0
"""
ATTRIBUTES = """
insert into loci_data.attributes (namespace_id, id, aspect_id, entity_id, kind, content, memory_id, importance, valid_from)
select a.namespace_id, loci_api.uuid7(), a.id, a.entity_id, case when n = 5 then 'constraint' else 'attribute' end,
       'what is worth knowing, number ' || n || ' of ' || a.name,
       (%(memories)s::uuid[])[case when n %% 2 = 0 then 1 + (a.place * 4 + n) %% cardinality(%(memories)s) end],
       abs(hashtext(a.id::text || n)) %% 100 / 100.0, now() - interval '1 day'
from (select *, row_number() over (order by id) as place from loci_data.aspects where namespace_id = %(ns)s) a
cross join generate_series(1, 5) n
"""
# One entity with all the constraints, aspects and edges; and pinned ones with ten aspects of twenty attributes each.
HUGE = f"""
insert into loci_data.entities (namespace_id, id, name, canonical_name, type, pinned, pinned_at, first_seen_at, created_at, updated_at)
select %(ns)s, {MADE.format("i")}, 'Thing ' || i, 'thing ' || i, 'tool', i <= %(pinned)s + 1 and i > 1,
       case when i <= %(pinned)s + 1 and i > 1 then now() end, now(), now(), now()
from generate_series(1, %(edges)s) i;
insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name, weight)
select %(ns)s, {MADE.format("i")}, {MADE.format("case when i <= %(aspects)s then 1 else 2 + (i - %(aspects)s) / 10 end")},
       'aspect ' || i, 'aspect ' || i, 0.5
from generate_series(1, %(aspects)s + 10 * %(pinned)s - 1) i;
insert into loci_data.attributes (namespace_id, id, aspect_id, entity_id, kind, content, importance)
select %(ns)s, {MADE.format("i")}, {MADE.format("1 + i %% %(aspects)s")}, {MADE.format("1")},
       case when i <= %(constraints)s then 'constraint' else 'attribute' end, 'a rule that always holds, number ' || i, i %% 1000 / 1000.0
from generate_series(1, %(constraints)s + %(aspects)s) i;
insert into loci_data.attributes (namespace_id, id, aspect_id, entity_id, content, importance)
select %(ns)s, loci_api.uuid7(), a.id, a.entity_id, 'something else to know, number ' || n, n / 20.0
from loci_data.aspects a cross join generate_series(1, 20) n
where a.namespace_id = %(ns)s and a.entity_id <> {MADE.format("1")};
insert into loci_data.edges (namespace_id, id, source_id, type, target_id, confidence, initial_confidence, strength,
                            first_observed_at, last_observed_at, restored_at, fades_at, valid_from, recorded_at, updated_at)
select %(ns)s, {MADE.format("i")}, {MADE.format("1")}, 'knows', {MADE.format("i")}, 1, 1, 0.3 + i %% 700 / 1000.0, now(), now(), now(),
       case when i %% 1000 = 0 then 'infinity' else now() end, now(), now(), now()
from generate_series(2, %(edges)s) i
"""
TABLES = (b"entities", b"entity_names", b"aspects", b"attributes", b"edges", b"memories")


def load(connection: Connection[Any], namespace: str, entities: int, edges: int) -> int:
    """A graph with structure over it, and memories behind; its number. The connection is a superuser's."""
    number = graph_data.load(connection, namespace, entities, edges, hubs=1)
    fill.add(connection, [(number, f"memory number {n} of what is worth knowing") for n in range(entities // 3)])
    rows = connection.execute("select id from loci_data.memories where namespace_id = %s order by doc_id", [number]).fetchall()
    with connection.transaction():
        connection.execute("set local session_replication_role = replica")
        connection.execute(ASPECTS, {"ns": number})
        connection.execute(ATTRIBUTES, {"ns": number, "memories": [row[0] for row in rows]})
    _settle(connection)
    return number


def load_huge(connection: Connection[Any], namespace: str, size: int) -> int:
    """A graph that exceeds every bound of a walk: `size` constraints on one entity, and the rest in proportion."""
    number = fill.namespace(connection, namespace)
    values = {"ns": number, "constraints": size, "aspects": size // 10, "edges": size // 5, "pinned": size // 200}
    with connection.transaction():
        connection.execute("set local session_replication_role = replica")
        connection.execute("alter table loci_data.entities enable always trigger entity_names_added")
        for statement in HUGE.split(";\n"):
            connection.execute(statement.encode(), values)
        connection.execute("alter table loci_data.entities enable trigger entity_names_added")
    _settle(connection)
    return number


def _settle(connection: Connection[Any]) -> None:
    for table in TABLES:
        connection.execute(b"vacuum analyze loci_data." + table)
