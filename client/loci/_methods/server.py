"""The server: whether it answers and can serve."""

from loci.descriptors import C, Group, operation
from loci.errors import Reply
from loci.models.server import Health, Readiness
from loci.requests import Request, reading


class Server(Group[C]):
    """Operations on the server itself."""

    @operation
    def health(self) -> Request[Health]:
        """The process answers."""
        return Request(method="GET", route="/healthz", read=reading(Health))

    @operation
    def readiness(self) -> Request[Readiness]:
        """Whether the service can serve, and why not; an unready one raises nothing."""
        return Request(method="GET", route="/readyz", read=reading(Readiness), told=503)

    @operation
    def metrics(self) -> Request[str]:
        """Figures in the text format of Prometheus."""
        return Request(method="GET", route="/metrics", read=_text)


def _text(response: Reply) -> str:
    return response.content.decode()
