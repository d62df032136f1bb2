"""A history of Microsoft's Agent Framework over Loci, for `context_providers=[…]` of an agent. Needs agent-framework-core."""

from collections.abc import Sequence
from typing import Any

try:
    from agent_framework import HistoryProvider, Message
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the history provider needs the framework: pip install agent-framework-core", name=error.name
    ) from error

from loci.client import AsyncLociClient
from loci.items import AsyncSessionItems


class LociHistoryProvider(HistoryProvider):  # type: ignore[misc]  # the framework is not installed where this is checked
    """Messages of each session, kept as the turns of a conversation in the client's namespace.

    A run without a session has no history: nothing is read and nothing is kept.
    """

    def __init__(self, client: AsyncLociClient, source_id: str = "loci", **options: Any) -> None:
        super().__init__(source_id, **options)
        self._client = client

    async def get_messages(self, session_id: str | None, **_: Any) -> list[Any]:
        """All messages of a session, oldest first."""
        items = await AsyncSessionItems(self._client, session_id).get() if session_id else []
        return [Message.from_dict(item) if "type" in item else Message(item["role"], [item["content"]]) for item in items]

    async def save_messages(self, session_id: str | None, messages: Sequence[Any], **_: Any) -> None:
        """Append messages to a session."""
        if session_id:
            await AsyncSessionItems(self._client, session_id).add(message.to_dict() for message in messages)
