"""A chat store of LlamaIndex over Loci: `Memory` and its buffers keep their messages in it. Needs llama-index-core."""

from typing import Any

try:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.storage.chat_store.base import BaseChatStore
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("the chat store needs LlamaIndex: pip install llama-index-core", name=error.name) from error

from pydantic import PrivateAttr

from loci.client import LociClient
from loci.items import Item, SessionItems


class LociChatStore(BaseChatStore):  # type: ignore[misc]  # LlamaIndex is not installed where this is checked
    """Messages by key: a key is a session of the client's namespace, a message one of its turns.

    The list only grows at its end: a message within it cannot be taken away, the last one and all of them can.
    """

    _client: LociClient = PrivateAttr()

    def __init__(self, client: LociClient) -> None:
        super().__init__()
        self._client = client

    @classmethod
    def class_name(cls) -> str:
        """The name of the class, for what LlamaIndex writes down."""
        return "LociChatStore"

    def set_messages(self, key: str, messages: list[Any]) -> None:
        """Let these be all messages of a key."""
        self._items(key).clear()
        self._items(key).add(map(_item, messages))

    def get_messages(self, key: str) -> list[Any]:
        """All messages of a key, oldest first."""
        return [ChatMessage.model_validate(item) for item in self._items(key).get()]

    def add_message(self, key: str, message: Any) -> None:
        """Append a message."""
        self._items(key).add([_item(message)])

    def delete_messages(self, key: str) -> list[Any] | None:
        """Take all messages away; they are returned."""
        found = self.get_messages(key)
        self._items(key).clear()
        return found or None

    def delete_message(self, key: str, idx: int) -> Any | None:
        """Take the last message away. Raises ValueError for another one."""
        messages = self.get_messages(key)
        if idx not in (-1, len(messages) - 1):
            raise ValueError(f"only the last message can be deleted (index {len(messages) - 1}), not {idx}: the list only grows")
        return self.delete_last_message(key)

    def delete_last_message(self, key: str) -> Any | None:
        """Take the last message away; None if there is none."""
        item = self._items(key).pop()
        return None if item is None else ChatMessage.model_validate(item)

    def get_keys(self) -> list[str]:
        """All sessions of the namespace that have turns."""
        return sorted({conversation.session_id for conversation in self._client.sessions.list_conversations()})

    def _items(self, key: str) -> SessionItems:
        return SessionItems(self._client, key)


def _item(message: Any) -> Item:
    item: Item = message.model_dump(mode="json")
    return item
