"""Sessions of browsers: wrappers of the SQL functions."""

from datetime import datetime
from typing import cast

from db.pool import Connection


async def create_browser_session(connection: Connection, *, key_hash: bytes, hash: bytes, seconds: float) -> datetime:
    """Begin a session with a key; when it ends."""
    sent = await connection.execute("select loci_api.create_browser_session(%s, %s, %s) as ends", (key_hash, hash, seconds))
    row = await sent.fetchone()
    assert row is not None  # noqa: S101 (a function returns a row)
    return cast("datetime", row["ends"])


async def delete_browser_session(connection: Connection, *, hash: bytes) -> None:
    """End a session."""
    await connection.execute("select loci_api.delete_browser_session(%s)", (hash,))
