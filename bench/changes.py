"""The change feed: pages among 1,000,000 changes, how fast changes get their positions, and how long a reader waits for one.

    python -m bench.changes [--quick]

Pages are read at the beginning, in the middle and near the end; the floor is a bare statement of the same range. The sequencer moves what is
written in bulk; its floor is a bare insert of the same rows into a table with the same indexes. Both are measured again while a
transaction stays open. What a reader would wait that reads up to the horizon of the oldest transaction (docs/design/operations.md) stands beside what it
waits. The last figures are those of a running service: from the call of a write until its event is there, beside the write's own
time, and what a service does that nobody asks for anything.
"""

import json
import random
import statistics
import threading
import time
from contextlib import ExitStack
from typing import Any

import httpx
from psycopg import Connection

from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, milliseconds, options, percentile, report
from bench.server import running
from db.pool import OPERATOR_AGENT

SPACES = 10
OPERATIONS = """
insert into loci_data.operations (namespace_id, id, action, via, agent_id, started_at)
select n.id, uuidv7(), 'write_memory', 'rest', %(operator)s, now() from loci_data.namespaces n, generate_series(1, 1000) where n.name like 'feed-%%'"""
ROWS = """
with spaces as (select array_agg(id order by id) as ids from loci_data.namespaces where name like 'feed-%%'),
     calls as (select array_agg(array[]::uuid[] || o.ids order by o.namespace_id) as ids
               from (select namespace_id, array_agg(id) as ids from loci_data.operations where via = 'rest' group by 1) o)
select s.ids[1 + n %% 10] as namespace_id, c.ids[1 + n %% 10][1 + n %% 1000] as operation_id,
       (array['memory', 'memory', 'memory', 'entity', 'edge', 'edge', 'attribute', 'aspect'])[1 + (n / 10) %% 8] as kind, 'created' as action,
       gen_random_uuid() as subject_id,
       '{"tags": [], "layer": 2, "status": "active", "version": 1, "category": "general", "confidence": 1, "importance": 0.5}'::jsonb as after
from generate_series(1, %(rows)s) n, spaces s, calls c order by n"""
FILL = f"""with put as (
               insert into loci_data.changes (namespace_id, position, place, operation_id, kind, action, subject_id, after, changed_at)
               select r.namespace_id, row_number() over (partition by r.namespace_id order by r.place), r.place, r.operation_id, r.kind, r.action,
                      r.subject_id, r.after, now()
               from (select r.*, nextval('loci_data.change_places') as place from ({ROWS}) r) r
               returning namespace_id, position, place)
           update loci_data.feeds f set last_position = p.position, last_place = p.place
           from (select namespace_id, max(position) as position, max(place) as place from put group by 1) p where f.namespace_id = p.namespace_id"""
NOTE = f"""insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, after)
           select r.namespace_id, r.operation_id, r.kind, r.action, r.subject_id, r.after from ({ROWS}) r"""
TOKEN = "select token || '-' from loci_data.feeds where namespace_id = (select id from loci_data.namespaces where name = 'feed-0')"
LIST = "select * from loci.list_changes(%s::text[], %s, %s::text[], %s)"
BARE = """
select c.*, o.agent_id, o.via from (select * from loci_data.changes where namespace_id = %s and position > %s order by position limit %s) c
left join loci_data.operations o on o.namespace_id = c.namespace_id and o.id = c.operation_id order by c.position"""
HORIZON = "create table bench_horizon (id bigint generated always as identity primary key, xid xid8 not null default pg_current_xact_id(), at double precision)"
SEEN = "select at from bench_horizon where xid < pg_snapshot_xmin(pg_current_snapshot()) and at > %s order by xid, id"


def fill(owner: Connection[Any], rows: int) -> None:
    """Namespaces with changes, and no things: contents are looked for and not found."""
    if owner.execute("select from loci_data.namespaces where name = 'feed-0'").fetchone():
        return
    for number in range(SPACES):
        owner.execute("select loci_api.create_namespace(%s)", [f"feed-{number}"])
    owner.execute(OPERATIONS, {"operator": OPERATOR_AGENT})
    owner.execute(FILL, {"rows": rows})
    owner.execute("vacuum analyze loci_data.changes")
    owner.execute("vacuum analyze loci_data.operations")


def pages(owner: Connection[Any], app: Connection[Any]) -> list[Figure]:
    """Pages of 100, wherever they are."""
    number, low, high = owner.execute(
        """select n.id, min(c.position), max(c.position) from loci_data.changes c join loci_data.namespaces n on n.id = c.namespace_id
           where n.name = 'feed-0' group by n.id"""
    ).fetchone() or (0, 0, 0)
    (token,) = owner.execute(TOKEN).fetchone() or ("",)
    chance = random.Random(7)
    one, figures = ["feed-0"], []
    for name, start, end in (
        ("first pages", low, low + 1000),
        ("deep pages", low, high - 20_000),
        ("last pages", high - 20_000, high - 2000),
    ):
        times = interleaved(
            {
                "feed": lambda after: app.execute(LIST, [one, f"{token}{after}", None, 100]).fetchall(),
                "bare": lambda after: owner.execute(BARE, [number, after, 100]).fetchall(),
            },
            [chance.randint(start, end) for _ in range(200)],
        )
        figures.append(against(f"{name} of one namespace", times["feed"], times["bare"], 6))
    spread = [chance.randint(low, high - 20_000) for _ in range(200)]
    kinds = {
        "one kind": (one, ["aspect"]),
        "a kind that never came": (one, ["grant"]),
        "ten namespaces": ([f"feed-{n}" for n in range(SPACES)], None),
    }
    for name, (spaces, wanted) in kinds.items():
        times = interleaved(
            {"feed": lambda after, s=spaces, w=wanted: app.execute(LIST, [s, f"{token}{after}", w, 100]).fetchall()}, spread
        )
        figures.append(Figure(f"pages anywhere, {name}", milliseconds(times["feed"])))
    return figures


def drain(app: Connection[Any], limit: int = 10_000) -> int:
    """Give everything its position; how much that was."""
    moved = 0
    while batch := (app.execute("select moved from loci_api.sequence_changes(%s)", [limit]).fetchone() or (0,))[0]:
        moved += batch
    return moved


def timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def sequencer(owner: Connection[Any], app: Connection[Any], other: Connection[Any], rows: int) -> list[Figure]:
    """Rows a second, and what an idle look costs: in peace, and while a transaction stays open."""
    owner.execute("create table bench_changes (like loci_data.changes including indexes)")
    owner.execute(NOTE, {"rows": rows})
    copy = """insert into bench_changes (namespace_id, position, place, operation_id, kind, action, subject_id, after, changed_at)
              select namespace_id, id, id, operation_id, kind, action, subject_id, after, changed_at from loci_data.outbox order by id"""
    bare = timed(lambda: owner.execute(copy))
    took = timed(lambda: drain(app))
    owner.execute("vacuum loci_data.outbox")
    figures = [
        Figure("changes that get a position, in bulk", f"{rows / took:,.0f} a second", f"{rows / bare:,.0f} a second", took / bare)
    ]

    def one() -> float:
        owner.execute(NOTE, {"rows": 1})
        return 1000 * timed(lambda: app.execute("select moved from loci_api.sequence_changes()").fetchall())

    def idle() -> float:
        return 1000 * timed(lambda: app.execute("select moved from loci_api.sequence_changes()").fetchall())

    figures.append(
        Figure(
            "one change gets its position; a look where there is none",
            f"{milliseconds([one() for _ in range(100)])}; {milliseconds([idle() for _ in range(100)])}",
        )
    )
    other.execute("begin")
    other.execute("select pg_current_xact_id()")
    owner.execute(NOTE, {"rows": rows})
    open_took = timed(lambda: drain(app))
    figures += [
        Figure("in bulk, while a transaction stays open", f"{rows / open_took:,.0f} a second"),
        Figure(
            f"… after {rows:,} changes in it: one, a look",
            f"{milliseconds([one() for _ in range(30)])}; {milliseconds([idle() for _ in range(30)])}",
        ),
    ]
    other.execute("rollback")
    owner.execute("drop table bench_changes")
    owner.execute("vacuum loci_data.outbox")
    return figures


def horizons(owner: Connection[Any], app: Connection[Any], other: Connection[Any]) -> list[Figure]:
    """How long a committed change is not seen while a transaction stays open for two seconds."""
    owner.execute(HORIZON)
    other.execute("begin")
    other.execute("select pg_current_xact_id()")
    ends, waits, own, last = time.perf_counter() + 2, [], [], 0.0
    ended = False
    while True:
        now = time.perf_counter()
        if now < ends:
            owner.execute("insert into bench_horizon (at) values (%s)", [now])
            owner.execute(NOTE, {"rows": 1})
            drain(app)
            own.append(1000 * (time.perf_counter() - now))
        elif not ended:
            ended = True
            other.execute("commit")
        seen = [row[0] for row in owner.execute(SEEN, [last]).fetchall()]
        waits += [1000 * (time.perf_counter() - at) for at in seen]
        last = max([last, *seen])
        if ended and not seen:
            break
        time.sleep(0.01)
    owner.execute("drop table bench_horizon")
    return [
        Figure(
            "a transaction stays open for 2 s: others' changes are seen after",
            milliseconds(own),
            milliseconds(waits),
            None,
            "(floor: the horizon of transactions)",
        )
    ]


def transactions(owner: Connection[Any], seconds: float) -> float:
    """Transactions a second in the database meanwhile."""
    counted = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
    before = (owner.execute(counted).fetchone() or (0,))[0]
    time.sleep(seconds)
    return float((owner.execute(counted).fetchone() or (0,))[0] - before - 1) / seconds


def latency(base: Database, owner: Connection[Any], count: int) -> list[Figure]:
    """From the call of a write to its event, over HTTP; and what an idle service asks the database."""
    with (
        running(base.folder, environment={"LOCI_EMBEDDING__PROVIDER": "none"}) as (url, _),
        httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client,
    ):
        time.sleep(5)
        idle = transactions(owner, 10)
        arrived: dict[str, float] = {}
        opened = threading.Event()

        def listen() -> None:
            with httpx.stream("GET", f"{url}/api/v1/events", params={"after": "latest", "kind": "memory"}, timeout=60) as response:
                for line in response.iter_lines():
                    opened.set()
                    if line.startswith("data:"):
                        arrived[json.loads(line[5:])["content"]] = time.perf_counter()
                        if len(arrived) == count:
                            return

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        opened.wait(30)
        called, replied = {}, {}
        for number in range(count):
            text = f"fact {number}"
            called[text] = time.perf_counter()
            client.post("/memories", json={"content": text, "layer": 3}).raise_for_status()
            replied[text] = time.perf_counter()
            time.sleep(0.06)
        thread.join(30)
        with ExitStack() as stack:
            for _ in range(50):
                stack.enter_context(httpx.stream("GET", f"{url}/api/v1/events", params={"after": "latest"}, timeout=60))
            time.sleep(3)
            watched = transactions(owner, 10)
        whole = [1000 * (arrived[text] - called[text]) for text in called]
        writes = [1000 * (replied[text] - called[text]) for text in called]
        after = [max(1000 * (arrived[text] - replied[text]), 0) for text in called]
    return [
        Figure(
            "from the call of a write to its event",
            milliseconds(whole),
            milliseconds(writes),
            statistics.median(whole) / statistics.median(writes),
        ),
        Figure("… after the write's reply", f"p50 {statistics.median(after):.1f} ms, p95 {percentile(after, 0.95):.1f} ms"),
        Figure("transactions of an idle service, without and with 50 open streams", f"{idle:.1f} and {watched:.1f} a second"),
    ]


def run(base: Database, given: Options) -> list[Figure]:
    """Measure all of it."""
    with base.owner() as owner, base.app() as app, base.owner() as other:
        fill(owner, given.size(1_000_000))
        figures = pages(owner, app)
        figures += sequencer(owner, app, other, given.size(100_000))
        figures += horizons(owner, app, other)
        figures += latency(base, owner, given.size(500))
        return report("changes", owner, figures)


if __name__ == "__main__":
    asked = options(__doc__)
    with database(asked) as opened:
        run(opened, asked)
