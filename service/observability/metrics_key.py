"""Readers of the metrics need LOCI_METRICS_KEY, which is no API key, since figures are read also while the database is away."""

import re
from hmac import compare_digest

AUTHORIZATION = re.compile(rb"\r\nauthorization:[ \t]*([^\r\n]*?)[ \t]*\r\n", re.IGNORECASE)


def may_scrape(key: str | None, authorization: str | None, *, closed: bool = False) -> bool:
    """Whether this Authorization header opens the metrics; without a key they are open, or `closed` to everybody."""
    if key is None:
        return not closed
    scheme, _, given = (authorization or "").partition(" ")
    return scheme.lower() == "bearer" and compare_digest(given.strip().encode("latin-1"), key.encode())


def authorization_in(head: bytes) -> str | None:
    """The Authorization header in the head of a request, as it came over the wire."""
    found = AUTHORIZATION.search(head)
    return found[1].decode("latin-1") if found else None
