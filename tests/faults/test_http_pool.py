"""Connections of the service while the database is away."""

import asyncio

import psycopg
import pytest

from db.pool import Connection, Pool, make_pool
from tests.databases import Database
from tests.services import PATIENCE


def test_who_waits_for_a_connection_has_one_when_the_database_is_back_though_nobody_else_asks(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.pool.AGAIN", 0.02)
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
