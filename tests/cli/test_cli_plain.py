"""Values that commands take as they stand: the same ones as typer takes, and no others."""

from typing import Annotated, Any

import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from service.cli.framework import App

TEXTS = st.one_of(st.integers().map(str), st.sampled_from(["", "+1", " 1", "1_0", "1.0", "٣", "²", "007", "-0", "true", "9" * 30]))
BOUNDS = st.sampled_from([(None, None), (1, 100), (0, None), (None, 5)])


def taken(program: typer.Typer, kind: Any, told: str) -> tuple[int, list[Any]]:
    """How a command with one argument of this kind ends, and what it was given."""
    found: list[Any] = []

    def command(value: Any) -> None:
        found.append(value)

    command.__annotations__ = {"value": kind, "return": None}
    for name in ("one", "other"):
        program.command(name)(command)
    return CliRunner().invoke(program, ["one", "--", told]).exit_code, found


@given(told=TEXTS, bounds=BOUNDS)
def test_numbers_are_taken_as_typer_takes_them(told: str, bounds: tuple[int | None, int | None]) -> None:
    low, high = bounds
    kind = Annotated[int, typer.Argument(min=low, max=high)]
    assert taken(App(), kind, told) == taken(typer.Typer(), kind, told)


@given(told=TEXTS)
def test_texts_are_taken_as_typer_takes_them(told: str) -> None:
    kind = Annotated[str, typer.Argument()]
    assert taken(App(), kind, told) == taken(typer.Typer(), kind, told)


def test_a_text_with_a_parser_of_its_own_is_parsed() -> None:
    assert taken(App(), Annotated[int, typer.Argument(parser=len)], "seven") == (0, [5])
