"""What all commands share: errors as one line and an exit code, suggestions, options that mean the same everywhere."""

import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from service.cli.output import echo

SHOWN = 100
RUNNING: ContextVar[str] = ContextVar("running", default="unknown")  # the words of the command, such as `namespace set`


@dataclass(frozen=True)
class Defaults:
    """Options given before the command."""

    as_json: bool = False


class Failure(Exception):
    """A command cannot go on; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Commands(TyperGroup):
    """A group whose commands end with one line for what users can mend: exit code 1, or 2 for wrong usage."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and say what was meant by an unknown option."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            suggest(error)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and remember what it is called."""
        found = super().resolve_command(ctx, args)
        RUNNING.set(" ".join([*ctx.command_path.split()[1:], found[0] or ""]).strip() or "unknown")
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            suggest(error)
            known = explain(error)
            if known is None:
                raise
            complain(*known)
            raise typer.Exit(1) from None


def quiet_libraries() -> None:
    """Keep what libraries log about failures that are reported here anyway off the terminal."""
    import logging

    for name in ("psycopg", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)


def suggest(error: Exception) -> None:
    """Word the near misses of an unknown option as a question."""
    near = getattr(error, "possibilities", None)
    if near:
        error.message = f"{getattr(error, 'message', error)}. Did you mean {' or '.join(sorted(near))}?"  # type: ignore[attr-defined]
        error.possibilities = None  # type: ignore[attr-defined]


def complain(message: str, hint: str | None = None) -> None:
    """Print an error on stderr."""
    echo(f"error: {message}", err=True)
    if hint:
        echo(f"hint: {hint}", err=True)


def complain_of_lines(wrong: Sequence[tuple[int, str]]) -> None:
    """Print what is wrong with the lines of a file on stderr, the first hundred."""
    for line, reason in wrong[:SHOWN]:
        echo(f"line {line}: {reason}", err=True)
    if len(wrong) > SHOWN:
        echo(f"… and {len(wrong) - SHOWN:,} more", err=True)


def explain(error: Exception) -> tuple[str, str | None] | None:
    """Message and hint of an error that a user can act on; None for one that is a bug here."""
    if isinstance(error, Failure):
        return str(error), error.hint
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or error}{where}", None
    return _explain_service(error) or _explain_database(error)


def _explain_service(error: Exception) -> tuple[str, str | None] | None:
    from pydantic import ValidationError

    from db.errors import LociError

    if isinstance(error, LociError):
        return error.detail, error.hint
    if isinstance(error, ValidationError):
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or error.title}: {e['msg']}" for e in error.errors()[:3])
        return f"wrong settings: {wrong}" if error.title == "Settings" else wrong, None
    application = sys.modules.get("service.app")
    if application is not None and isinstance(error, application.Refusal):
        return str(error), None
    embedding = sys.modules.get("service.embedding.provider")
    if embedding is not None and isinstance(error, embedding.EmbeddingError):
        return str(error), None
    return None


def _explain_database(error: Exception) -> tuple[str, str | None] | None:
    import psycopg
    from psycopg_pool import PoolClosed, PoolTimeout

    from db.errors import translate

    error = getattr(error, "orig", None) or error  # SQLAlchemy wraps
    if not isinstance(error, (psycopg.Error, PoolTimeout, PoolClosed)):
        return None
    known = translate(error)
    if known is not None:
        return known.detail, known.hint
    return first_line(error), "`loci doctor` checks the database."


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or its name."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def parse_time(text: str) -> datetime:
    """A moment from a date or an RFC 3339 time; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a date or time such as 2024-05-01 or 2024-05-01T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def wants_json(context: typer.Context, here: bool) -> bool:
    """Whether --json was given, before the command or after it."""
    defaults = context.find_object(Defaults)
    return here or bool(defaults and defaults.as_json)


Namespace = Annotated[str, typer.Option("--namespace", "-n", envvar="LOCI_NAMESPACE", help="Namespace to act in.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
KnownAt = Annotated[
    datetime | None,
    typer.Option("--known-at", parser=parse_time, metavar="TIME", help="As it was believed at this moment instead of now."),
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=parse_time, metavar="TIME", help="Valid at this moment instead of now; UTC unless it says."),
]
