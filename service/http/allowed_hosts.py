"""Which names a service without keys answers to, and to whose pages.

Where no key is asked for, whoever reaches the port may do everything. A page in a browser reaches it under a name that its owner
points here (DNS rebinding), or across sites: so only this machine's own names, those of LOCI_ALLOWED_HOSTS, and pages of the
origins that LOCI_CORS_ORIGINS names one by one are answered.
With keys there is nothing to reach without one.
"""

from typing import Any

from db.errors import Forbidden, LociError, Misdirected
from service.http.authority import Address, host_of, origin_host
from service.http.page import VIEWS
from service.settings import Settings

LOOPBACK = "localhost"
HINT = "Name the host in LOCI_ALLOWED_HOSTS or the origin in LOCI_CORS_ORIGINS, or require keys: LOCI_REQUIRE_KEYS=true."
PAGES = VIEWS | {"/docs"}  # what a link from elsewhere may lead to: they say nothing of what is stored
VISIT = {b"sec-fetch-mode": ["navigate"], b"sec-fetch-dest": ["document"]}  # somebody followed a link
Headers = dict[bytes, list[str]]


class Hosts:
    """The names, and what is wrong with a request under another."""

    def __init__(self, settings: Settings) -> None:
        self._guarded = not settings.requires_keys and "*" not in settings.allowed_hosts
        self._loopback = settings.is_loopback
        self._names: set[str | Address | None] = {host_of(_bracket_ipv6(name)) for name in settings.allowed_hosts}
        if settings.is_loopback:
            self._names |= {LOOPBACK, host_of(_bracket_ipv6(settings.host))}
        self._names.discard(None)
        self._origins = set(settings.cors_origins) - {"*"}

    def refuse_host(self, scope: dict[str, Any]) -> LociError | None:
        """The error of a request; None if it may pass."""
        if not self._guarded:
            return None
        sent: Headers = {}
        for name, value in scope["headers"]:
            sent.setdefault(name, []).append(value.decode("latin-1"))
        if self._loopback and not self._is_allowed_host(list(map(host_of, sent.get(b"host", [])))):
            return Misdirected(
                "this service requires no keys, so it answers only to this machine's own names",
                hint=f"Send Host: localhost. {HINT}",
            )
        origins = sent.get(b"origin")
        if origins is not None:
            named = len(origins) == 1 and origins[0] in self._origins
            foreign = not (named or self._is_allowed_host(list(map(origin_host, origins))))
        else:  # a picture, a frame or a script of a page; a link
            foreign = "cross-site" in sent.get(b"sec-fetch-site", []) and not _is_visit(scope, sent)
        return (
            Forbidden("requests from pages of other origins are refused where no keys are required", hint=HINT) if foreign else None
        )

    def _is_allowed_host(self, hosts: list[str | Address | None]) -> bool:
        """Whether there is one host, and it may be."""
        host = hosts[0] if len(hosts) == 1 else None
        if host is None or isinstance(host, str):
            return host in self._names
        return host in self._names or (self._loopback and host.is_loopback)


def _bracket_ipv6(name: str) -> str:
    return f"[{name.strip('[]')}]" if ":" in name else name


def _is_visit(scope: dict[str, Any], sent: Headers) -> bool:
    """Whether somebody came by a link to a page that says nothing of what is stored."""
    return scope["method"] == "GET" and scope["path"] in PAGES and all(sent.get(name) == value for name, value in VISIT.items())
