"""A server that leaves without breaking anything: uvicorn's, which first lets its clients go elsewhere."""

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

LEAVE_SECONDS = 1.0  # in which clients that keep their connection hear that it will be closed
LOOK_EVERY = 0.02


class GracefulServer(uvicorn.Server):
    """Says when it accepts connections. Told to end, it accepts no more and asks with its replies for the others to be closed.

    A client that keeps a connection and sends at the very moment at which it is closed would lose its request.
    `channel` is a socket to the process that started this one: it is told there, and when that end closes, this process ends.
    """

    def __init__(self, config: uvicorn.Config, leaving: Callable[[], Any], channel: socket.socket | None = None) -> None:
        super().__init__(config)
        self._leaving = leaving
        self._channel = channel

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections."""
        await super().startup(sockets)
        if self._channel is not None:
            self._channel.send(b"1")
            asyncio.get_running_loop().add_reader(self._channel, self._end_when_orphan)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, let clients leave, then end as uvicorn does: what runs is finished."""
        for server in self.servers:
            server.close()
        self._leaving()
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        waited = 0.0
        while self.server_state.connections and waited < LEAVE_SECONDS and not self.force_exit:
            await asyncio.sleep(LOOK_EVERY)
            waited += LOOK_EVERY
        await super().shutdown(sockets)

    def _end_when_orphan(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel or -1)
        self.handle_exit(signal.SIGTERM, None)
