"""Server-sent events as clients read them (WHATWG HTML, 9.2)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

HEARTBEAT = 15.0  # seconds after which a silent stream says that it lives
RETRY = 1.0  # seconds that a reader waits before it comes back


@dataclass(frozen=True)
class Event:
    """An event: its name, its data, and the cursor to go on after."""

    name: str
    data: bytes
    id: str | None = None


def status_of(problem: bytes) -> int | None:
    """The status that the data of a `problem` names; None: it names none."""
    try:
        status = json.loads(problem)["status"]
    except (ValueError, KeyError, TypeError):
        return None
    return status if isinstance(status, int) else None


class Parser:
    """Reads a stream as it comes, in whatever pieces. `last_id` is where to go on, `retry` how many seconds to wait before."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        self.retry = RETRY
        self._rest = b""
        self._id: str | None = None
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, block: bytes) -> Iterator[Event]:
        """Take what has come; the events that it completes."""
        lines = (self._rest + block).split(b"\n")  # the service ends lines so; the texts in JSON hold none
        self._rest = lines.pop()
        for line in lines:
            if line:
                self._take(line)
                continue
            self.last_id = self._id  # only now: an event that broke off is to come again
            event = Event(self._name or "message", b"\n".join(self._data), self.last_id) if self._data else None
            self._name, self._data = "", []
            if event:
                yield event

    def lost(self) -> None:
        """Forget the beginning of an event whose end will not come."""
        self._rest, self._name, self._data, self._id = b"", "", [], self.last_id

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode()
        elif field == b"id":
            self._id = value.decode()
        elif field == b"retry" and value.isdigit():
            self.retry = int(value) / 1000
