"""Time and hierarchy: what do the past, long lineages and large trees cost?

    python -m bench.history [--data FOLDER] [--quick]

One namespace of 50,000 lineages with two versions each: recall (REST, lexical + vector) of now, of a year ago (as_of), and as known before the second
versions were written (known_at): the same number of memories is visible each time. A lineage of 10,000 versions. A tree of 10,000
memories under one, and a chain: the floor of subtree is the same page by recursion over the parents, in bare SQL.
"""

import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from bench import corpus, fill
from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, milliseconds, options, report, within
from bench.recall_latency import Client
from bench.server import running

PAST, TREE = "history", "tree"
CHANGED = datetime(2025, 1, 1, tzinfo=UTC)
REMEMBER = "select count(*) from loci_api.remember(%s, %s)"
RECURSION = """
with recursive under as (
    select node_id, 1 as depth from loci_data.memory_placements where namespace_id = %(ns)s and parent_id = %(top)s
    union all
    select p.node_id, u.depth + 1 from under u join loci_data.memory_placements p on p.namespace_id = %(ns)s and p.parent_id = u.node_id
)
select u.depth, m.* from under u join loci_data.memories m on m.namespace_id = %(ns)s and m.lineage_id = u.node_id
order by u.depth, u.node_id limit 100
"""


def write(app: Connection[Any], namespace: str, items: Sequence[dict[str, Any]]) -> None:
    """Write items as an import does."""
    for start in range(0, len(items), fill.STATEMENT):
        app.execute(REMEMBER, [namespace, Jsonb(items[start : start + fill.STATEMENT])])


def quiet(owner: Connection[Any]) -> None:
    """Leave no work for a worker."""
    owner.execute("delete from loci_data.embedding_queue")
    owner.execute("delete from loci_data.name_queue")


def load_past(base: Database, given: Options) -> tuple[int, datetime]:
    """Fill the namespace of two versions; its number, and a moment between the two writes."""
    lineages = given.size(50_000)
    with base.owner() as owner, base.app() as app:
        number = fill.namespace(owner, PAST)
        if not fill.holds(owner, number, 2 * lineages):
            texts = corpus.recombined(corpus.turns(given.data), 2 * lineages, seed=21)
            first = [
                {"content": text, "lineage": f"l{n}", "valid_from": (CHANGED - timedelta(days=700, minutes=n)).isoformat()}
                for n, text in enumerate(texts[:lineages])
            ]
            second = [
                {"content": text, "lineage": f"l{n}", "valid_from": (CHANGED + timedelta(minutes=n % 1000)).isoformat()}
                for n, text in enumerate(texts[lineages:])
            ]
            write(app, PAST, first)
            time.sleep(0.05)
            write(app, PAST, second)
            quiet(owner)
            rows = owner.execute("select id, content from loci_data.memories where namespace_id = %s", [number]).fetchall()
            fill.vectors(owner, [number] * len(rows), [r[0] for r in rows], corpus.embedded([r[1] for r in rows]))
            fill.settle(owner)
            owner.execute("vacuum analyze loci_data.memory_beliefs")
        (known,) = owner.execute(
            "select min(recorded_at) - interval '1 millisecond' from loci_data.memories where namespace_id = %s and version = 2",
            [number],
        ).fetchone() or (CHANGED,)
    return number, known


def recalls(base: Database, given: Options) -> list[Figure]:
    """Recall of now, as of then, as known then."""
    _, known = load_past(base, given)
    texts = corpus.questions(given.data, "locomo")[:400]
    with running(base.folder, worker=False) as (url, _):
        client = Client(url, PAST)
        body = {"arms": ["lexical", "vector"]}
        times = interleaved(
            {
                "now": lambda text: client.post("/recall", {**body, "query": text}),
                "then": lambda text: client.post("/recall", {**body, "query": text, "as_of": "2024-06-01T00:00:00Z"}),
                "known": lambda text: client.post("/recall", {**body, "query": text, "known_at": known.isoformat()}),
            },
            texts,
        )
    return [
        Figure("recall of now", milliseconds(times["now"])),
        against("recall as of a year ago, against now", times["then"], times["now"], 1.2),
        against("recall as known before half of it was written, against now", times["known"], times["now"], 1.2),
    ]


def long_lineage(base: Database, given: Options) -> list[Figure]:
    """First and last pages of a lineage of 10,000 versions, and what one more version costs."""
    versions = given.size(10_000)
    with base.owner() as owner, base.app() as app:
        fill.namespace(owner, "long")
        write(app, "long", [{"content": f"state {n}", "lineage": "long"} for n in range(versions)])
        quiet(owner)
        owner.execute("vacuum analyze loci_data.memories")
        times = interleaved(
            {
                "first": lambda _: app.execute("select * from loci.history('long', 'long', 100)").fetchall(),
                "last": lambda _: app.execute("select * from loci.history('long', 'long', 100, %s)", [versions - 100]).fetchall(),
                "more": lambda n: app.execute(REMEMBER, ["long", Jsonb([{"content": f"more {n}", "lineage": "long"}])]),
                "short": lambda n: app.execute(REMEMBER, ["long", Jsonb([{"content": f"short {n}", "lineage": f"s{n % 5}"}])]),
            },
            list(range(200)),
        )
        quiet(owner)
    return [
        within(f"history of {versions:,} versions, first page of 100", times["first"], p50=5),
        within("… last page", times["last"], p50=5),
        Figure("one more version of it, against one of a lineage of 40", milliseconds(times["more"]), milliseconds(times["short"]),
               statistics.median(times["more"]) / statistics.median(times["short"])),
    ]  # fmt: skip


def tree(base: Database, given: Options) -> list[Figure]:
    """Pages of a large subtree, leaves at growing depth and among growing numbers of siblings, and moves."""
    size = given.size(10_000)
    with base.owner() as owner, base.app() as app:
        number = fill.namespace(owner, TREE)

        def node(content: str, parent: Any = None) -> Any:
            item = {"content": content, **({"parent_id": str(parent)} if parent else {})}
            return (app.execute("select id from loci_api.remember(%s, %s)", [TREE, Jsonb([item])]).fetchone() or (None,))[0]

        roots = [node(f"root {n} {time.time_ns()}") for n in range(2)]
        top = node(f"top {time.time_ns()}", roots[0])
        branches = [node(f"branch {n} {time.time_ns()}", top) for n in range(100)]
        leaves = [{"content": f"leaf {n} {time.time_ns()}", "parent_id": str(branches[n % 100])} for n in range(size - 100)]
        write(app, TREE, leaves)
        chain = [node(f"link 0 {time.time_ns()}")]
        for n in range(1, 41):
            chain.append(node(f"link {n} {time.time_ns()}", chain[-1]))
        quiet(owner)
        owner.execute("vacuum analyze loci_data.memories")
        owner.execute("vacuum analyze loci_data.memory_closure")
        owner.execute("vacuum analyze loci_data.memory_placements")
        owner.execute("set plan_cache_mode = force_generic_plan")
        middle = app.execute(
            "select cursor from loci.subtree(%s, %s, %s) order by depth desc limit 1", [TREE, top, size // 2]
        ).fetchone()
        page = "select * from loci.subtree(%s, %s, 100, p_cursor => %s)"
        times = interleaved(
            {
                "first": lambda _: app.execute(page, [TREE, top, None]).fetchall(),
                "middle": lambda _: app.execute(page, [TREE, top, middle[0] if middle else None]).fetchall(),
                "recursion": lambda _: owner.execute(RECURSION, {"ns": number, "top": top}).fetchall(),
                "at 1": lambda n: node(f"at 1: {n} {time.time_ns()}", chain[0]),
                "at 40": lambda n: node(f"at 40: {n} {time.time_ns()}", chain[40]),
                "lonely": lambda n: node(f"lonely: {n} {time.time_ns()}", roots[1]),
                "crowded": lambda n: node(f"crowded: {n} {time.time_ns()}", top),
            },
            list(range(100)),
        )
        moves = []
        for n in range(3):
            started = time.perf_counter()
            app.execute("select from loci_api.update_memory(%s, %s, %s)", [TREE, top, Jsonb({"parent_id": str(roots[1 - n % 2])})])
            moves.append(1000 * (time.perf_counter() - started))
        after = interleaved({"moved": lambda _: app.execute(page, [TREE, top, None]).fetchall()}, list(range(100)))
        broken = app.execute("select sum(broken) from loci.verify(%s)", [TREE]).fetchone()
        quiet(owner)
    ratio = statistics.median(times["crowded"]) / statistics.median(times["lonely"])
    return [
        within(f"subtree of {size:,}, first page of 100", times["first"], p50=3, floor=times["recursion"]),
        within("… a page in the middle", times["middle"], p50=3),
        within("… first page after three moves", after["moved"], p50=3),
        Figure("a leaf at depth 40, against depth 1", milliseconds(times["at 40"]), milliseconds(times["at 1"]),
               statistics.median(times["at 40"]) / statistics.median(times["at 1"])),
        Figure(f"a leaf in a tree of {size:,}, against a tree of 100", milliseconds(times["crowded"]), milliseconds(times["lonely"]), ratio, "≤ 1.2 ×", ratio <= 1.2),
        Figure(f"moving {size:,} nodes (promises broken: {broken[0] if broken else '?'})", f"p50 {statistics.median(moves):,.0f} ms"),
    ]  # fmt: skip


def run(base: Database, given: Options) -> list[Figure]:
    """All of it."""
    fill.model(base)
    figures = [*recalls(base, given), *long_lineage(base, given), *tree(base, given)]
    with base.owner() as owner:
        return report("Time and hierarchy", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
