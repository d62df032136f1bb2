"""Connections of the service while the database is away, and while clients leave."""

import asyncio
from contextlib import suppress

import psycopg
import pytest

from db.pool import Connection, Pool, make_pool
from tests.databases import Database
from tests.services import PATIENCE


def test_a_waiting_caller_gets_a_connection_when_the_database_is_back(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.pool.RECONNECT_SECONDS", 0.02)
    connect, failed = Pool._connect, 0

    async def away(self: Pool, *arguments: float | None) -> Connection:
        nonlocal failed
        if failed < 20:
            failed += 1
            raise psycopg.OperationalError("the database is away")
        return await connect(self, *arguments)

    monkeypatch.setattr(Pool, "_connect", away)

    async def ask() -> bool:
        pool = make_pool(database.app_url, size=2, timeout=PATIENCE)
        await pool.open(wait=False)
        try:
            async with pool.connection() as connection:
                return (await (await connection.execute("select true as here")).fetchone()) == {"here": True}
        finally:
            await pool.close()

    assert asyncio.run(ask())


def test_a_pool_has_one_connection_until_two_are_asked_for_at_once(database: Database) -> None:
    async def sizes() -> list[int]:
        async with make_pool(database.app_url, size=3, timeout=PATIENCE) as pool:
            await pool.wait(PATIENCE)
            seen = [pool.get_stats()["pool_size"]]
            async with pool.connection():
                seen.append(pool.get_stats()["pool_size"])
                async with pool.connection():
                    seen.append(pool.get_stats()["pool_size"])
        return seen

    assert asyncio.run(sizes()) == [1, 1, 2]


def test_a_connection_of_a_request_whose_client_leaves_as_it_ends_goes_to_whoever_waits(database: Database) -> None:
    async def leave(steps: int) -> None:
        """Cancel a task so many steps of the event loop after another began to wait for the connection that it gives back."""
        async with make_pool(database.app_url, size=1, timeout=PATIENCE) as pool:
            lent, end = asyncio.Event(), asyncio.Event()

            async def hold() -> None:
                async with pool.connection():
                    lent.set()
                    await end.wait()

            async def ask() -> None:
                async with pool.connection():
                    pass

            holding = asyncio.create_task(hold())
            await lent.wait()
            asking = asyncio.create_task(ask())
            end.set()
            for _ in range(steps):
                await asyncio.sleep(0)
            holding.cancel()
            with suppress(asyncio.CancelledError):
                await holding
            await asking

    async def leave_at_each() -> None:
        for steps in range(8):
            await leave(steps)

    asyncio.run(leave_at_each())
