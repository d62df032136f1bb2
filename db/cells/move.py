"""A namespace moves to another cell while agents write: steps that are noted where it comes from, each of which may be repeated.

planned → linked → copied → fenced → opened → unlinked → emptied. Killed anywhere, the same call goes on: up to the fence the
source has the namespace, from the fence on nobody until the target has opened it, and never two. docs/design/cells.md says more.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import LiteralString, TypedDict, TypeVar

from psycopg import errors as pg
from psycopg import sql
from psycopg.types.json import Jsonb

from db.cells.cells import link_name, number_of, revision_of, url_of
from db.cells.database import (
    CellError,
    Session,
    connect,
    drop_link,
    drop_slot,
    end_of_log,
    has_arrived,
    rows,
    run,
    value,
    wait_until,
)

T = TypeVar("T")
COPIED = 3600.0  # seconds that a copy may take before the command gives up; repeating it goes on
ARRIVED = 30.0  # seconds that writers are held at most while the rest arrives
TRIES = 20  # of the cut, while transactions are open that write to it
LOCKS: LiteralString = "set local lock_timeout = '2s'; set local idle_in_transaction_session_timeout = '60s'"
MODELS: LiteralString = "select id, name, dimensions from loci_data.embedding_models order by id"
PUBLISH: LiteralString = "create publication {link} for table {tables} with (publish_via_partition_root = true)"
SUBSCRIBE: LiteralString = """
create subscription {link} connection {url} publication {link} with (run_as_owner = true, copy_data = true, slot_name = {link})"""
VECTORS: LiteralString = "select 1 from pg_publication_tables where pubname = %s and tablename = 'memory_vectors'"
# One that is only planned may be planned anew; one that has ended here is found again by whoever repeats the command.
UNDER_WAY: LiteralString = """
select m.namespace_id, m.cell_id from loci_data.namespace_moves m
where m.name = %s and m.step <> 'planned'
  and (m.step <> 'emptied'
       or m.cell_id = %s and not exists (select from loci_data.namespaces n where n.id = m.namespace_id)
          and exists (select from loci_data.namespace_cells c where (c.namespace_id, c.cell_id) = (m.namespace_id, m.cell_id)))"""
SUMMARY: LiteralString = "select loci_internal.summarize_moved_rows(%s, %s, %s::pg_snapshot)"
SNAPSHOT: LiteralString = "select pg_current_snapshot()::text"
ONE_MOMENT: LiteralString = "set transaction isolation level repeatable read"
LOOSE: LiteralString = """
select count(*) from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
where s.subname = %s and r.srsubstate <> 'r'"""


class Plan(TypedDict):
    """Preview of a move."""

    namespace: str
    cell: int
    rows: int
    bytes: int
    oldest_transaction_seconds: float
    held_seconds: float


class Moved(TypedDict):
    """How a move has ended."""

    namespace: str
    cell: int
    held_seconds: float | None


@dataclass(frozen=True)
class Ends:
    """The two cells of a move, and the namespace."""

    source: Session
    target: Session
    source_url: str
    source_number: int
    number: int
    namespace_id: int
    name: str

    @property
    def link(self) -> str:
        """How publication, subscription and slot are called."""
        return f"loci_move_{self.namespace_id}_to_{self.number}"


Watcher = Callable[[str], None]


def move_namespace(source_url: str, name: str, number: int, *, watch: Watcher = lambda _: None) -> Moved:
    """Move a namespace, or go on with a move that was broken off; `watch` is told each step when it is done.

    Raises CellError: up to the fence the source goes on with the namespace.
    """
    with connect(source_url, "this cell") as source:
        here, namespace_id = number_of(source), _begin(source, name, number)
        with connect(url_of(source, number), f"cell {number}") as target:
            ends = Ends(source, target, url_of(source, here), here, number, namespace_id, name)
            _require_pair(ends)
            watch(_step_of(ends))
            for step, work in STEPS.items():
                if _step_of(ends) in _before(step):
                    work(ends)
                    watch(f"{step} unnoted")
                    _note(ends, step)
                    watch(step)
        held = value(source, "select held_seconds from loci_data.namespace_moves where namespace_id = %s", namespace_id)
    return {"namespace": name, "cell": number, "held_seconds": held}


def plan_move(source_url: str, name: str, number: int) -> Plan:
    """Preview of a move, with how long writers would wait: as long as counting takes now and open transactions last."""
    with connect(source_url, "this cell") as source, connect(url_of(source, number), f"cell {number}") as target:
        namespace_id = _require_here(source, name, number)
        _require_pair(Ends(source, target, "", number_of(source), number, namespace_id, name))
        began = time.monotonic()
        counts = value(source, "select loci_internal.count_moved_rows(%s)", namespace_id)
        counted = time.monotonic() - began
        size = value(source, "select loci_internal.measure_moved_rows(%s)::bigint", namespace_id)
        oldest = value(
            source,
            "select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 from pg_stat_activity "
            "where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()",
        )
    return {
        "namespace": name, "cell": number, "rows": sum(counts.values()), "bytes": size,
        "oldest_transaction_seconds": oldest, "held_seconds": 2 * counted + oldest,
    }  # fmt: skip


def _require_here(source: Session, name: str, number: int) -> int:
    """The number of a namespace that is here. Raises CellError."""
    found = value(source, "select id from loci_data.namespaces where name = %s", name)
    if found is None:
        elsewhere = value(source, "select cell_id from loci_data.namespace_cells where name = %s", name)
        where = "there is none in any cell" if elsewhere is None else f"it is in cell {elsewhere}: run the command there"
        raise CellError(f"namespace {name} is not in this cell", where)
    if number == number_of(source):
        raise CellError(f"namespace {name} is in cell {number}")
    return int(found)


def _begin(source: Session, name: str, number: int) -> int:
    """Note a move, or find the one that is under way; the namespace's number. Raises CellError where another works at it."""
    open_one = rows(source, UNDER_WAY, name, number)
    if open_one and open_one[0]["cell_id"] != number:
        raise CellError(f"namespace {name} is on its way to cell {open_one[0]['cell_id']}", "Finish that move first.")
    namespace_id = open_one[0]["namespace_id"] if open_one else _require_here(source, name, number)
    if not value(source, "select pg_try_advisory_lock(hashtext('loci namespace move'), %s)", namespace_id):
        raise CellError(f"another command moves namespace {name}", "Wait for it.")
    if not open_one:
        source.execute(
            "insert into loci_data.namespace_moves (namespace_id, name, cell_id) values (%s, %s, %s) "
            "on conflict (namespace_id) do update set name = excluded.name, cell_id = excluded.cell_id, step = 'planned', "
            "carried = null, held_seconds = null, started_at = clock_timestamp(), stepped_at = clock_timestamp()",
            [namespace_id, name, number],
        )
    return int(namespace_id)


def _require_pair(ends: Ends) -> None:
    """Raise CellError where a namespace cannot go from the one cell to the other."""
    if number_of(ends.target) != ends.number:
        raise CellError(
            f"the database of cell {ends.number} says that it is cell {number_of(ends.target)}", "See `loci cell list`."
        )
    if revision_of(ends.source) != revision_of(ends.target):
        raise CellError("the cells are at different revisions of the schema", "Run `loci migrate` in the older one.")


def _has_models(ends: Ends) -> bool:
    """Whether the target has all embedding models of the source under the same numbers. Else it embeds all anew."""
    there = rows(ends.target, MODELS)
    return all(each in there for each in rows(ends.source, MODELS))


def _moves_vectors(ends: Ends) -> bool:
    """Whether vectors are among what moves, as was decided when it was published."""
    return bool(value(ends.source, VECTORS, ends.link))


def _step_of(ends: Ends) -> str:
    return str(value(ends.source, "select step from loci_data.namespace_moves where namespace_id = %s", ends.namespace_id))


def _note(ends: Ends, step: str) -> None:
    ends.source.execute(
        "update loci_data.namespace_moves set step = %s, stepped_at = clock_timestamp() where namespace_id = %s",
        [step, ends.namespace_id],
    )


def _before(step: str) -> list[str]:
    """The steps that stand before one."""
    order = ["planned", *STEPS]
    return order[: order.index(step)]


def link_cells(ends: Ends) -> None:
    """Publish the namespace's rows and subscribe to them. Where the subscription is not there, nothing of it counts: begin anew."""
    if value(ends.target, "select 1 from pg_subscription where subname = %s", ends.link) is not None:
        return
    drop_slot(ends.source, ends.link)
    _empty(ends.target, ends.namespace_id)
    run(ends.source, "drop publication if exists {link}", link=sql.Identifier(ends.link))
    moved = rows(ends.source, "select t::text as name from loci_internal.moved_tables(%s) t", _has_models(ends))
    tables = [row["name"] for row in moved]
    parts = [
        sql.SQL("{} where (namespace_id = {})").format(sql.Identifier(*each.split(".")), sql.Literal(ends.namespace_id))
        for each in tables
    ]
    run(ends.source, PUBLISH, link=sql.Identifier(ends.link), tables=sql.SQL(", ").join(parts))
    run(ends.target, SUBSCRIBE, link=sql.Identifier(ends.link), url=sql.Literal(ends.source_url))


def wait_for_copy(ends: Ends) -> None:
    """Wait until all tables are copied, and what was written meanwhile has come."""
    wait_until(lambda: value(ends.target, LOOSE, ends.link) == 0, lambda: _stuck(ends), COPIED)
    _wait_for_rest(ends, ends.link)


def fence(ends: Ends) -> None:
    """Let nobody work in the namespace here any more, when the other cell has its rows.

    All of them are compared as they are at one moment, for which writers are held; and when they are held again, for the cut,
    only what has changed since.
    """
    try:
        same = _do_when_free(ends, _compare_all)
        _do_when_free(ends, lambda ends: _cut(ends, same))
    except _Different:
        unlink(ends)
        _note(ends, "planned")
        raise


class _Different(CellError):
    """The rows that arrived are not those that were sent."""


Moment = tuple[str | None, str | None]  # as snapshots of the source and of the target; None: the beginning


def _do_when_free(ends: Ends, work: Callable[[Ends], T]) -> T:
    """Do what holds the writers. While somebody writes for long the others go on, and it is tried again."""
    for _ in range(TRIES):
        with suppress(pg.LockNotAvailable):
            return work(ends)
        time.sleep(1.0)
    raise CellError(f"a transaction writes to {ends.name} all the time", "Repeat the command when it has ended.")


@contextmanager
def _hold_writers(ends: Ends) -> Iterator[float]:
    """A transaction of the source in which nobody writes, and the target has all rows; when that began."""
    _wait_for_rest(ends, ends.link)
    with connect(ends.source_url, "this cell") as second, ends.source.transaction():
        ends.source.execute(LOCKS)
        ends.source.execute("select loci_internal.hold_namespace(%s)", [ends.namespace_id])
        ends.source.execute("select from loci_data.namespaces where id = %s for update", [ends.namespace_id])
        began = time.monotonic()
        _wait_for_rest(ends, ends.link, second, ARRIVED)
        yield began


def _compare_all(ends: Ends) -> Moment:
    """Compare all rows as both cells have them at one moment; which it was."""
    with connect(ends.source_url, "this cell") as source, source.transaction(), ends.target.transaction():
        source.execute(ONE_MOMENT)
        ends.target.execute(ONE_MOMENT)
        with _hold_writers(ends):
            moment = str(value(source, SNAPSHOT)), str(value(ends.target, SNAPSHOT))
        _compare(ends, source, (None, None))
    return moment


def _cut(ends: Ends, same: Moment) -> None:
    with _hold_writers(ends) as began:
        _compare(ends, ends.source, same)
        held = time.monotonic() - began
        ends.source.execute("set local session_replication_role = replica")
        statement: LiteralString = "select loci_internal.fence_namespace(%s, make_interval(secs => %s), %s)"
        ends.source.execute(statement, [ends.namespace_id, held, _moves_vectors(ends)])


def _compare(ends: Ends, source: Session, since: Moment) -> None:
    """Compare what stands in rows that are newer, and how many there are, at the same time. Raises CellError, with the tables."""
    vectors = _moves_vectors(ends)
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(value, ends.target, SUMMARY, ends.namespace_id, vectors, since[1])
        sent = value(source, SUMMARY, ends.namespace_id, vectors, since[0])
        come = asked.result()
    if sent != come:
        differ = ", ".join(sorted(each for each in {*sent, *come} if sent.get(each) != come.get(each)))
        raise _Different(f"the cells have not the same rows of {ends.name}: {differ}", "Repeat the command: it copies anew.")


def open_at_target(ends: Ends) -> None:
    """Open the namespace in its new cell, when that has heard of all grants and keys that were given before the fence.

    It has the rest of the rows by then, except where its server was killed since, and takes the last of them again.
    """
    _wait_for_rest(ends, ends.link)
    _wait_for_rest(ends, link_name(ends.source_number, ends.number))
    carried = value(ends.source, "select carried from loci_data.namespace_moves where namespace_id = %s", ends.namespace_id)
    with ends.target.transaction():
        ends.target.execute("set local session_replication_role = replica")
        ends.target.execute("select loci_internal.open_namespace(%s)", [Jsonb(carried)])


def unlink(ends: Ends) -> None:
    """Drop the subscription, so that nothing that is deleted at the source from here on is deleted at the target."""
    drop_link(ends.target, ends.link)
    drop_slot(ends.source, ends.link)
    run(ends.source, "drop publication if exists {link}", link=sql.Identifier(ends.link))


def empty_source(ends: Ends) -> None:
    """Delete the rows that were left behind."""
    _empty(ends.source, ends.namespace_id)


STEPS: dict[str, Callable[[Ends], None]] = {
    "linked": link_cells,
    "copied": wait_for_copy,
    "fenced": fence,
    "opened": open_at_target,
    "unlinked": unlink,
    "emptied": empty_source,
}


def _empty(session: Session, namespace_id: int) -> None:
    """Delete the rows of a namespace that is not here. Raises CellError where it is."""
    try:
        with session.transaction():
            session.execute("set local session_replication_role = replica")
            session.execute("select loci_internal.empty_namespace(%s)", [namespace_id])
    except pg.ObjectNotInPrerequisiteState as error:
        raise CellError(error.diag.message_primary or str(error), "`loci cell check` says which cells have it.") from None


def _wait_for_rest(ends: Ends, link: str, session: Session | None = None, patience: float = COPIED) -> None:
    """Wait until a subscriber has all that is committed at the source now."""
    asked = session or ends.source
    position = end_of_log(asked)
    wait_until(lambda: has_arrived(asked, link, position), lambda: _stuck(ends), patience)


def _stuck(ends: Ends) -> CellError:
    return CellError(
        f"cell {ends.number} does not take what this cell sends",
        "The log of its database says why; repeat the command when it does.",
    )
