"""A client of Loci: `LociClient`, and `AsyncLociClient` for asynchronous programs."""

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
from loci.pages import AsyncPages, Pages
from loci.requests import OMITTED, Page

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
]
