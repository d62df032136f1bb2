"""API keys: made here, shown once, stored as a hash."""

import secrets
from dataclasses import dataclass
from uuid import UUID, uuid4

from service.http.caller import hash_key


@dataclass(frozen=True)
class NewKey:
    """A key and what is stored of it."""

    id: UUID
    key: str
    hash: bytes


def new_key() -> NewKey:
    """Make a key of 256 random bits: loci_<start of its id>_<secret>."""
    key_id = uuid4()
    key = f"loci_{key_id.hex[:8]}_{secrets.token_urlsafe(32)}"
    return NewKey(key_id, key, hash_key(key))
