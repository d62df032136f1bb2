"""Statements that are sent one behind another: each error reaches somebody, and a connection comes back fit for use or not at all."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg import pq

from db.pool import OPERATOR, OPERATOR_AGENT, Pool, Transaction, make_pool, open_transaction
from tests.databases import Database
from tests.services import PATIENCE, eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pool(own_database: Database) -> AsyncIterator[Pool]:
    async with make_pool(own_database.app_url, size=1) as made:
        yield made


def begun(pool: Pool, *, single: bool = False) -> Any:
    return open_transaction(pool, key_hash=OPERATOR, namespace=None, role=None, single=single)


async def answers(pool: Pool) -> None:
    """The only connection does its work."""
    async with begun(pool) as tx:
        assert await tx.value(int, "select 1") == 1


async def fail(tx: Transaction) -> None:
    """A statement that fails, whose reply nobody reads."""
    await tx.post("select 1 / %(zero)s::integer", zero=0)


async def test_an_unread_failure_is_raised_at_the_end(pool: Pool) -> None:
    async def work() -> None:
        async with begun(pool) as tx:
            await fail(tx)
            await tx.post("select 1")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await work()
    await answers(pool)


async def test_a_statement_behind_one_that_failed_raises_what_that_failed_with(pool: Pool) -> None:
    async def work() -> None:
        async with begun(pool) as tx:
            await fail(tx)
            await tx.value(int, "select 1")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await work()
    await answers(pool)


async def test_a_transaction_whose_error_was_swallowed_does_not_end_as_if_it_had_been_committed(pool: Pool) -> None:
    async def work() -> None:
        async with begun(pool) as tx:
            with suppress(psycopg.Error):
                await tx.value(int, "select 1 / %(zero)s::integer", zero=0)

    with pytest.raises(psycopg.errors.DivisionByZero):
        await work()
    await answers(pool)


async def test_a_savepoint_takes_back_what_fails_in_it_also_where_nobody_read_it(pool: Pool) -> None:
    async def refused(tx: Transaction) -> None:
        async with tx.savepoint():
            await tx.post("insert into kept values (1)")
            await fail(tx)

    async with begun(pool) as tx:
        await tx.post("create temporary table kept (number integer) on commit drop")
        with pytest.raises(psycopg.errors.DivisionByZero):
            await refused(tx)
        async with tx.savepoint():
            await tx.post("insert into kept values (2)")
        async with tx.savepoint(undo=True):
            await tx.post("insert into kept values (3)")
        assert await tx.values(int, "select number from kept") == [2]


def count_sleeping(database: Database) -> int:
    """How many sessions are asleep there."""
    with database.admin() as admin:
        asked = "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
        return admin.execute(asked).rowcount


@pytest.mark.parametrize("single", [False, True])
async def test_a_cancellation_ends_the_statement_and_the_next_caller_gets_a_connection(
    own_database: Database, pool: Pool, single: bool
) -> None:
    async def sleep() -> None:
        async with begun(pool, single=single) as tx:
            await tx.run("select pg_sleep(%(seconds)s)", seconds=3600)

    task = asyncio.create_task(sleep())
    await asyncio.to_thread(eventually, lambda: count_sleeping(own_database) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await answers(pool)
    assert count_sleeping(own_database) == 0


async def test_a_cancellation_before_the_server_knows_the_statement_does_not_wait_for_it(
    own_database: Database, pool: Pool
) -> None:
    sent = asyncio.Event()

    async def sleep() -> None:
        async with begun(pool) as tx:
            await tx.post("select pg_sleep(%(seconds)s)", seconds=3600)
            sent.set()
            await asyncio.sleep(3600)

    task = asyncio.create_task(sleep())
    await sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE)
    await answers(pool)
    assert count_sleeping(own_database) == 0


async def test_a_single_statement_is_committed_before_its_result_is_read(own_database: Database, pool: Pool) -> None:
    async with begun(pool, single=True) as tx:
        number = await tx.value(int, "select pg_current_xact_id()::text::bigint as number")
        with own_database.admin() as admin:
            assert admin.execute("select pg_xact_status(%s::text::xid8)", [number]).fetchone() == ("committed",)
    async with begun(pool) as tx:
        assert await tx.value(str, "select current_setting('loci.agent')") == OPERATOR_AGENT  # each says who it is


@pytest.mark.parametrize(("role", "error"), [(None, psycopg.errors.DivisionByZero), ("writer", psycopg.errors.NoDataFound)])
async def test_a_single_statement_raises_what_it_or_its_beginning_failed_with(
    pool: Pool, role: str | None, error: type[psycopg.Error]
) -> None:
    async def work() -> None:
        async with open_transaction(pool, key_hash=OPERATOR, namespace="nowhere", role=role, single=True) as tx:
            await tx.value(int, "select 1 / %(zero)s::integer", zero=0)

    for _ in range(7):  # prepared by then
        with pytest.raises(error):
            await work()
    await answers(pool)


@pytest.mark.parametrize("single", [False, True])
async def test_a_commit_that_fails_is_told_and_nothing_was_written(own_database: Database, pool: Pool, single: bool) -> None:
    with own_database.admin() as admin:
        for statement in (
            "drop table if exists public.late",
            "create table public.late (number integer)",
            "grant insert, select on public.late to loci_app",
            """create or replace function public.refuse() returns trigger language plpgsql as
               $$ begin raise exclusion_violation; end $$""",
            """create constraint trigger late after insert on public.late deferrable initially deferred
               for each row execute function public.refuse()""",
        ):
            admin.execute(statement)

    async def work() -> None:
        async with begun(pool, single=single) as tx:
            await tx.value(int, "insert into public.late values (1) returning number")

    with pytest.raises(psycopg.errors.ExclusionViolation):
        await work()
    async with begun(pool) as tx:
        assert await tx.values(int, "select number from public.late") == []


async def test_much_may_go_both_ways_at_once(pool: Pool) -> None:
    text = "stone" * 1_000_000
    async with begun(pool) as tx:
        sent = [await tx.send(dict[str, Any], "select %(text)s::text || %(nth)s as said", text=text, nth=nth) for nth in range(4)]
        assert [(await each.one())["said"] for each in sent] == [f"{text}{nth}" for nth in range(4)]


async def test_a_connection_whose_prepared_statement_is_stale_fails_once(own_database: Database, pool: Pool) -> None:
    def define(kind: str) -> None:
        with own_database.admin() as admin:
            admin.execute("drop function if exists public.changes()")
            admin.execute(f"create function public.changes() returns table (a {kind}) language sql as 'select null::{kind}'")

    async def call() -> int:
        async with begun(pool) as tx:
            return len(await tx.rows(dict[str, Any], "select * from public.changes()"))

    define("integer")
    for _ in range(8):
        assert await call() == 1
    define("text")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        await call()
    assert await call() == 1


async def test_a_connection_that_is_lost_leaves_alone_whoever_has_its_number_next(own_database: Database) -> None:
    """libpq closes the socket itself; what is opened then has its number, and is waited for too."""
    async with make_pool(own_database.app_url, size=2) as pool:
        with suppress(psycopg.OperationalError):
            async with begun(pool) as tx:
                with own_database.admin() as admin:
                    admin.execute("select pg_terminate_backend(%s)", [tx.connection.info.backend_pid])
                number = tx.connection.pgconn.socket
                while tx.connection.pgconn.status != pq.ConnStatus.BAD:  # noqa: ASYNC110 (until the loop has heard of it)
                    await asyncio.sleep(0.01)
                other, end = socket.socketpair()
                if other.fileno() != number:
                    os.dup2(other.fileno(), number)
                    os.close(other.detach())
                heard = asyncio.Event()
                asyncio.get_running_loop().add_reader(number, heard.set)
        end.send(b"said")
        await asyncio.wait_for(heard.wait(), PATIENCE)
        asyncio.get_running_loop().remove_reader(number)
        os.close(number if other.fileno() < 0 else other.detach())
        end.close()
        await answers(pool)


async def test_the_end_of_a_connection_is_noticed_where_the_loop_tells_nothing_of_it(own_database: Database, pool: Pool) -> None:
    """uvloop tells once of a socket that has failed, and then never again."""

    async def work() -> None:
        async with begun(pool) as tx:
            sent = await tx.send(dict[str, Any], "select pg_sleep(%(seconds)s)", seconds=3600)
            asyncio.get_running_loop().remove_reader(tx.connection.pgconn.socket)
            with own_database.admin() as admin:
                admin.execute("select pg_terminate_backend(%s)", [tx.connection.info.backend_pid])
            await sent.all()

    with pytest.raises(psycopg.OperationalError):
        await asyncio.wait_for(work(), PATIENCE)
    await answers(pool)
