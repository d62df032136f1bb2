"""A profile, and a tool of one: a REST call of its own below /profiles, which takes the tool's arguments as they are."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict

from db.pool import Transaction
from service.mcp.result_texts import JsonObject, Shown
from service.mcp.tool import Arguments, Call, Kind, Tool

Work = Callable[[Transaction, Any], Awaitable[JsonObject]]


class Loose(Arguments):
    """Arguments as other servers take them: what is unknown is left aside."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, kw_only=True)
class OwnTool:
    """A tool of a profile, and the work that its route does."""

    tool: Tool
    work: Work
    writes: bool


@dataclass(frozen=True)
class Resource:
    """Something that can be read beside the tools: what the tool `reads` says."""

    uri: str
    name: str
    title: str
    description: str
    reads: str


@dataclass(frozen=True)
class Profile:
    """A list of tools under one name. `server` and `title` are what clients are told; `instructions` what models are.

    `others` are tools that are not listed, and answer those who know their names.
    """

    name: str
    server: str
    title: str
    tools: Mapping[str, Tool]
    instructions: str | None = None
    resource: Resource | None = None
    others: Mapping[str, Tool] = field(default_factory=dict)


def own_tool(
    profile: str,
    name: str,
    kind: Kind,
    description: str,
    arguments: type[Arguments],
    work: Work,
    show: Callable[[JsonObject], Shown],
    *,
    schema: JsonObject,
    output: JsonObject | None = None,
) -> OwnTool:
    """A tool of a profile: its route is /profiles/<profile>/<name>."""
    path = f"/profiles/{profile}/{name}"
    tool = Tool(
        name=name,
        title=name.replace("_", " ").title(),
        kind=kind,
        description=description,
        arguments=arguments,
        call=lambda given, _: Call("POST", path, given),
        show=lambda reply, _: show(reply),
        schema=schema,
        output=output,
        plain=True,
    )
    return OwnTool(tool=tool, work=work, writes=kind not in {"reads", "looks"})
