"""Which names a service without keys answers to.

Where no key is asked for, whoever reaches the port may do everything. A page in a browser reaches it under a name that its owner
points here (DNS rebinding), or across origins: so only this machine's own names, and those of LOCI_ALLOWED_HOSTS, are answered.
With keys there is nothing to reach without one.
"""

from urllib.parse import urlsplit

from db.errors import Forbidden, LociError, Misdirected
from service.settings import Settings

LOOPBACK = {"localhost", "::1"}


class Hosts:
    """The names, and what is wrong with a request under another."""

    def __init__(self, settings: Settings) -> None:
        self._guarded = not settings.keys_required
        self._loopback = settings.loopback
        self._names = {name.lower().strip("[]") for name in settings.allowed_hosts}
        if settings.loopback:
            self._names |= {*LOOPBACK, settings.host.lower()}

    def refusal(self, host: str | None, origin: str | None) -> LociError | None:
        """The error of a request with this Host and Origin; None if it may pass."""
        if not self._guarded or "*" in self._names:
            return None
        if self._loopback and not self._known(f"//{host}"):
            return Misdirected(
                "this service has no keys, so it answers to this machine's own names alone",
                hint="Send Host: localhost, name the host in LOCI_ALLOWED_HOSTS, or require keys: LOCI_REQUIRE_KEYS=true.",
            )
        if origin is not None and not self._known(origin):
            return Forbidden(
                "without keys, pages of other origins are not served",
                hint="Name the host in LOCI_ALLOWED_HOSTS, or require keys: LOCI_REQUIRE_KEYS=true.",
            )
        return None

    def _known(self, url: str) -> bool:
        try:
            name = urlsplit(url).hostname
        except ValueError:
            return False
        return name is not None and (name in self._names or (self._loopback and name.startswith("127.") and _is_address(name)))


def _is_address(name: str) -> bool:
    return name.count(".") == 3 and name.replace(".", "").isdigit()  # noqa: PLR2004 (of IPv4)
