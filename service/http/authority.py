"""The name in a Host or Origin header, read as RFC 3986 writes it and no more generously: what reads it differently is refused."""

import re
from ipaddress import IPv4Address, IPv6Address

_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9_.-]{1,254}))(?::(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_ORIGIN = re.compile(r"(?:https?)://(?P<authority>[^/?#@\s]+)")
_HIGHEST_PORT = 65_535
PORTS = {"http": 80, "https": 443}
OWNER = "loci.owner"  # of a scope: the request came over the socket that only the owner of the data can open, so it needs no key
Address = IPv4Address | IPv6Address


def host_of(authority: str) -> str | Address | None:
    """The host of `name`, `name:port`, `127.0.0.1:port` or `[::1]:port`, in lower case; None for anything else.

    A name may end in one dot. Something in front of an `@`, a zone, a path, or an address in one of its odd spellings
    (127.1, 0x7f.1) is none.
    """
    found = _AUTHORITY.fullmatch(authority)
    if found is None or int(found["port"] or 0) > _HIGHEST_PORT:
        return None
    if found["v6"]:
        return _parse_address(IPv6Address, found["v6"])
    name = found["name"].lower().removesuffix(".")
    if name.rpartition(".")[2].isdigit() or name.rpartition(".")[2].startswith("0x"):  # what browsers take for an address of IPv4
        return _parse_address(IPv4Address, name)
    return name if _NAME.fullmatch(name) else None


def origin_of(scheme: str, authority: str) -> tuple[str, str | Address, int] | None:
    """Scheme, host and port of an origin, the port also where the scheme says it; None where there is no such host."""
    host = host_of(authority)
    if host is None or scheme not in PORTS:
        return None
    stated = _AUTHORITY.fullmatch(authority)
    return scheme, host, int((stated and stated["port"]) or PORTS[scheme])


def origin_host(origin: str) -> str | Address | None:
    """The host of an Origin of the web, `https://name:port`; None for `null` and all others."""
    found = _ORIGIN.fullmatch(origin.lower())
    return host_of(found["authority"]) if found else None


def _parse_address(kind: type[IPv4Address] | type[IPv6Address], text: str) -> Address | None:
    try:
        return kind(text)
    except ValueError:
        return None
