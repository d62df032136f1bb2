"""A graph of any size for benchmarks: the same for the same arguments, hubs included.

Rows are made by the server from hashes of their number, so that 100,000 entities and 500,000 edges take seconds.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from psycopg import Connection
from psycopg.rows import TupleRow

HUB_DEGREE = 10_000
TYPES = ("works_on", "uses", "knows", "depends_on", "part_of", "mentions", "decides", "related_to")

SYLLABLES = ["ba", "ke", "li", "mo", "ru", "ta", "ne", "so", "vi", "da", "po", "ze", "ga", "hi", "lu", "fe", "ra", "co", "ni", "tu"]

ENTITIES = """
with numbered as (
    select i, (select string_agg((%(syllables)s::text[])[1 + i / (20 ^ k)::bigint %% 20], '' order by k)
               from generate_series(0, 4) k) as word
    from generate_series(1, %(entities)s) i
), named as (
    select i, case i %% 3 when 0 then word when 1 then word || ' project' else 'the ' || word || ' team' end as name from numbered
)
insert into loci_data.entities (namespace_id, id, name, canonical_name, type, aliases, mentions, first_seen_at, created_at, updated_at)
select %(namespace)s, (lpad(to_hex(1700000000000 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid,
       initcap(name), name, (array['person', 'project', 'tool', 'topic'])[1 + i %% 4],
       case when i %% 10 = 0 then array['alias ' || i] else '{}' end, 1 + i %% 20, %(at)s::timestamptz - interval '100 days', %(at)s, %(at)s
from named
"""

EDGES = """
with numbered as (
    select i, abs(hashint8extended(i, 1)) as a, abs(hashint8extended(i, 2)) as b, abs(hashint8extended(i, 3)) as c
    from generate_series(1, %(edges)s) i
), drawn as (
    select i, c,
           1 + case when i <= %(hubs)s * %(degree)s::bigint then i %% %(hubs)s else a %% %(entities)s end as source,
           1 + b %% %(entities)s as target
    from numbered
), turned as (  -- half of a hub's edges point at it
    select i, c, case when i <= %(hubs)s * %(degree)s::bigint and i / greatest(%(hubs)s, 1) %% 2 = 0 then target else source end as source,
           case when i <= %(hubs)s * %(degree)s::bigint and i / greatest(%(hubs)s, 1) %% 2 = 0 then source else target end as target
    from drawn
), typed as (
    select (lpad(to_hex(1700000000000 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid as id,
           (lpad(to_hex(1700000000000 + source), 12, '0') || '70008000' || lpad(to_hex(source), 12, '0'))::uuid as source_id,
           (lpad(to_hex(1700000000000 + target), 12, '0') || '70008000' || lpad(to_hex(target), 12, '0'))::uuid as target_id,
           (%(types)s::text[])[1 + c %% %(kinds)s] as type,
           0.5 + (c %% 501) / 1000.0 as confidence, (c %% 1000) / 1000.0 as strength,
           %(at)s::timestamptz - (c %% 100) * interval '24 hours' as observed_at
    from turned
), written as (
    insert into loci_data.edges (namespace_id, id, source_id, type, target_id, confidence, initial_confidence, strength,
                            first_observed_at, last_observed_at, restored_at, fades_at, valid_from, recorded_at, updated_at)
    select %(namespace)s, id, source_id, type, target_id, confidence, confidence, strength, observed_at, observed_at, observed_at,
           loci.fades_at(confidence, 0.01, observed_at, 0.1), observed_at, %(at)s, %(at)s
    from typed
    on conflict do nothing
    returning namespace_id, id, first_observed_at, confidence, recorded_at
)
insert into loci_data.edge_observations (namespace_id, id, edge_id, session_id, observed_at, confidence, reinforcement, recorded_at)
select namespace_id, id, id, 'session', first_observed_at, confidence, 'full', recorded_at from written
"""

TOGETHER = """
with pair as (
    select distinct on (a.entity_id, b.entity_id) a.entity_id as source_id, b.entity_id as target_id, a.memory_id, m.valid_from as at
    from loci_data.memory_mentions a
    join loci_data.memory_mentions b on b.namespace_id = a.namespace_id and b.memory_id = a.memory_id and b.entity_id > a.entity_id
    join loci_data.memories m on m.namespace_id = a.namespace_id and m.id = a.memory_id
    where a.namespace_id = %(namespace)s
    order by a.entity_id, b.entity_id, a.memory_id
    limit %(edges)s
), written as (
    insert into loci_data.edges (namespace_id, id, source_id, type, target_id, confidence, initial_confidence, strength,
                            first_observed_at, last_observed_at, restored_at, fades_at, valid_from, recorded_at, updated_at)
    select %(namespace)s, loci_api.uuid7(), source_id, 'related_to', target_id, 0.8, 0.8, 0.5, at, at, at, loci.fades_at(0.8, 0.01, at, 0.1), at, at, at
    from pair
    returning id, source_id, target_id
)
insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, observed_at, confidence, reinforcement, recorded_at)
select %(namespace)s, loci_api.uuid7(), w.id, p.memory_id, p.at, 0.8, 'full', p.at from written w join pair p using (source_id, target_id)
"""


def relate(connection: Connection[TupleRow], namespace_id: int, edges: int) -> int:
    """Relate entities that a memory mentions together, with that memory as evidence: up to `edges` of them; returns how many."""
    made = connection.execute(TOGETHER, {"namespace": namespace_id, "edges": edges}).rowcount
    for table in (b"entities", b"edges", b"edge_observations"):
        connection.execute(b"analyze loci_data." + table)
    return made


def load(
    connection: Connection[TupleRow],
    namespace: str,
    entities: int = 100_000,
    edges: int = 500_000,
    hubs: int = 10,
    *,
    at: datetime | None = None,
    types: Sequence[str] = TYPES,
) -> int:
    """Fill a new namespace and return its number; the connection is a superuser's.

    The first `hubs` entities have 10,000 edges each (or as many as `edges` allows); the rest is uniform. Repeated triples
    are dropped, so there may be a few fewer edges than asked for. Edges were last observed in the 100 days before `at`.
    """
    with connection.transaction():
        row = connection.execute("insert into loci_data.namespaces (name) values (%s) returning id", [namespace]).fetchone()
        assert row is not None
        values = {
            "namespace": row[0],
            "entities": entities,
            "edges": edges,
            "hubs": hubs,
            "degree": HUB_DEGREE,
            "syllables": SYLLABLES,
            "types": list(types),
            "kinds": len(types),
            "at": at or datetime.now(UTC),
        }
        connection.execute(ENTITIES, values)
        connection.execute("set local session_replication_role = replica")  # no foreign key checks: the data is ours
        connection.execute(EDGES, values)
    for table in (b"entities", b"entity_names", b"edges", b"edge_observations"):
        connection.execute(b"vacuum analyze loci_data." + table if connection.autocommit else b"analyze loci_data." + table)
    return int(row[0])
