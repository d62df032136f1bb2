"""Claude's memory tool over Loci, for the tool runner of Anthropic's SDK. Needs anthropic.

`client.beta.messages.tool_runner(…, tools=[LociMemoryTool(LociClient())])`: what Claude writes below /memories are lineages of the
client's namespace, with their history, and recall finds them.
"""

import json
from typing import Any

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise ImportError("the memory tool needs Anthropic's SDK, a recent one: pip install anthropic", name="anthropic") from error

from loci.client import AsyncLociClient, LociClient
from loci.errors import LociError
from loci.requests import API, Request, json_of

UNDONE = {"view"}  # commands that change nothing


def _request(command: Any) -> Request[str]:
    """The request of a command, which may be a model of the SDK or a dictionary."""
    given = command if isinstance(command, dict) else command.model_dump(exclude_none=True)
    fields = {name: value for name, value in given.items() if name != "command" and value is not None}
    return Request(
        method="POST",
        route=f"{API}/profiles/claude-memory/{{command}}",
        read=lambda reply: str(json.loads(reply.content)["content"]),
        parts={"command": given["command"]},
        content=json_of(fields),
        repeatable=given["command"] in UNDONE,
    )


class LociMemoryTool(BetaAbstractMemoryTool):  # type: ignore[misc]  # the SDK is not installed where this is checked
    """The six commands over a client's namespace. What cannot be done is a ToolError, which Claude reads as the result."""

    def __init__(self, client: LociClient, **options: Any) -> None:
        super().__init__(**options)
        self._client = client

    def _do(self, command: Any) -> str:
        try:
            return self._client.send(_request(command))
        except LociError as error:
            raise ToolError(error.detail) from error

    view = create = str_replace = insert = delete = rename = _do

    def clear_all_memory(self) -> str:
        """Delete what is shown of /memories; undo takes it back."""
        return "\n".join(self._do({"command": "delete", "path": path}) for path in _tops(self._do(_ROOT)))


class AsyncLociMemoryTool(BetaAsyncAbstractMemoryTool):  # type: ignore[misc]  # as above
    """The same to be awaited."""

    def __init__(self, client: AsyncLociClient, **options: Any) -> None:
        super().__init__(**options)
        self._client = client

    async def _do(self, command: Any) -> str:
        try:
            return await self._client.send(_request(command))
        except LociError as error:
            raise ToolError(error.detail) from error

    view = create = str_replace = insert = delete = rename = _do

    async def clear_all_memory(self) -> str:
        """Delete what is shown of /memories; undo takes it back."""
        return "\n".join([await self._do({"command": "delete", "path": path}) for path in _tops(await self._do(_ROOT))])


_ROOT = {"command": "view", "path": "/memories"}


def _tops(shown: str) -> list[str]:
    """Files and folders that stand right below /memories, in what `view` shows of it."""
    paths = [line.partition("\t")[2].rstrip("/") for line in shown.splitlines()[2:]]
    return [path for path in paths if path.count("/") == 2]  # noqa: PLR2004 (/memories/name)
