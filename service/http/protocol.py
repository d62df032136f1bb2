"""HTTP as uvicorn speaks it, with a limit on what comes before a body: its parser holds headers of any size."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 1024  # bytes of a request line and its headers, all together
REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LimitedProtocol(HttpToolsProtocol):
    """Ends a connection whose headers do not end. What comes at once may be longer, and is refused by the middleware."""

    _head: int | None = 0  # bytes of a head that is not complete; None: in a body, or after it

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        super().data_received(data)
        if self._head is None:
            return
        self._head += len(data)
        if self._head > LONGEST_HEAD and not self.transport.is_closing():
            self.transport.write(REFUSAL)
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._head = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting."""
        self._head = None
        super().on_headers_complete()
