"""Time limits of a transaction, which the database keeps even where the process that opened it has stopped."""

from dataclasses import dataclass

HAS_TRANSACTION_TIMEOUT = 170_000  # version of the server
GRACE = 5.0  # seconds after the end of a statement's time at which the server ends the session too


@dataclass(frozen=True)
class TimeLimits:
    """Seconds that a transaction, a wait for a lock, and a pause between statements may take."""

    deadline: float
    lock: float
    idle: float

    def to_settings(self, server_version: int) -> list[str | None]:
        """As loci_api.begin_request takes them; servers before 17 have no limit for a transaction."""
        ends = self.deadline + GRACE
        limits = [f"{round(1000 * each)}ms" for each in (self.deadline, min(self.lock, self.deadline), self.idle, ends)]
        return [*limits[:3], limits[3] if server_version >= HAS_TRANSACTION_TIMEOUT else None]
