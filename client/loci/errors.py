"""Errors of requests, and the status that stands for each.

LociError
├── Unauthorized  401
├── Forbidden     403
├── NotFound      404
├── Conflict      409
├── Gone          410
├── TooLarge      413
├── Invalid       422
├── RateLimited   429
├── Unavailable   502, 503, no connection
└── TimedOut      504, no reply in time
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import httpx

    from loci.models.problems import FieldProblem


class Reply(Protocol):
    """The part of a reply that is read, whichever library received it; a reply of httpx has it."""

    @property
    def status_code(self) -> int:
        """The HTTP status."""

    @property
    def reason_phrase(self) -> str:
        """The status in words."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers, under names in any case."""

    @property
    def content(self) -> bytes:
        """The body."""

    @property
    def is_success(self) -> bool:
        """Whether the status is one of those that say so."""


class LociError(Exception):
    """A request that did not succeed: the problem document (RFC 9457) as attributes.

    `status` is None where no reply came. `type` is stable; `errors` name the fields; `request_id` finds the request in the log.
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        type: str = "about:blank",
        title: str = "",
        errors: "list[FieldProblem] | None" = None,
        hint: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.type = type
        self.title = title
        self.detail = detail
        self.errors = errors or []
        self.hint = hint
        self.request_id = request_id

    def __str__(self) -> str:
        """The problem, the fields that its sentence does not name, and what to do."""
        parts = [self.detail]
        parts += [f"{e.field}: {e.message}" for e in self.errors if e.message not in self.detail or e.field not in self.detail]
        return "; ".join(parts) + (f" ({self.hint})" if self.hint else "")


class Unauthorized(LociError):
    """No key, or one that is unknown, expired or revoked."""


class Forbidden(LociError):
    """The key has no grant in this namespace, or a role too low."""


class NotFound(LociError):
    """The thing that was asked for does not exist in this namespace."""


class Conflict(LociError):
    """The request contradicts what is stored, or a limit is reached."""


class Gone(LociError):
    """No longer there: answered before under this Idempotency-Key and erased since, or changes that are no longer kept."""


class TooLarge(LociError):
    """The body is larger than the service takes."""


class Invalid(LociError):
    """A field has a wrong type, form or value."""


class RateLimited(LociError):
    """Too many requests for now."""


class Unavailable(LociError):
    """The service, or its database, cannot be reached; the same request may succeed in a moment."""


class TimedOut(LociError):
    """No reply came in time."""


KINDS: dict[int, type[LociError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: TimedOut,
}


def error_of(response: Reply) -> LociError:
    """The exception that a reply means; one that is no problem document (a proxy's page) is told by its status."""
    kind = KINDS.get(response.status_code, LociError)
    request_id = response.headers.get("X-Request-Id")
    body = _object(response)
    if not isinstance(body.get("detail"), str):
        return kind(f"{response.status_code} {response.reason_phrase}", status=response.status_code, request_id=request_id)
    from loci.models.problems import FieldProblem

    return kind(
        body["detail"],
        status=response.status_code,
        type=body.get("type", "about:blank"),
        title=body.get("title", ""),
        errors=[FieldProblem.model_validate(e) for e in body.get("errors", [])],
        hint=body.get("hint"),
        request_id=body.get("request_id") or request_id,
    )


def error_without_reply(error: "httpx.TransportError") -> LociError:
    """The exception of a request that got no reply."""
    import httpx

    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return TimedOut("no reply came in time")
    return Unavailable(f"the service cannot be reached: {error or error.__class__.__name__}")


def _object(response: Reply) -> dict[str, Any]:
    try:
        body = json.loads(response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
