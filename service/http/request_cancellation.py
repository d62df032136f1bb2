"""Whether a request is still wanted: its client is there, and its time is not up. If not, its task is cancelled.

A request that is answered at once only sets a timer and takes it back. The client is looked for once that has run out, or where
the application asks; what a client sends is left to the application until its body has ended.

The time of a request counts from its arrival: admission, the wait for a connection and the statements are all within it. Only the
wait for the parts of its body is not, which has a pace of its own (service/http/protocol.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

LOOK_AFTER = 0.1  # seconds; who leaves before is answered


class Presence:
    """Stands between the server and the application: `receive` is what the application calls.

    `answer_late` is called when the time is up: the client is told at once, also where the work takes long to be taken back.
    `waited`: seconds in which parts of the body were waited for.
    """

    answer_late: Callable[[], Awaitable[None]] | None = None

    def __init__(self, receive: Any, headers: dict[bytes, bytes]) -> None:
        self._receive = receive
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._expected = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers  # a body that is not read
        self._told = False  # of the end of a body
        self._looking = False
        self._watcher: asyncio.Task[None] | None = None
        self._gone = asyncio.Event()
        self._answering: asyncio.Future[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._began, self._seconds = self._loop.time(), 0.0
        self.waited = 0.0
        self._waits_since: float | None = None
        self._look = self._loop.call_later(LOOK_AFTER, self._watch_client)
        self.ended: Literal["left", "late"] | None = None

    async def receive_message(self) -> dict[str, Any]:
        """The next part of the body; after its end, that the client has left, once it has."""
        if self._expected:
            message = await self._receive_part()
            if message["type"] == "http.disconnect":
                self.ended = self.ended or "left"
                self._expected, self._told = False, True
                self._gone.set()
            elif not message.get("more_body", False):
                self._expected, self._told = False, True
                if self._looking:
                    self._watch_client()
            return message
        if not self._told:
            self._told = True
            return {"type": "http.request", "body": b"", "more_body": False}
        self._watch_client()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def arm_deadline(self, seconds: float) -> None:
        """Give the request so many seconds since its arrival; the last word counts."""
        self.disarm_deadline()
        self._seconds = seconds
        self._deadline = self._loop.call_at(self._seconds_until_deadline(), self._look_at_clock)

    def disarm_deadline(self) -> None:
        """Set no time: the reply has begun, or the other end takes its own."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def give_up(self) -> None:
        """Break off the reply, as if the client had left."""
        self._end_request_before_reply("left")

    async def wait_for_late_reply(self) -> None:
        """Wait until the answer to a request that is past its deadline was sent."""
        if self._answering is not None:
            await self._answering

    @property
    def body_is_unread(self) -> bool:
        """Whether parts of the body are still to come."""
        return self._expected

    def let_finish(self) -> None:
        """The last of the reply is being sent: nothing is cancelled any more."""
        self._task = None

    def end_request(self) -> None:
        """The request is answered."""
        self.disarm_deadline()
        self.let_finish()
        self._look.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        self._gone.set()

    async def _receive_part(self) -> dict[str, Any]:
        """A part of the body; the time until it is here is its sender's."""
        self._waits_since = self._loop.time()
        try:
            message: dict[str, Any] = await self._receive()
        finally:
            self.waited += self._loop.time() - self._waits_since
            self._waits_since = None
        return message

    def _seconds_until_deadline(self) -> float:
        waits = 0.0 if self._waits_since is None else self._loop.time() - self._waits_since
        return self._began + self.waited + waits + self._seconds

    def _look_at_clock(self) -> None:
        now, due = self._loop.time(), self._seconds_until_deadline()
        if now < due:
            self._deadline = self._loop.call_at(max(due, now + LOOK_AFTER), self._look_at_clock)
        else:
            self._end_request_before_reply("late")

    def _watch_client(self) -> None:
        self._looking = True
        if self._watcher is None and not self._expected and not self._gone.is_set():
            self._watcher = self._loop.create_task(self._wait_until_gone())

    async def _wait_until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        self._end_request_before_reply("left")

    def _end_request_before_reply(self, how: Literal["left", "late"]) -> None:
        if self._task is not None and self.ended is None:
            self.ended = how
            if how == "late" and self.answer_late is not None:
                self._answering = asyncio.ensure_future(self.answer_late())
            self._task.cancel()
