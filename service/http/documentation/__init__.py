"""`/docs`: the OpenAPI document as a page.

All that it loads comes from here, so it works without internet, and nobody else's script runs with this origin. Swagger UI is a
pinned copy of swagger-ui-dist (Apache-2.0, see LICENSE-swagger-ui).
"""

import gzip
from functools import cache
from importlib.resources import files
from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import Response

from db.errors import NotFound
from service.http.large_bodies import Router
from service.http.security_headers import FOREVER, PAGE_POLICY

VERSION = "5.35.0"  # of swagger-ui-dist
DIGESTS = {  # SHA-256 of its files
    "swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
    "swagger-ui.css": "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
}
ASSETS = {  # path, file, media type
    f"swagger-ui-bundle-{VERSION}.js": ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    f"swagger-ui-{VERSION}.css": ("swagger-ui.css", "text/css; charset=utf-8"),
}

router = Router(include_in_schema=False)


@cache
def _read_asset(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()


@router.get("/docs")
async def documentation() -> Response:
    """The page."""
    return Response(_read_asset("page.html"), 200, {"Content-Security-Policy": PAGE_POLICY}, media_type="text/html; charset=utf-8")


@router.get("/openapi.json")
async def openapi_json(request: Request) -> Response:
    """The document itself."""
    return Response(await request.app.state.document.read_document(), media_type="application/json")


@router.get("/docs/start.js")
async def documentation_start() -> Response:
    """Beginning of the script that shows it."""
    return Response(_read_asset("start.js"), media_type="text/javascript; charset=utf-8")


@router.get("/docs/{name}")
async def documentation_asset(name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """A file of Swagger UI, compressed for who takes that."""
    if name not in ASSETS:
        raise NotFound(f"no such path: /docs/{name}")
    file, media_type = ASSETS[name]
    body, headers = _read_asset(f"{file}.gz"), {"Cache-Control": FOREVER.decode(), "Vary": "Accept-Encoding"}
    if "gzip" in accept_encoding.lower():
        headers["Content-Encoding"] = "gzip"
    else:
        body = gzip.decompress(body)
    return Response(body, 200, headers, media_type=media_type)
