"""The session of a browser: a cookie that stands for a key, and which requests may use it.

The cookie is HttpOnly and SameSite=Strict, and has no Path: the browser keeps it to the folder of `POST /session`, which is that
of the API under whatever prefix a proxy puts in front. A cookie proves nothing about who made the browser send it, so a request
that rests on the cookie alone must come from a page of this very origin.
"""

import hashlib
from typing import Any

from db.errors import Forbidden, LociError
from service.http.authority import origin_of
from service.http.middleware import API

COOKIE = "loci_session"
PATH = f"{API}/session"
HINT = "Send the key itself as `Authorization: Bearer …`."
READING = {"GET", "HEAD"}
Headers = list[tuple[bytes, bytes]]


def hash_token(token: str) -> bytes:
    """The stored form of a session. A key may not begin with a zero byte, so no bearer has the hash of a session."""
    return hashlib.sha256(b"\x00session\x00" + token.encode()).digest()


def session_hash(scope: dict[str, Any]) -> bytes | None:
    """The hash of the session that a request of the API carries; None for none."""
    if not scope["path"].startswith(f"{API}/"):
        return None
    for value in _read_cookies(scope, b"cookie"):
        for pair in value.split(";"):
            name, _, token = pair.strip().partition("=")
            if name == COOKIE and token:
                return hash_token(token)
    return None


def foreign_use(scope: dict[str, Any]) -> LociError | None:
    """The error of a request that rests on the cookie and was not made by a page of this origin; None if it may pass.

    Browsers say so in Sec-Fetch-Site, over https and on this machine. Elsewhere Origin, sent with every method but GET, must be
    this scheme and Host: somebody on the way may make a page of that name without TLS. A trusted proxy says what the scheme was.
    """
    sites, origins = _read_cookies(scope, b"sec-fetch-site"), _read_cookies(scope, b"origin")
    reading = scope["method"] in READING
    if sites:
        same = sites == ["same-origin"] or (reading and sites == ["none"])
    elif origins or not reading:
        same = _is_own(scope, origins, _read_cookies(scope, b"host"))
    else:
        same = True
    return None if same else Forbidden("a browser session works only on pages of this service", hint=HINT)


def _is_own(scope: dict[str, Any], origins: list[str], hosts: list[str]) -> bool:
    """Whether one Origin was sent, and it is that of the request: scheme, host and port."""
    if len(origins) != 1 or len(hosts) != 1:
        return False
    scheme, sign, authority = origins[0].lower().partition("://")
    own = origin_of(scope.get("scheme", "http"), hosts[0].lower())
    return bool(sign) and own is not None and origin_of(scheme, authority) == own


def set_cookie(token: str, *, seconds: int, secure: bool) -> str:
    """The header that gives a browser its session, or with `seconds` 0 takes it away."""
    return f"{COOKIE}={token}; Max-Age={seconds}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"


def _read_cookies(scope: dict[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for given, value in scope["headers"] if given == name]
