"""The service without its guards, for what they cost.

`python -m bench.unguarded serve …` is `loci serve` without shares of the pool, deadlines (here and in the database), looking for
clients that leave, limits of sockets, bodies and words, and headers of protection.
"""

from contextlib import asynccontextmanager
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import service.http.caller
import service.http.middleware
from db import pool
from db.time_limits import TimeLimits
from service.cli.main import main
from service.http import protocol


class Anybody:
    """A presence that looks for nobody and has no clock."""

    ended = None

    def __init__(self, receive: Any, _: object) -> None:
        self.receive = receive

    def nothing(self, *_: object) -> None:
        """Not watched."""

    arm = disarm = give_up = let_finish = close = nothing


class Anything(service.http.middleware.Body):
    """A body that is not counted."""

    def check_sizes(self, scope: Any, headers: Any) -> None:
        """Nothing is too large."""

    async def receive_message(self) -> dict[str, Any]:
        """The next message."""
        return await self._presence.receive_message()  # type: ignore[no-any-return]


@asynccontextmanager
async def lent(self: pool.Pool, *_: object) -> Any:
    """A connection of whoever comes first."""
    async with self.connection() as connection:
        yield connection


def take_away() -> None:
    """Put nothing in the place of each guard."""
    service.http.middleware.Presence = Anybody  # type: ignore[misc, assignment]
    service.http.middleware.Body = Anything  # type: ignore[misc]
    service.http.middleware.add_protective_headers = lambda headers: headers
    service.http.caller.check_words = lambda *_: None
    pool.Pool.lend_connection = lent  # type: ignore[method-assign]
    protocol.limited_protocol = lambda _: HttpToolsProtocol  # type: ignore[assignment]
    TimeLimits.to_settings = lambda *_: None  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    take_away()
    main()
