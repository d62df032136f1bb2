"""Sessions of browsers: a key is sent once, and from then on a cookie that no script can read stands for it.

No part of the OpenAPI document: programs send their key.
"""

import math
import secrets
from datetime import UTC, datetime

from fastapi import Request
from fastapi.responses import Response

from db.access import browser_sessions
from db.errors import Unauthorized
from service.http.caller import KEY_NEEDED, CallerDependency
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.session_cookie import PATH, hash_token, set_cookie
from service.state import State

router = Router(include_in_schema=False)


@router.post(PATH)
async def create_session(caller: CallerDependency) -> Response:
    """Exchange the key of the Authorization header for a session. It may do what the key may, and ends with it."""
    state, token = caller.state, secrets.token_urlsafe(32)
    if caller.key_hash is None:
        raise Unauthorized(KEY_NEEDED, hint="Send the key that the session shall stand for as `Authorization: Bearer …`.")
    async with state.pool.lend_connection(caller.owner, None) as connection:
        ends = await browser_sessions.create_browser_session(
            connection, key_hash=caller.key_hash, hash=hash_token(token), seconds=state.settings.session_seconds
        )
    seconds = max(1, math.floor((ends - datetime.now(UTC)).total_seconds()))
    cookie = set_cookie(token, seconds=seconds, secure=caller.request.url.scheme == "https")
    return reply_json({"expires_at": ends}, 201, **{"Set-Cookie": cookie})


@router.delete(PATH, status_code=204)
async def delete_session(request: Request) -> Response:
    """End the session of the cookie, and take the cookie back. Where there is none, there is nothing to do."""
    state: State = request.app.state.loci
    if (session := getattr(request.state, "session", None)) is not None:
        async with state.pool.lend_connection(session, None) as connection:
            await browser_sessions.delete_browser_session(connection, hash=session)
    return Response(status_code=204, headers={"Set-Cookie": set_cookie("", seconds=0, secure=request.url.scheme == "https")})
