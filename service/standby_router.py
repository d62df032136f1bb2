"""Which server answers a read: a standby that has what the reader wrote, or the primary."""

import re
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from db.errors import FieldError, Invalid
from db.pool import position_of
from db.standbys import Standby, Standbys, should_ask_primary
from service.deferred_writes import PrimaryWriteQueue
from service.observability.metrics import READS, STANDBY_BEHIND, STANDBY_UP
from service.supervision import Supervisor

POSITION = re.compile("[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")  # as PostgreSQL writes a place in its log
EXPECTED = "must be a position as a reply had it, such as 0/5A3F1C8"
KEYS = 10_000  # whose last writes are remembered


def shown_position(position: int) -> str:
    """A position as headers have it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def stated_position(stated: str) -> int:
    """A position that a header states. Raises Invalid."""
    if POSITION.fullmatch(stated) is None:
        raise Invalid(f"X-Loci-Position {EXPECTED}", [FieldError("X-Loci-Position", EXPECTED)])
    return position_of(stated)


@dataclass
class ReadRouter:
    """Standbys, what reads note, and how far the log was after the last write of each key in this process.

    Without a position header, a caller that writes and reads with one key through one process still sees its own writes.
    """

    standbys: Standbys
    notes: PrimaryWriteQueue
    _written: OrderedDict[bytes | None, int] = field(default_factory=OrderedDict)

    def note_write(self, owner: bytes | None, position: int) -> None:
        """A key has written, and the log was here then."""
        self._written[owner] = max(position, self._written.get(owner, 0))
        self._written.move_to_end(owner)
        if len(self._written) > KEYS:
            self._written.popitem(last=False)

    async def find_standby(self, owner: bytes | None, position: int | None) -> Standby | None:
        """The standby that should answer; None: the primary should."""
        own = self._written.get(owner)
        wanted = max((each for each in (position, own) if each is not None), default=None)
        found = await self.standbys.find_standby(wanted)
        if found is not None and wanted == own and position is None:
            self._forget_writes(owner, found)
        if found is None:
            READS.labels("primary", "no standby has it yet").inc()
        return found

    def note_answer(self) -> None:
        """A standby has answered."""
        READS.labels("standby", "it has it").inc()

    def should_ask_primary(self, standby: Standby, error: BaseException) -> bool:
        """Whether the primary should be asked what a standby failed at."""
        if should_ask_primary(standby, error):
            READS.labels("primary", "a standby could not").inc()
            return True
        return False

    @asynccontextmanager
    async def run_background(self, background: Supervisor) -> AsyncIterator[None]:
        """Watch the servers, and write what reads note, until the end of the block; then what is left of that."""
        await self.standbys.open_pools()
        background.start_task("primary", self.standbys.watch_primary)
        background.start_task("notes", self.notes.write_until_end)
        for each in self.standbys.standbys:
            background.start_task(f"standby {each.name}", partial(self.standbys.watch_standby, each))
        try:
            yield
        finally:
            await self.notes.write_waiting_notes()
            await self.standbys.close_pools()

    def update_metrics(self) -> None:
        """Show what is known of the standbys in the metrics."""
        for each in self.standbys.standbys:
            STANDBY_UP.labels(each.name).set(each.up)
            STANDBY_BEHIND.labels(each.name).set(self.standbys.seconds_behind(each))

    def _forget_writes(self, owner: bytes | None, found: Standby) -> None:
        """Every standby that is up has what a key wrote: nothing has to be waited for any more."""
        written = self._written.get(owner)
        if written is not None and all(each.replayed >= written for each in self.standbys.standbys) and found.up:
            del self._written[owner]
