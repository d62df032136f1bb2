"""The MCP server: lists the tools, and answers a call with the REST reply to it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import httpx
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from mcp_types import Tool as Listed
from pydantic import ValidationError

from db import traces
from loci.version import __version__
from service.mcp.problems import explain_plainly_to_profiles, explain_problem, wrong_arguments
from service.mcp.profiles.profile import Profile
from service.mcp.result_texts import JsonObject, cut_strings, fit_into_room
from service.mcp.tool import Kind, Tool, schema_of
from service.mcp.tools.catalogue import LOCI
from service.observability.tracing import context_of, trace_headers
from service.text.hidden_characters import visible_values

USER = "x-user"
FORWARDED = ("authorization", "x-namespace", "x-space", "x-request-id")
AN_HOUR = 3_600_000
JSON = "application/json"
Context = ServerRequestContext[Any, Any]
Reach = Callable[[], Awaitable[httpx.AsyncClient]]
HINTS: dict[Kind, ToolAnnotations] = {
    "reads": ToolAnnotations(read_only_hint=True, open_world_hint=False),
    "looks": ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
    "adds": ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False),
    "changes": ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
    "replaces": ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False),
    "deletes": ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False),
}


class Speaker(NamedTuple):
    """The session that a connection states, and the user for whom it speaks; none: empty."""

    session: str | None
    user: str


class Unreachable(Exception):
    """There is no service to ask; the message says why and what to do."""


def make_server(
    reach: Reach,
    headers: Mapping[str, str] | None = None,
    listing: Callable[[], object] = lambda: None,
    profile: Profile = LOCI,
    max_chars: int = 16_000,
) -> Server[Any]:
    """An MCP server over the REST interface that `reach` gives a client of.

    The headers of each request over HTTP say who calls, or `headers` where there are none. `listing` is called when
    the tools are asked for: they will be used soon. `max_chars`: of a reply, where the call does not say how many.
    """
    listed = listed_tools(profile)
    schemas = {tool.name: tool.input_schema for tool in listed}
    watched = _Watched(profile)

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        listing()
        return ListToolsResult(tools=listed)

    async def use_tool(context: Context, tool: Tool, arguments: JsonObject) -> CallToolResult:
        sent, encoding = (headers or {}, "utf-8") if context.request is None else (context.request.headers, "latin-1")
        user = sent.get(USER, "").encode(encoding).decode(errors="replace").strip()
        # As bytes: any letters are taken.
        forwarded = {name.encode(): sent[name].encode(encoding) for name in FORWARDED if name in sent}
        with traces.span(f"tools/call {tool.name}", {"gen_ai.tool.name": tool.name}, parent=context_of(sent)):
            forwarded |= {name.encode(): value.encode() for name, value in trace_headers().items()}
            speaker = Speaker(_session_of_space(sent.get("x-space")), user)
            return await _call_tool(tool, arguments, reach, forwarded, speaker, max_chars)

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = profile.tools.get(params.name) or profile.others.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"no tool {params.name!r}; the tools are {', '.join(profile.tools)}")
        result = await use_tool(context, tool, params.arguments or {})
        if not result.is_error:
            await watched.tell_subscribers(context, tool)
        return result

    return Server(
        profile.server,
        title=profile.title,
        version=__version__,
        instructions=profile.instructions,
        cache_hints={"tools/list": CacheHint(AN_HOUR, "public")},
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **({} if profile.resource is None else watched.make_handlers(use_tool)),
    )


class _Watched:
    """The resource of a profile, and whether the client of a connection wants to hear of changes."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._subscribed = False

    def make_handlers(self, use: Callable[[Context, Tool, JsonObject], Awaitable[CallToolResult]]) -> dict[str, Any]:
        resource = self._profile.resource
        assert resource is not None  # noqa: S101

        async def list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
            about = {"name": resource.name, "title": resource.title, "description": resource.description}
            return ListResourcesResult(resources=[Resource(uri=resource.uri, mime_type=JSON, **about)])

        async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
            self._check_uri(str(params.uri))
            result = await use(context, self._profile.tools[resource.reads], {})
            text = "".join(part.text for part in result.content if isinstance(part, TextContent))
            if result.is_error:
                raise MCPError(INTERNAL_ERROR, text)
            return ReadResourceResult(contents=[TextResourceContents(uri=resource.uri, mime_type=JSON, text=text)])

        async def subscribe_client(context: Context, params: SubscribeRequestParams) -> EmptyResult:
            self._check_uri(str(params.uri))
            self._subscribed = context.request is None  # over HTTP there is no connection to tell
            return EmptyResult()

        async def unsubscribe_client(_: Context, __: UnsubscribeRequestParams) -> EmptyResult:
            self._subscribed = False
            return EmptyResult()

        return {
            "on_list_resources": list_resources,
            "on_read_resource": read_resource,
            "on_subscribe_resource": subscribe_client,
            "on_unsubscribe_resource": unsubscribe_client,
        }

    async def tell_subscribers(self, context: Context, tool: Tool) -> None:
        """Say that the resource has changed, to a client that asked for that."""
        if self._subscribed and self._profile.resource is not None and tool.kind != "looks":
            await context.session.send_resource_updated(self._profile.resource.uri)

    def _check_uri(self, uri: str) -> None:
        known = self._profile.resource
        if known is None or uri != known.uri:
            raise MCPError(INVALID_PARAMS, f"no resource {uri!r}" + (f"; there is {known.uri}" if known else ""))


def listed_tools(profile: Profile) -> list[Listed]:
    """The tools of a profile as clients are told of them."""
    return [_list_tool(tool) for tool in profile.tools.values()]


def _list_tool(tool: Tool) -> Listed:
    return Listed(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema or schema_of(tool.arguments),
        output_schema=tool.output,
        annotations=HINTS[tool.kind],
    )


async def _call_tool(
    tool: Tool, arguments: JsonObject, reach: Reach, headers: dict[bytes, bytes], speaker: Speaker, max_chars: int
) -> CallToolResult:
    """The result of a tool: the reply of REST, or its problem, as this tool says it."""
    try:
        stated = arguments if tool.schema else tool.arguments.drop_empty_arguments(arguments)
        checked = tool.arguments.model_validate(stated).model_dump(mode="json", exclude_unset=True, by_alias=True)
    except ValidationError as error:
        return make_tool_error(wrong_arguments(error, tool.arguments))
    given = {name: value for name, value in checked.items() if value is not None}  # models say null for what they leave out
    room = given.pop("max_chars", max_chars)
    if tool.sized:
        given["max_chars"] = room
    if tool.speaker is not None and speaker.user:
        given.setdefault(tool.speaker, speaker.user)
    call = tool.call(given, speaker.session)
    try:
        client = await reach()
        response = await client.request(
            call.method, call.path.lstrip("/"), json=call.json, params=call.params, headers=[*headers.items()]
        )
    except Unreachable as error:
        return make_tool_error(str(error))
    except httpx.ConnectError:
        return make_tool_error(f"Unavailable: no service answers at {client.base_url}. It has to be started: `loci serve`.")
    except httpx.HTTPError as error:
        return make_tool_error(
            f"Unavailable: no answer ({type(error).__name__}); what was asked for may have been done all the same. "
            "Look before you repeat it."
        )
    body = visible_values(_read_json_object(response))
    if not response.is_success:
        return make_tool_error(
            explain_plainly_to_profiles(body) if tool.plain else explain_problem(body, tool.renamed, tool.missing), body
        )
    text, data = tool.show(body, room)
    if not tool.plain:
        text, data = fit_into_room(text, room), cut_strings(data, room)
    return CallToolResult(content=[TextContent(text=text)], structured_content=data or None)


def _read_json_object(response: httpx.Response) -> JsonObject:
    """The body of a reply, {} if it has none; anything but a JSON object did not come from Loci."""
    if response.is_success and not response.content:
        return {}
    try:
        body = response.json()
    except ValueError:
        body = None
    if isinstance(body, dict):
        return body
    return {
        "title": "Error",
        "status": response.status_code,
        "detail": f"status {response.status_code} from something that is not Loci",
    }


def make_tool_error(text: str, problem: JsonObject | None = None) -> CallToolResult:
    """A tool error; programs find the problem document beside it."""
    return CallToolResult(
        content=[TextContent(text=text)], is_error=True, **({"_meta": {"loci/problem": problem}} if problem is not None else {})
    )


def _session_of_space(space: str | None) -> str | None:
    """The session whose space this is."""
    kind, _, name = (space or "").partition("/")
    return name if kind == "session" and name else None
