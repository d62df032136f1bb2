"""Traversal in SQL: 100,000 entities, 500,000 edges, hubs of 10,000.

    python -m bench.traverse [--quick]

Two hops from ordinary entities, three from the worst hub; default limit of 100 edges and the largest, 10,000. The floor of two hops is a
bare statement of two half-queries a hop, without time, decay, bounds or rights. It enumerates paths, so it is not run from the hub.
"""

import random
from typing import Any

from bench import graph_data
from bench.database import Database, database
from bench.measure import Figure, Options, interleaved, milliseconds, options, report, within

NAME = "graph"
ARM = "select id from loci.traverse(%s, %s::text[], p_max_hops => %s, p_limit => %s)"
FLOOR = """
with first as (
    select id, target_id as far from loci_data.edges where namespace_id = %(ns)s and source_id = %(start)s
    union all
    select id, source_id from loci_data.edges where namespace_id = %(ns)s and target_id = %(start)s
), second as (
    select e.id from first f join loci_data.edges e on e.namespace_id = %(ns)s and e.source_id = f.far
    union all
    select e.id from first f join loci_data.edges e on e.namespace_id = %(ns)s and e.target_id = f.far
)
select id from first union select id from second limit 100
"""


def run(base: Database, given: Options) -> list[Figure]:
    """Make the graph and walk it."""
    entities, edges = given.size(100_000), given.size(500_000)
    with base.owner() as owner, base.app() as app:
        row = owner.execute("select id from loci_data.namespaces where name = %s", [NAME]).fetchone()
        number = row[0] if row else graph_data.load(owner, NAME, entities, edges, hubs=1 if given.quick else 10)
        ids = [
            row[0]
            for row in owner.execute("select id from loci_data.entities where namespace_id = %s order by id", [number]).fetchall()
        ]
        owner.execute("set plan_cache_mode = force_generic_plan")
        starts = random.Random(11).sample(ids[100:], 400)
        times = interleaved(
            {
                "two": lambda start: app.execute(ARM, [NAME, [str(start)], 2, 100]).fetchall(),
                "floor": lambda start: owner.execute(FLOOR, {"ns": number, "start": start}).fetchall(),
            },
            starts,
        )
        hub: dict[int, dict[str, list[float]]] = {
            limit: interleaved(
                {"hub": lambda start, limit=limit: app.execute(ARM, [NAME, [str(start)], 3, limit]).fetchall()},
                [worst(owner, number)] * 100,
            )
            for limit in (100, 1000, 10_000)
        }
        figures = [within("2 hops, limit 100", times["two"], p50=1.5, floor=times["floor"])]
        figures += [
            within(f"3 hops from the worst hub, limit {limit:,}", spent["hub"], p50=25)
            if limit <= 1000
            else Figure(f"… limit {limit:,}, the largest", milliseconds(spent["hub"]))
            for limit, spent in hub.items()
        ]
        return report(f"Traversal in SQL, {entities:,} entities, {edges:,} edges", owner, figures)


def worst(owner: Any, number: int) -> Any:
    """The entity with the most edges."""
    row = owner.execute(
        """select id from (select source_id as id from loci_data.edges where namespace_id = %(ns)s
                           union all select target_id from loci_data.edges where namespace_id = %(ns)s) e
           group by id order by count(*) desc, id limit 1""",
        {"ns": number},
    ).fetchone()
    return row[0]


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
