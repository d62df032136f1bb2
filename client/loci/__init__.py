"""A client of Loci: `LociClient`, and `AsyncLociClient` for asynchronous programs; models of requests and replies beside them.

A name is loaded when it is first asked for, so that a program which needs the models alone loads no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from loci.version import __version__

if TYPE_CHECKING:
    from loci.client import AsyncLociClient, LociClient
    from loci.errors import (
        Conflict,
        Forbidden,
        Gone,
        Invalid,
        LociError,
        NotFound,
        RateLimited,
        TimedOut,
        TooLarge,
        Unauthorized,
        Unavailable,
    )
    from loci.models import *
    from loci.pages import AsyncPages, Pages
    from loci.requests import OMITTED, Page
else:

    def __getattr__(name: str) -> object:
        """A name of this package, from the module that has it."""
        if name in __all__:
            for module in ("loci.requests", "loci.pages", "loci.errors", "loci.client"):
                if hasattr(found := import_module(module), name):
                    return getattr(found, name)
        elif not name.startswith("_") and hasattr(models := import_module("loci.models"), name):
            return getattr(models, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "OMITTED",
    "AsyncLociClient",
    "AsyncPages",
    "Conflict",
    "Forbidden",
    "Gone",
    "Invalid",
    "LociClient",
    "LociError",
    "NotFound",
    "Page",
    "Pages",
    "RateLimited",
    "TimedOut",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "__version__",
]


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(import_module("loci.models"))})
