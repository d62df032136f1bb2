"""Walk and constellation in SQL: 60,000 entities, 198,000 edges, 20,000 entities with aspects; and the deadline.

    python -m bench.walk [--quick]

Each walk starts from one entity with aspects, named in a query. The floor is a bare statement: constraints, top aspects, top attributes of
that entity and of the ends of its strongest edges, without time, decay, deadline, rights, or finding the entity. That of the constellation is
reading and serialising the same rows. The deadline is met over an entity with 1,000,000 constraints, 100,000 aspects and 200,000
edges, nearly all of them faded, and 5,000 pinned entities.
"""

import random
import time
from typing import Any

from bench import structure
from bench.database import Database, database
from bench.measure import Figure, Options, interleaved, options, report, within

NAME, HUGE = "walk", "walk-huge"
WALK = "select * from loci.walk(%s, p_query => %s)"
FLOOR = """
with near as (
    select target_id as id from (select target_id, strength from loci_data.edges where namespace_id = %(ns)s and source_id = %(id)s
                                 and strength >= 0.3 and target_id is not null order by strength desc limit 30) e
    union select %(id)s
)
select n.id, (select array_agg(to_jsonb(c)) from loci_data.attributes c
              where c.namespace_id = %(ns)s and c.entity_id = n.id and c.kind = 'constraint'),
       (select array_agg(t.memory_id) from
           (select id from loci_data.aspects where namespace_id = %(ns)s and entity_id = n.id order by weight desc limit 10) a,
           lateral (select memory_id from loci_data.attributes where namespace_id = %(ns)s and aspect_id = a.id and kind = 'attribute'
                    order by importance desc limit 20) t)
from near n
"""
BARE = """
with top as materialized (select * from loci_data.entities where namespace_id = %(ns)s order by mentions desc limit 500),
edge as (select e.* from loci_data.edges e where e.namespace_id = %(ns)s and e.source_id = any(array(select id from top))
         and e.target_id in (select id from top))
select (select jsonb_agg(to_jsonb(t)) from top t), (select jsonb_agg(to_jsonb(e)) from edge e),
       (select jsonb_agg(to_jsonb(a)) from top t join loci_data.attributes a on a.namespace_id = %(ns)s and a.entity_id = t.id)
"""


def run(base: Database, given: Options) -> list[Figure]:
    """Make the graphs and walk them."""
    entities, edges, size = given.size(60_000), given.size(198_000), given.size(1_000_000)
    with base.owner() as owner, base.app() as app:
        number = _number(owner, NAME) or structure.load(owner, NAME, entities, edges)
        _number(owner, HUGE) or structure.load_huge(owner, HUGE, size)
        starts = owner.execute(
            """select id, name from loci_data.entities e where namespace_id = %(ns)s
               and exists (select from loci_data.aspects a where a.namespace_id = %(ns)s and a.entity_id = e.id) order by id""",
            {"ns": number},
        ).fetchall()
        walks = interleaved(
            {
                "walk": lambda start: app.execute(WALK, [NAME, start[1]]).fetchall(),
                "floor": lambda start: owner.execute(FLOOR, {"ns": number, "id": start[0]}).fetchall(),
            },
            random.Random(7).sample(starts, 400),
        )
        pictures = interleaved(
            {
                "constellation": lambda _: app.execute("select * from loci.constellation(%s)", [NAME]).fetchall(),
                "floor": lambda _: owner.execute(BARE, {"ns": number}).fetchall(),
            },
            range(40),
        )
        figures = [
            within("walk from an entity of the query", walks["walk"], p50=50, floor=walks["floor"]),
            within("constellation of 500 entities", pictures["constellation"], p50=50, floor=pictures["floor"]),
            *(
                _deadline(app, query, name)
                for name, query in (("one entity with everything", "Thing 1"), ("pinned ones alone", None))
            ),
        ]
        return report(f"Walk in SQL, {entities:,} entities, {edges:,} edges; {size:,} constraints", owner, figures)


def _number(owner: Any, name: str) -> int | None:
    row = owner.execute("select id from loci_data.namespaces where name = %s", [name]).fetchone()
    return row[0] if row else None


def _deadline(app: Any, query: str | None, name: str) -> Figure:
    """The longest of ten walks that cannot end in time, measured by the client, rows and all."""
    spent, row = [], None
    for _ in range(10):
        started = time.perf_counter()
        row = app.execute(
            """select timed_out, json_array_length(constraints), cardinality(aspect_ids), entity_count, constraints, memory_ids
               from loci.walk(%s, p_query => %s)""",
            [HUGE, query],
        ).fetchone()
        spent.append(1000 * (time.perf_counter() - started))
    assert row is not None
    value = f"{max(spent):.0f} ms at most, {'timed out' if row[0] else 'complete'}: {row[1]:,} constraints, {row[2]:,} aspects, {row[3]:,} entities"
    return Figure(f"deadline: {name}", value, target="≤ 550 ms, timed out", met=max(spent) <= 550 and row[0])


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
