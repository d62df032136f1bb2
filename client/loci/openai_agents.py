"""A session of the OpenAI Agents SDK over Loci: `Runner.run(agent, "…", session=LociSession(client, "s1"))`.

It follows the SDK's protocol and needs nothing of it. Items come back as they were: calls, reasoning, images and unknown fields.
"""

from typing import Any

from loci.client import AsyncLociClient
from loci.items import AsyncSessionItems, Item


class LociSession:
    """The history of a session, kept as the turns of a conversation in the client's namespace.

    `session_settings` is the SDK's own object, whose `limit` holds where a call names none.
    """

    def __init__(self, client: AsyncLociClient, session_id: str, session_settings: Any = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = AsyncSessionItems(client, session_id)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The last `limit` items, or all, oldest first."""
        return await self._items.get(getattr(self.session_settings, "limit", None) if limit is None else limit)

    async def add_items(self, items: list[Any]) -> None:
        """Append items."""
        await self._items.add(items)

    async def pop_item(self) -> Item | None:
        """Take the last item away."""
        return await self._items.pop()

    async def clear_session(self) -> None:
        """Take all items away."""
        await self._items.clear()
