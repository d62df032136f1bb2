"""Whether a request is still wanted: its client is there, and its time is not up. If not, its task is cancelled.

Of a request that is answered at once only a timer is set and taken back. The client is looked for once that has run out, or where
the application asks; what a client sends is left to the application until its body has ended.
"""

import asyncio
from typing import Any, Literal

LOOK_AFTER = 0.1  # seconds; who leaves before is answered


class Presence:
    """Stands between the server and the application: `receive` is what the application calls."""

    def __init__(self, receive: Any, headers: dict[bytes, bytes]) -> None:
        self._receive = receive
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._expected = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers  # a body that is not read
        self._told = False  # of the end of a body
        self._looking = False
        self._watcher: asyncio.Task[None] | None = None
        self._gone = asyncio.Event()
        self._deadline: asyncio.TimerHandle | None = None
        self._look = self._loop.call_later(LOOK_AFTER, self._watch)
        self.ended: Literal["left", "late"] | None = None

    async def receive(self) -> dict[str, Any]:
        """The next part of the body; after its end, that the client has left, once it has."""
        if self._expected:
            message: dict[str, Any] = await self._receive()
            if message["type"] == "http.disconnect":
                self.ended = self.ended or "left"
                self._expected, self._told = False, True
                self._gone.set()
            elif not message.get("more_body", False):
                self._expected, self._told = False, True
                if self._looking:
                    self._watch()
            return message
        if not self._told:
            self._told = True
            return {"type": "http.request", "body": b"", "more_body": False}
        self._watch()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def arm(self, seconds: float) -> None:
        """Give the request so many seconds from now; the last word counts."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._loop.call_later(seconds, self._end, "late")

    def disarm(self) -> None:
        """The reply has begun: how long it takes is between the server and its client."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def give_up(self) -> None:
        """Break off what is sent, as if the client had left."""
        self._end("left")

    def let_finish(self) -> None:
        """The last of the reply is being sent: nothing is cancelled any more."""
        self._task = None

    def close(self) -> None:
        """The request is answered."""
        self.disarm()
        self.let_finish()
        self._look.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        self._gone.set()

    def _watch(self) -> None:
        self._looking = True
        if self._watcher is None and not self._expected and not self._gone.is_set():
            self._watcher = self._loop.create_task(self._wait_until_gone())

    async def _wait_until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        self._end("left")

    def _end(self, how: Literal["left", "late"]) -> None:
        if self._task is not None and self.ended is None:
            self.ended = how
            self._task.cancel()
