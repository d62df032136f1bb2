"""UUIDs of version 7 (RFC 9562): ordered by time, as the database makes them."""

import secrets
import time
from uuid import UUID


def uuid7() -> UUID:
    """A new one."""
    milliseconds = time.time_ns() // 1_000_000
    return UUID(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62))
