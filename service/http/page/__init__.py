"""The page: what an agent remembers, why, and since when. Built from web/ by `make page`; nothing here is written by hand.

One document for all views, and files whose names say what is in them. All addresses in it are relative, so it works under
whatever prefix a proxy puts in front.
"""

import re
from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import Header
from fastapi.responses import PlainTextResponse, Response

from db.errors import NotFound
from service.http.large_bodies import Router
from service.http.security_headers import FOREVER, VIEW_POLICY

BUILT = Path(__file__).parent / "built"
VIEWS = frozenset({"/", "/ask", "/memory", "/constellation", "/map", "/tree", "/desk", "/changes"})
NOT_BUILT = (
    "The page is not built here. In a checkout, run `make page` and start the service again; otherwise install a wheel that was "
    "built where Node can be had. The API is documented at /docs.\n"
)
FILE = re.compile(r"[\w.-]+-[\w-]{8}\.(js|css)")
TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
ASKED = ["GET", "HEAD"]  # what the page is asked for with; to HEAD the server sends no body
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))

router = Router(include_in_schema=False)


@cache
def _read_page_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def is_built() -> bool:
    """Whether there is a page."""
    return (BUILT / "index.html").is_file()


async def view() -> Response:
    """The document of every view; which one it shows is said by its address, which only the browser reads."""
    document = _read_page_file(BUILT / "index.html")
    if document is None:
        return PlainTextResponse(NOT_BUILT, 404)
    return Response(document, 200, {"Content-Security-Policy": VIEW_POLICY}, media_type="text/html; charset=utf-8")


for path in sorted(VIEWS):
    router.api_route(path, methods=ASKED, name="page")(view)


@router.api_route("/assets/{name}", methods=ASKED)
async def asset(name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """A file of the page, compressed for who takes that. Its name changes with its content, so it may be kept for good."""
    known = FILE.fullmatch(name)
    body = _read_page_file(BUILT / "assets" / name) if known else None
    if known is None or body is None:
        raise NotFound(f"no such path: /assets/{name}")
    headers = {"Cache-Control": FOREVER.decode(), "Vary": "Accept-Encoding"}
    taken = {part.partition(";")[0].strip().lower() for part in accept_encoding.split(",") if not part.strip().endswith("q=0")}
    for encoding, suffix in ENCODINGS:
        if encoding in taken and (packed := _read_page_file(BUILT / "assets" / f"{name}{suffix}")) is not None:
            return Response(packed, 200, {**headers, "Content-Encoding": encoding}, media_type=TYPES[known[1]])
    return Response(body, 200, headers, media_type=TYPES[known[1]])
