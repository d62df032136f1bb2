"""One request to Loci, within a time, by what Python brings: httpx takes longer to load than a hook may run."""

import json
import threading
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from service.connect.address import Address

AGENT = "loci-hook"
API = "/api/v1"
OK = 300


class Unanswered(Exception):
    """No answer, or none that helps; `status` is that of a reply."""

    def __init__(self, said: str, status: int | None = None) -> None:
        super().__init__(said)
        self.status = status


def post_json(address: Address, path: str, body: dict[str, Any], seconds: float, idempotency_key: str | None = None) -> Any:
    """POST, and give what comes back. Raises Unanswered, also where it takes longer: a thread waits, and nobody for it."""
    found: list[Any] = []
    waiting = threading.Thread(target=_post_in_thread, args=(address, path, body, seconds, idempotency_key, found), daemon=True)
    waiting.start()
    waiting.join(seconds)
    if not found:
        raise Unanswered(f"no answer from {address.url} within {seconds:.2f} s")
    if isinstance(found[0], Unanswered):
        raise found[0]
    return found[0]


def _post_in_thread(
    address: Address, path: str, body: dict[str, Any], seconds: float, idempotency_key: str | None, found: list[Any]
) -> None:
    try:
        found.append(_read_reply(address, path, body, seconds, idempotency_key))
    except Unanswered as error:
        found.append(error)
    except (OSError, HTTPException, ValueError) as error:
        found.append(Unanswered(f"{address.url}: {error}"))


def _read_reply(address: Address, path: str, body: dict[str, Any], seconds: float, idempotency_key: str | None) -> Any:
    where = urlsplit(address.url)
    if where.scheme not in {"http", "https"} or not where.hostname:
        raise Unanswered(f"{address.url!r} is no address of a service")
    kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
    connection = kind(where.hostname, where.port, timeout=seconds)
    sent = {
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "Authorization": f"Bearer {address.key}" if address.key else None,
        "X-Namespace": address.namespace,
        "X-User": address.user,
        "Idempotency-Key": idempotency_key,
    }
    try:
        headers = {name: value.encode() for name, value in sent.items() if value}
        connection.request("POST", f"{where.path.rstrip('/')}{API}{path}", json.dumps(body).encode(), headers)
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    said = json.loads(content) if content else None
    if response.status >= OK:
        detail = said.get("detail") if isinstance(said, dict) else None
        raise Unanswered(f"{address.url} says {response.status}: {detail}", response.status)
    return said
