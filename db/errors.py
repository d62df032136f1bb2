"""Errors, and the SQLSTATE that stands for each.

LociError
├── Unauthorized  401  28000
├── Forbidden     403  42501
├── NotFound      404  P0002
├── TooSlow       408
├── Conflict      409  23505, 23P01
│   ├── LimitReached   53400
│   └── NeedsModel
├── Gone          410  24000
├── Misdirected   421
├── Invalid       422  22xxx, 23502, 23503, 23514, 23000
├── RateLimited   429
│   └── TooManyAtOnce
├── HeadersTooLarge  431
├── Unavailable   503  08xxx, 53xxx, 57P0x, 40001, 40P01, 25P03, a full pool
│   └── Moved    LOCI1
└── DeadlineExceeded  504  57014, 25P04
"""

import re
from dataclasses import dataclass, field

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout


@dataclass(frozen=True)
class FieldError:
    """One thing that is wrong with a request: the path of the field, and what was expected of it."""

    field: str
    message: str


@dataclass
class LociError(Exception):
    """An error that callers can act on.

    `detail` is a sentence for people; `errors` name the fields. Subclasses fix the HTTP status and the stable type.
    """

    detail: str
    errors: list[FieldError] = field(default_factory=list)
    hint: str | None = None
    status = 500
    slug = "internal-error"
    title = "Internal error"


class Unauthorized(LociError):
    """No key, or one that is unknown, expired or revoked."""

    status, slug, title = 401, "unauthorized", "Authentication needed"


class Forbidden(LociError):
    """The caller has no grant, or a role too low."""

    status, slug, title = 403, "forbidden", "Not allowed"


class NotFound(LociError):
    """The thing does not exist in this namespace."""

    status, slug, title = 404, "not-found", "Not found"


class Conflict(LociError):
    """The request contradicts what is stored, or a limit is reached."""

    status, slug, title = 409, "conflict", "Conflict"


class LimitReached(Conflict):
    """A limit of the namespace is reached; the hint says what makes room."""

    slug, title = "limit-reached", "Limit reached"


@dataclass
class NeedsModel(Conflict):
    """The call needs a language model, and none is configured."""

    detail: str = "this needs a language model, and none is configured"
    hint: str | None = "Set LOCI_LLM__ENDPOINT and LOCI_LLM__MODEL."
    slug, title = "needs-a-model", "A language model is needed"
    final = True  # a job that needs one waits until there is one

    def __str__(self) -> str:
        return f"{self.detail}: {self.hint}"


class Gone(LociError):
    """The thing was there once and is no longer kept."""

    status, slug, title = 410, "gone", "Gone"


class Misdirected(LociError):
    """The request names a host that this service does not answer to."""

    status, slug, title = 421, "misdirected-request", "Misdirected request"


@dataclass
class RateLimited(LociError):
    """Too many requests for now; `retry_after` seconds from now they are fewer."""

    retry_after: int = 1
    status, slug, title = 429, "rate-limited", "Too many requests"


class TooManyAtOnce(RateLimited):
    """More at once than the share of the key, the namespace or the address; fewer are taken."""

    slug, title = "too-many-at-once", "Too many at once"


class MethodNotAllowed(LociError):
    """The path is there, the method is not; the header Allow names those that are."""

    status, slug, title = 405, "method-not-allowed", "Method not allowed"


class HeadersTooLarge(LociError):
    """The headers are larger than the service takes."""

    status, slug, title = 431, "headers-too-large", "Request headers too large"


class TooSlow(LociError):
    """The request came more slowly than the service waits for."""

    status, slug, title = 408, "too-slow", "Request too slow"


class TooLarge(LociError):
    """The body is larger than the service takes, or its texts have too many words."""

    status, slug, title = 413, "too-large", "Request too large"


class Unsupported(LociError):
    """The body is not of a media type that this path takes."""

    status, slug, title = 415, "unsupported-media-type", "Unsupported media type"


class Invalid(LociError):
    """A field has a wrong type, form or value."""

    status, slug, title = 422, "invalid-request", "Invalid request"


class Unavailable(LociError):
    """The database cannot be reached or is busy; the same request may succeed in a moment."""

    status, slug, title = 503, "unavailable", "Temporarily unavailable"


@dataclass
class Moved(Unavailable):
    """The namespace is in another cell, or on its way there; `cell` is its number."""

    cell: str = ""
    slug, title = "in-another-cell", "In another cell"


@dataclass
class DeadlineExceeded(LociError):
    """The request took longer than requests of its kind may; what it had begun was taken back, unless it was being committed."""

    detail: str = "the request took longer than it may; nothing was written, unless it was being committed"
    hint: str | None = "Ask for less at a time, or have the operator raise the deadline (LOCI_DEADLINES__…)."
    status, slug, title = 504, "deadline-exceeded", "Deadline exceeded"


LARGE_OBJECT = "must be a JSON object of at most 1 MiB"
# Demands of constraints that say more than their field's name.
EXPECTED = {
    "memories_valid_check": ("valid_to", "must not be before valid_from"),
    "memories_valid_finite_check": ("valid_from", "must be a finite time"),
    "memory_placements_parent_fkey": ("parent_id", "must be the id of a memory in this namespace"),
    "memory_placements_parent_check": ("parent_id", "must not be the memory itself"),
    "memory_placements_cycle": ("parent_id", "must not be the memory itself or stand under it"),
    "memories_content_check": ("content", "must be 1 byte to 1 MiB of text"),
    "memories_metadata_check": ("metadata", LARGE_OBJECT),
    "entities_metadata_check": ("metadata", LARGE_OBJECT),
    "edges_metadata_check": ("metadata", LARGE_OBJECT),
    "conversation_turns_metadata_check": ("metadata", LARGE_OBJECT),
    "memories_category_check": ("category", "must be a path such as work/projects, without empty or blank segments"),
    "memory_links_self_check": ("target_id", "must be another memory"),
    "memory_mentions_memory_fkey": ("memory_id", "must be the id of a memory in this namespace"),
    "edge_observations_memory_fkey": ("memory_id", "must be the id of a memory in this namespace"),
    "edges_target_check": ("target", "exactly one of target and literal is needed"),
    "edges_valid_check": ("valid_to", "must not be before valid_from"),
    "attributes_valid_check": ("valid_to", "must not be before valid_from"),
    "namespaces_name_check": ("name", "must match [a-z0-9][a-z0-9._-]{0,63}"),
    "namespaces_name_key": ("name", "is taken"),
    "grants_role_check": ("role", "must be reader, writer or admin"),
    "api_keys_space_check": ("space", "must be one or two segments such as session or session/abc, and not begin with agent"),
    "memories_overlap": ("valid_from", "another version of this lineage is valid then"),
    "memories_fold": ("id", "another memory says exactly the same and is current"),
    "memories_open_lineage": ("id", "another version of this lineage is current"),
    "entities_canonical_name_key": ("name", "another entity has this name"),
}
STATUS_BY_STATE = {
    "28000": Unauthorized,
    "42501": Forbidden,
    "P0002": NotFound,
    "23505": Conflict,
    "23P01": Conflict,
    "53400": LimitReached,
    "24000": Gone,
}
INVALID = re.compile(r"22...|23502|23503|23514|23000|54000")
LATE = {"57014", "25P04"}
UNAVAILABLE = re.compile(r"08...|53(?!400)...|57P0.|40001|40P01|25006|25P03|55P03")
RETRYABLE = (pg.SerializationFailure, pg.DeadlockDetected)
CLIENT_ERRORS = range(400, 500)
NOT_THE_ROWS = {401, 403}
# Foreign keys that a request breaks only when what it had found a moment before was erased meanwhile.
VANISHED = {
    "edges_source_fkey",
    "edges_target_fkey",
    "memory_mentions_entity_fkey",
    "entity_sessions_entity_fkey",
    "edge_observations_edge_fkey",
}
MOVED = "LOCI1"  # refuse_moved_namespace
# A namespace that was there when the request began is not any more: deleted, or moved to another cell.
OF_NAMESPACE = "_namespace_id_fkey"


def is_retryable(error: psycopg.Error) -> bool:
    """Whether the same work may succeed if it is done again from the start."""
    broken = error.diag.constraint_name or ""
    return isinstance(error, RETRYABLE) or broken in VANISHED or broken.endswith(OF_NAMESPACE)


def translate_error(error: psycopg.Error | PoolTimeout | PoolClosed) -> LociError | None:
    """Give the LociError that a database error means, or None for one that is a bug here."""
    if isinstance(error, (PoolTimeout, PoolClosed)):
        return Unavailable("no connection to the database was free in time", hint="Try again in a moment.")
    if error.sqlstate is None:
        return _from_client(error)
    if error.sqlstate == MOVED:
        detail = error.diag.message_primary or "the namespace is in another cell"
        return Moved(detail, hint="Ask that cell, or try again in a moment.", cell=error.diag.message_detail or "")
    if error.sqlstate in LATE:
        return DeadlineExceeded()
    if UNAVAILABLE.fullmatch(error.sqlstate):
        return Unavailable("the database is busy or restarting; nothing was written", hint="Try again in a moment.")
    kind = STATUS_BY_STATE.get(error.sqlstate) or (Invalid if INVALID.fullmatch(error.sqlstate) else None)
    return kind and _explain_constraint(kind, error)


def refused_rows(error: psycopg.Error) -> LociError | None:
    """Give the LociError of a statement that the database refused because of the rows that it carries; None for any other."""
    known = translate_error(error)
    if known is None or known.status not in CLIENT_ERRORS or known.status in NOT_THE_ROWS or isinstance(error, RETRYABLE):
        return None
    return None if any(e.field in {"namespace", "X-Namespace"} for e in known.errors) else known


def _from_client(error: psycopg.Error) -> LociError | None:
    """The meaning of an error that the server did not send: a lost connection, or a value that cannot be sent."""
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return Unavailable(
            "the connection to the database was lost; nothing was written, unless it was being committed",
            hint="Try again in a moment.",
        )
    return Invalid(str(error)) if isinstance(error, psycopg.DataError) else None


def _explain_constraint(kind: type[LociError], error: psycopg.Error) -> LociError:
    """An error of this kind that names the field and says what was expected of it."""
    diag = error.diag
    known = EXPECTED.get(diag.constraint_name or "")
    if known is not None:
        return kind(_in_words(*known), [FieldError(*known)], diag.message_hint)
    message = diag.message_primary or str(error)
    name = diag.column_name or _field_of(diag.constraint_name)
    return kind(message, [FieldError(name, message)] if name else [], diag.message_hint)


def _in_words(field: str, expected: str) -> str:
    """A sentence of a field and what was expected: its own subject, or the field before a colon where that has one."""
    return f"{field} {expected}" if expected.startswith(("must ", "is ")) else f"{field}: {expected}"


def _field_of(constraint: str | None) -> str | None:
    """The field in a constraint name such as memories_importance_check."""
    match = re.fullmatch(r"[a-z]+(?:_links|_types|_mentions)?_(?P<field>[a-z_]+)_check", constraint or "")
    return match["field"] if match else None
