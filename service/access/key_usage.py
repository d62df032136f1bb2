"""Uses of keys: counted in memory, written by the second, so that no request waits for it."""

import ipaddress
import logging
from collections import Counter
from typing import Any

import psycopg
from psycopg_pool import PoolTimeout

from db.access.keys import KeyUse, record_key_usage
from db.pool import OPERATOR, Origin, Pool, open_transaction

log = logging.getLogger(__name__)
WRITE_SECONDS = 1.0
KINDS = 10_000  # different uses that are counted between two writes; further ones lose their address
OUTCOMES = {401: "unauthorized", 403: "refused", 429: "limited"}


def address_of(scope: dict[str, Any]) -> str | None:
    """Where a request came from: an IPv4 address, the first 64 bits of an IPv6 one, or None (a Unix socket)."""
    client = scope.get("client")
    try:
        address = ipaddress.ip_address(client[0].partition("%")[0]) if client else None
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)).network_address)
    return None if address is None else str(address)


class KeyUsageCounts:
    """Counts of requests with keys that are not written yet."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._counts: Counter[KeyUse] = Counter()

    def count_use(self, use: KeyUse) -> None:
        """Count a request."""
        if len(self._counts) >= KINDS and use not in self._counts:
            use = KeyUse(use.key_id, None, None, use.outcome)
        self._counts[use] += 1

    async def write_counts(self) -> None:
        """Write what was counted; what cannot be written now is kept for the next time."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            async with open_transaction(
                self._pool, key_hash=OPERATOR, namespace=None, role=None, origin=Origin("record_key_usage", "worker")
            ) as tx:
                await record_key_usage(tx, uses=list(counts.items()))
        except (psycopg.Error, PoolTimeout) as error:
            log.warning("uses of keys wait to be written: %s", error)
            self._counts.update(counts)
