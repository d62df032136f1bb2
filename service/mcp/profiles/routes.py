"""Routes behind the tools of profiles: /profiles/<profile>/<tool> takes a tool's arguments and replies its data.

They are no part of the REST interface, as /mcp is none: their names and shapes are those of other servers.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import Response

from service.http.caller import CallerDependency
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.mcp.profiles import claude_memory, reference_memory
from service.mcp.profiles.profile import OwnTool

router = Router(prefix="/profiles", include_in_schema=False)


def _make_route(own: OwnTool) -> Callable[..., Awaitable[Response]]:
    arguments: Any = own.tool.arguments

    async def answer_read(body: arguments, caller: CallerDependency) -> Response:
        return reply_json(await caller.read(lambda tx: own.work(tx, body)))

    async def answer_write(body: arguments, caller: CallerDependency) -> Response:
        return await caller.write(lambda tx: own.work(tx, body))

    return answer_write if own.writes else answer_read


for profile, tools in ((reference_memory.NAME, reference_memory.OWN), (claude_memory.NAME, claude_memory.OWN)):
    for each in tools:
        router.add_api_route(f"/{profile}/{each.tool.name}", _make_route(each), methods=["POST"], name=each.tool.name)
