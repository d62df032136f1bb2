"""Common parts of all commands: errors as one line and an exit code, suggestions, options that mean the same everywhere."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from service.cli.output import echo, print_flagged_line, print_json, print_rows, set_utc
from service.cli.service_address import as_bytes_shown, base_url, find_stated_value

SHOWN_CHARACTERS = 100
DIGITS = 19  # of a number that is plainly one
PREFIX = "Value error, "  # which pydantic puts before what a check of ours, or of the parser, says
UNAUTHORIZED = 401
Command = TypeVar("Command", bound=Callable[..., None])
_JSON: ContextVar[bool] = ContextVar("json", default=False)
RUNNING: ContextVar[str] = ContextVar("running", default="unknown")  # the words of the command, such as `namespace set`


class Failure(Exception):
    """A command cannot go on; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Plain(RuntimeParam):
    """Takes texts and numbers that are plainly right as they are; for all else typer loads pydantic, half of a command's time."""

    about: TypeDescriptor

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        taken = None if self.parameter_info.parser else _convert_plain_value(value, self.annotation)
        low, high = self.parameter_info.min, self.parameter_info.max
        if taken is None or (isinstance(taken, int) and not ((low is None or low <= taken) and (high is None or taken <= high))):
            return build_runtime_param(self.about)._coerce_value(value, param=param, ctx=ctx)
        return taken


def _accept_plain_values(parameters: Sequence[Any]) -> Sequence[Any]:
    """Parameters of a command, which take what is plainly right so."""
    for each in parameters:
        if isinstance(each, (TyperArgument, TyperOption)):
            about = each.type_descriptor
            each._runtime_param = each._runtime_param or Plain(about.parameter_info, about.annotation, about)
    return parameters


def _convert_plain_value(value: object, kind: object) -> str | int | None:
    """A value that is of a kind as it stands; None: that is not plain."""
    if kind is str:
        return value if isinstance(value, str) else None
    if kind is int and not isinstance(value, bool):
        digits = isinstance(value, str) and len(value) < DIGITS and value.isascii() and value.isdigit()
        return value if isinstance(value, int) else int(str(value)) if digits else None
    return None


class Texts(TyperCommand):
    """A command whose arguments and options are text: bytes of another encoding are wrong usage, named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and refuse what is not UTF-8."""
        parameters = _accept_plain_values(self.get_params(ctx))
        rest = super().parse_args(ctx, args)
        for parameter in parameters:
            for text in _texts_of(ctx.params.get(parameter.name)):
                if (shown := as_bytes_shown(text)) is not None:
                    raise typer.BadParameter(f"'{shown}' is not UTF-8 text", ctx=ctx, param=parameter)
        return rest


class Commands(TyperGroup):
    """A group whose commands end with one line for what users can mend: exit code 1, or 2 for wrong usage."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and say in our words what is wrong."""
        _accept_plain_values(self.get_params(ctx))
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            reword_usage_error(error)
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
            reword_usage_error(error)
            known = explain_error(error)
            if known is None:
                raise
            print_error(*known)
            raise typer.Exit(1) from None


class App(typer.Typer):
    """A noun with its commands, or all of them. Each command has --json, but for those that print no data of their own."""

    def __init__(self, help: str | None = None, **options: Any) -> None:
        super().__init__(**{"cls": Commands, "no_args_is_help": True, "help": help, **options})

    def command(self, name: str | None = None, *, json: bool = True, **options: Any) -> Callable[[Command], Command]:
        """Register a command."""
        register = super().command(name, cls=Texts, **options)

        def register_command(function: Command) -> Command:
            register(_with_json(function) if json else function)
            return function

        return register_command


def _with_json(function: Callable[..., None]) -> Callable[..., None]:
    """A command that takes --json and --utc, too."""

    @wraps(function)
    def run_with_options(*arguments: Any, loci_as_json: bool, loci_in_utc: bool, **options: Any) -> None:
        if loci_as_json:
            set_json(True)
        if loci_in_utc:
            set_utc(True)
        function(*arguments, **options)

    known = signature(function, eval_str=True)
    options = {
        "loci_as_json": Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")],
        "loci_in_utc": Annotated[bool, typer.Option("--utc", help="Print times in UTC.")],
    }
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=option) for name, option in options.items()]
    vars(run_with_options)["__signature__"] = known.replace(parameters=[*known.parameters.values(), *added])
    vars(run_with_options)["__annotations__"] = {**{n: p.annotation for n, p in known.parameters.items()}, **options}
    return run_with_options


def _texts_of(value: object) -> Iterator[str]:
    """The texts that a parameter holds."""
    if isinstance(value, (str, Path)):
        yield str(value)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts_of(part)


def read_stdin(*, line: bool = False) -> str:
    """Standard input, or its first line, as text. Raises BadParameter where it is not UTF-8."""
    stream = typer.get_binary_stream("stdin")
    given = stream.readline() if line else stream.read()
    try:
        return given.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start + 1} is 0x{given[error.start]:02x}, which is not UTF-8 text"
        raise typer.BadParameter(wrong, param_hint="standard input") from None


def quiet_libraries() -> None:
    """Keep what libraries log about failures that are reported here anyway off the terminal."""
    import logging

    for name in ("psycopg", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)


def reword_usage_error(error: Exception) -> None:
    """Word wrong usage for people: near misses of an unknown option as a question, and nothing of a library's."""
    said = getattr(error, "message", None)
    if isinstance(said, str) and said.startswith(PREFIX):
        error.message = said.removeprefix(PREFIX)  # type: ignore[attr-defined]
    near = getattr(error, "possibilities", None)
    if near:
        error.message = f"{getattr(error, 'message', error)}. Did you mean {' or '.join(sorted(near))}?"  # type: ignore[attr-defined]
        error.possibilities = None  # type: ignore[attr-defined]


def print_error(message: str, hint: str | None = None) -> None:
    """Print an error on stderr."""
    print_flagged_line("error:", message, "red")
    if hint:
        print_flagged_line("hint:", hint, "cyan")


def complain_of_lines(wrong: Sequence[tuple[int, str]], count: int | None = None) -> None:
    """Print what is wrong with the lines of a file on stderr, the first hundred. `count`: how many are wrong, if that is more."""
    for line, reason in wrong[:SHOWN_CHARACTERS]:
        echo(f"line {line}: {reason}", err=True)
    if (more := (count or len(wrong)) - SHOWN_CHARACTERS) > 0:
        echo(f"… and {more:,} more", err=True)


def explain_error(error: Exception) -> tuple[str, str | None] | None:
    """Message and hint of an error that a user can act on; None for one that is a bug here."""
    if isinstance(error, Failure):
        return str(error), error.hint
    if "loci.errors" in sys.modules:  # what was never loaded was not raised: a command that fails loads nothing for it
        from loci.errors import LociError, Unavailable

        if isinstance(error, LociError):
            asked = find_stated_value("LOCI_URL")
            if isinstance(error, Unavailable) and error.status is None and asked:
                return f"no service answers at {base_url(asked)}: {error.detail}", "Check LOCI_URL, and that the service runs."
            return _word_service_error(error)
    if isinstance(error, BrokenPipeError):  # whoever read has left, such as `head`: nobody is told
        return None
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or error}{where}", None
    return _explain_service(error) or _explain_database(error)


def _word_service_error(error: Any) -> tuple[str, str | None]:
    """The service's own error."""
    wrong = [each for each in error.errors if each.message not in error.detail]
    said = "; ".join([error.detail, *(f"{each.field}: {each.message}" for each in wrong)])
    return said, "Set LOCI_KEY to a valid key." if error.status == UNAUTHORIZED else error.hint


def _explain_service(error: Exception) -> tuple[str, str | None] | None:
    if "pydantic" in sys.modules:
        from pydantic import ValidationError

        if isinstance(error, ValidationError):
            from service.text.validation_messages import reword_validation

            found = [(".".join(map(str, e["loc"])) or error.title, reword_validation(e["msg"])) for e in error.errors()[:3]]
            wrong = "; ".join(f"{place}: {said}" for place, said in found)
            return f"wrong settings: {wrong}" if error.title == "Settings" else wrong, None
    if "db.errors" in sys.modules:
        from db.errors import LociError

        if isinstance(error, LociError):
            return error.detail, error.hint
    application = sys.modules.get("service.app")
    if application is not None and isinstance(error, application.Refusal):
        return str(error), None
    embedding = sys.modules.get("service.embedding.provider")
    if embedding is not None and isinstance(error, embedding.EmbeddingError):
        return str(error), None
    return None


def _explain_database(error: Exception) -> tuple[str, str | None] | None:
    if "psycopg_pool" not in sys.modules:
        return None
    import psycopg
    from psycopg_pool import PoolClosed, PoolTimeout

    from db.errors import translate_error

    error = getattr(error, "orig", None) or error  # SQLAlchemy wraps
    if not isinstance(error, (psycopg.Error, PoolTimeout, PoolClosed)):
        return None
    known = translate_error(error)
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


def wants_json() -> bool:
    """Whether --json was given, before the command or after it."""
    return _JSON.get()


def set_json(wanted: bool) -> None:
    """Note whether --json was given before the command."""
    _JSON.set(wanted)


def tell_result(value: Any, otherwise: Callable[[], None]) -> None:
    """Print what a command found or did: as JSON where that was asked for, else for people."""
    if wants_json():
        print_json(value)
    else:
        otherwise()


def tell_rows(rows: Sequence[Mapping[str, Any]], *columns: str, fold: str | None = None) -> None:
    """Print a list: as JSON, or these columns of it."""
    tell_result(rows, lambda: print_rows(columns, rows, fold=fold))


def message_printer(text: str) -> Callable[[], None]:
    """A line on stderr for people: what was done, where there is nothing to read."""
    return lambda: echo(text, err=True)


def confirm_or_exit(question: str, *, yes: bool) -> None:
    """Ask before what cannot be undone, unless told not to. Ends the command where the answer is no."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def settings_of(assignments: Sequence[str]) -> dict[str, Any]:
    """Values from KEY=VALUE: VALUE is JSON, else a word; empty means null."""
    import orjson

    found: dict[str, Any] = {}
    for assignment in assignments:
        key, given, value = assignment.partition("=")
        if not given or not key:
            raise typer.BadParameter(f"{assignment!r} is not KEY=VALUE")
        try:
            found[key] = orjson.loads(value) if value else None
        except orjson.JSONDecodeError:
            found[key] = value
    return found


Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="Namespace; default: LOCI_NAMESPACE, that of the key, or default."),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many at most.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Session = Annotated[str | None, typer.Option("--session", "-s", metavar="ID", help="The conversation.")]
KnownAt = Annotated[
    datetime | None,
    typer.Option("--known-at", parser=parse_time, metavar="TIME", help="As it was believed at this moment instead of now."),
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=parse_time, metavar="TIME", help="Valid at this moment instead of now; UTC unless it says."),
]
