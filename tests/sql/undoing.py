"""Operations in tests: what one call does, undone, and what the public functions show before and after."""

from collections.abc import Callable
from datetime import datetime
from typing import LiteralString, TypeVar
from uuid import UUID

from psycopg.types.json import Jsonb

from tests.factories import Row, World, stated

T = TypeVar("T")
SHOWN: dict[str, LiteralString] = {
    "memories": """select to_jsonb(m) - '{cursor,updated_at,version,recorded_at,observations,last_observed_at}'::text[] as memory
        from loci.list_memories(%(ns)s, '{}', 1000, null, %(as_of)s, %(known_at)s) m order by m.id""",
    "versions": """select v.* from (select distinct lineage from loci.list_memories(%(ns)s, '{}', 1000, null, %(as_of)s, %(known_at)s)) l
        cross join lateral (select h.id, h.version, h.valid_from, h.valid_to, h.status from loci.history(%(ns)s, l.lineage) h
                            where %(known_at)s::timestamptz is null and h.status = 'active') v order by v.id""",
    "entities": """select e.id, e.name, e.type, e.aliases, e.description, e.metadata, e.pinned
        from loci.list_entities(%(ns)s, null, null, null, 1000, null, %(as_of)s, %(known_at)s) e order by e.name""",
    "edges": """select e.source, e.type, e.target, e.literal, round(e.confidence::numeric, 3) as confidence, e.strength, e.observations,
        e.first_observed_at, e.last_observed_at, e.valid_from, e.valid_to, e.metadata, e.aspect
        from loci.list_edges(%(ns)s, null, null, true, %(as_of)s, 1000, null, %(known_at)s) e order by 1, 2, 3, 4""",
    "links": """select l.source_id, l.target_id, l.type, l.strength from loci_data.memory_links l where l.namespace_id = %(ns_id)s
        and l.recorded_at <= coalesce(%(known_at)s::timestamptz, 'infinity') and (l.superseded_at is null or l.superseded_at > coalesce(%(known_at)s::timestamptz, 'infinity'))
        order by 1, 2, 3""",
    "attributes": """select a.id, a.content, a.status, a.superseded_by, a.valid_from, a.valid_to, a.confidence, a.importance
        from loci_data.attributes a where a.namespace_id = %(ns_id)s and a.status <> 'deleted' and %(known_at)s::timestamptz is null
          and exists (select from loci_data.entities e where e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null)
        order by a.id""",
    "rules": """select t.type, t.decay_rate, t.single_valued, t.description from loci_data.edge_types t where t.namespace_id = %(ns_id)s
          and %(known_at)s::timestamptz is null
          and (t.decay_rate is not null or t.single_valued or t.description is not null) order by 1""",
}


def state(world: World, as_of: datetime | None = None, known_at: datetime | None = None) -> dict[str, list[Row]]:
    """What stands in the namespace, as its readers see it."""
    return {name: world.rows(statement, as_of=as_of, known_at=known_at) for name, statement in SHOWN.items()}


def operation(world: World, work: Callable[[], T]) -> tuple[T, UUID]:
    """What some work returns, done as an operation of its own, and the id of that."""
    made = world.value("select set_config('loci.operation', loci_api.uuid7()::text, true)::uuid")
    done = work()
    world.connection.execute("select set_config('loci.operation', '', true)")
    return done, made


def undo(world: World, id: UUID, skip_changed: bool = False) -> Row:
    """Undo an operation, as one of its own; what the call returns."""
    world.connection.execute("select set_config('loci.operation', '', true)")
    return world.row("select * from loci_api.undo_operation(%(ns)s, %(id)s, %(skip)s)", id=id, skip=skip_changed)


def observe(world: World, *edges: Row) -> list[Row]:
    """Write edges by name."""
    return world.rows("select * from loci_api.observe_edges(%(ns)s, %(e)s)", e=Jsonb([stated(edge) for edge in edges]))
