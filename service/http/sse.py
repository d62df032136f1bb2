"""Server-sent events as the service writes them (WHATWG HTML, 9.2); `loci.sse` reads them."""

from loci.sse import RETRY, Event

MEDIA = "text/event-stream"


def format_event(event: Event) -> bytes:
    """An event as it is sent. Its data is one line, as JSON is."""
    place = b"" if event.id is None else b"id: %s\n" % event.id.encode()
    return place + b"event: %s\ndata: %s\n\n" % (event.name.encode(), event.data)


def format_opening(cursor: str) -> bytes:
    """The start of a stream: when to come back, and from where, also if nothing ever comes."""
    return b"retry: %d\nid: %s\n\n" % (RETRY * 1000, cursor.encode())


def format_heartbeat(cursor: str) -> bytes:
    """A sign of life, with the cursor up to which there was nothing to say."""
    return b": so far\nid: %s\n\n" % cursor.encode()
