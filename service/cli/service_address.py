"""The service that commands speak to: the one at LOCI_URL, with LOCI_KEY, one that runs here, or the configured database."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from service.cli.owner_socket import folder_of

API = "/api/v1"
DATA_FOLDER = ".loci"  # where LOCI_DATA_DIR says nothing
FILE = ".env"  # in the working directory, as for the settings of the service
NAMES = {
    "LOCI_URL": "Address of the service that commands ask; none: the one that runs on the database here, else they open that",
    "LOCI_KEY": "API key that commands act with; none: the operator, where the service asks for no key",
    "LOCI_NAMESPACE": "Namespace that commands act in; none: that of the key, else default",
    "LOCI_PROFILE": "Whose tools `loci mcp` has; none: Loci's own",
    "LOCI_SPACE": "Own space in working memory",
    "LOCI_USER": "The user for whom `loci mcp` speaks and asks; none: the one of the key, else nobody in particular",
}


@dataclass(frozen=True)
class Target:
    """The service that is asked (None: the database here), and who asks, in which namespace."""

    url: str | None = None
    key: str | None = field(default=None, repr=False)
    namespace: str | None = None


def read_target() -> Target:
    """Settings of the environment, or of the file .env."""
    return Target(*(find_stated_value(name) for name in ("LOCI_URL", "LOCI_KEY", "LOCI_NAMESPACE")))


def service_folder() -> Path:
    """Where services on the database that is configured here leave their sockets."""
    return folder_of(
        Path(find_stated_value("LOCI_DATA_DIR") or DATA_FOLDER), find_stated_value("LOCI_DATABASE_URL", "DATABASE_URL")
    )


def find_stated_value(*names: str) -> str | None:
    """The first of these variables that is set, in the environment or else in the file; None where it is empty.

    Raises BadParameter: it is not UTF-8.
    """
    places = ((name, place) for place in (os.environ, from_file()) for name in names if name in place)
    name, value = next(((name, place[name] or None) for name, place in places), ("", None))
    if value is not None and (shown := as_bytes_shown(value)) is not None:
        from typer import BadParameter

        raise BadParameter(f"'{shown}' is not UTF-8 text", param_hint=name)
    return value


def as_bytes_shown(text: str) -> str | None:
    r"""A text that holds bytes of another encoding, with these as \xe9; None: it holds none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("utf-8", "backslashreplace")
    return None


def from_file() -> Mapping[str, str]:
    """The variables of the file."""
    if not Path(FILE).is_file():
        return {}
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(FILE).items() if value is not None}


def base_url(url: str) -> str:
    """An address without the path of the API, which people may have copied with it."""
    return url.rstrip("/").removesuffix("/mcp").removesuffix(API)


def uses_certificates(url: str) -> bool:
    """Whether certificates will be asked for: reading those of all authorities takes 20 ms, and no redirect is followed."""
    return url.lower().startswith("https:")
