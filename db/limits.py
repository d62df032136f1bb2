"""Time limits of a transaction, which the database keeps even where the process that opened it has stopped."""

from dataclasses import dataclass
from typing import LiteralString

HAS_TRANSACTION_TIMEOUT = 170_000  # version of the server
LIMIT: LiteralString = (
    "select set_config('statement_timeout', %(all)s, true), set_config('lock_timeout', %(lock)s, true),"
    " set_config('idle_in_transaction_session_timeout', %(idle)s, true)"
)
LIMIT_ALL: LiteralString = LIMIT + ", set_config('transaction_timeout', %(ends)s, true)"
GRACE = 5.0  # seconds after the end of a statement's time at which the server ends the session too


@dataclass(frozen=True)
class TimeLimits:
    """Seconds that a transaction, a wait for a lock, and a pause between statements may take."""

    deadline: float
    lock: float
    idle: float

    def parameters(self) -> dict[str, str]:
        """As the database takes them."""
        ends = self.deadline + GRACE
        return {name: f"{round(seconds * 1000)}ms" for name, seconds in
                (("all", self.deadline), ("lock", min(self.lock, self.deadline)), ("idle", self.idle), ("ends", ends))}  # fmt: skip


def statement(server_version: int) -> LiteralString:
    """What sets the limits for the rest of a transaction."""
    return LIMIT_ALL if server_version >= HAS_TRANSACTION_TIMEOUT else LIMIT
