"""`loci config`: what is configured, where each value comes from, and names that nobody reads."""

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import AliasChoices, BaseModel

from service.cli.service_address import FILE, NAMES, from_file
from service.settings import Settings

PREFIX = "LOCI_"
OTHERS = ("LOCI_TEST_", "LOCI_WRITE_")  # of tests and generated documents
SECRET = re.compile(r"KEY$|PASSWORD$")
IN_URL = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")
HIDDEN = "********"
DEFAULT, ENVIRONMENT = "default", "environment"


def in_force(settings: Settings) -> list[dict[str, Any]]:
    """Each variable with its value and where that comes from."""
    rows = [_make_row([name], None) for name in NAMES]
    return rows + [_make_row(names, value) for names, value in _list_fields(settings, PREFIX)]


def list_unknown_variables() -> list[dict[str, Any]]:
    """Variables that begin as ours and that nobody reads, with the nearest that is."""
    known = known_names()
    given = [(name, ENVIRONMENT) for name in os.environ] + [(name, FILE) for name in from_file()]
    found = [
        (name, source)
        for name, source in given
        if name.upper().startswith(PREFIX) and name.upper() not in known and not name.upper().startswith(OTHERS)
    ]
    return [
        {"name": name, "source": source, "nearest": next(iter(get_close_matches(name.upper(), sorted(known), 1)), None)}
        for name, source in found
    ]


def known_names() -> set[str]:
    """All variables that are read."""
    groups = {PREFIX + name.upper() for name, field in Settings.model_fields.items() if isinstance(field.default, BaseModel)}
    return {*NAMES, *groups, *(name for names, _ in _list_fields(Settings.model_construct(), PREFIX) for name in names)}


def _list_fields(model: BaseModel, prefix: str) -> Iterator[tuple[list[str], Any]]:
    """The variables of a field, that which counts first, and its value."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _list_fields(value, f"{prefix}{name.upper()}__")
        elif isinstance(field.validation_alias, AliasChoices):
            yield [str(choice) for choice in field.validation_alias.choices], value
        else:
            yield [prefix + name.upper()], value


def _make_row(names: list[str], value: Any) -> dict[str, Any]:
    """A variable: under the name that was used, with a value that may be seen."""
    places = [({name.upper(): text for name, text in os.environ.items()}, ENVIRONMENT)]
    places.append(({name.upper(): text for name, text in from_file().items()}, FILE))
    used = next(((name, place[name], source) for place, source in places for name in names if name in place), None)
    group = names[0].rpartition("__")[0]
    if used is None and group and any(group in place for place, _ in places):  # a group may be given whole, as JSON
        used = (names[0], "", next(source for place, source in places if group in place))
    name, text, source = used or (names[-1], None, DEFAULT)
    return {"name": name, "value": _mask_secret(name, text if value is None and name in NAMES else value), "source": source}


def _mask_secret(name: str, value: Any) -> Any:
    if value in (None, "", []):
        return None
    if SECRET.search(name):
        return HIDDEN
    if isinstance(value, str):
        return IN_URL.sub(rf"\1:{HIDDEN}@", value)
    return value if isinstance(value, (bool, int, float, list)) else str(value)
