"""Where a hook finds Loci. Loaded by hooks, so it imports nothing that takes time.

No file `.env` is read: a hook runs in a project's folder, and what lies there must not say where a conversation is sent.
"""

import json
from typing import NamedTuple

from service.connect.user_folders import UserFolders

ADDRESS_FILE = "service.json"  # in the state folder, written by `loci connect`
VARIABLES = {"url": "LOCI_URL", "key": "LOCI_KEY", "namespace": "LOCI_NAMESPACE", "user": "LOCI_USER"}
USUAL_PORT = "8420"


class Address(NamedTuple):
    """A service, and who asks it."""

    url: str
    key: str | None = None
    namespace: str | None = None
    user: str | None = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"Address({self.url!r})"

    def format_note(self) -> str:
        """A file's word on it."""
        return json.dumps({name: value for name, value in self._asdict().items() if value}, indent=2) + "\n"


def find_address(places: UserFolders) -> Address:
    """The service that the environment names, else the one that `loci connect` noted, else the one of this machine.

    A key goes to no service but the one that it was stated with.
    """
    stated: dict[str, str] = {name: value for name, variable in VARIABLES.items() if (value := places.environment.get(variable))}
    if "url" not in stated:
        own = {name: value for name, value in stated.items() if name in {"namespace", "user"}}
        stated = {"url": usual_url(places), **_read_notes(places), **own}
    url = stated.pop("url").rstrip("/").removesuffix("/mcp").removesuffix("/api/v1")
    return Address(url, **stated)


def usual_url(places: UserFolders) -> str:
    """Where `loci serve` of this machine listens."""
    return f"http://127.0.0.1:{places.environment.get('LOCI_PORT') or USUAL_PORT}"


def _read_notes(places: UserFolders) -> dict[str, str]:
    try:
        noted = json.loads((places.state_folder / ADDRESS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = {name: value for name, value in noted.items() if name in VARIABLES} if isinstance(noted, dict) else {}
    return known if all(isinstance(value, str) for value in known.values()) else {}
