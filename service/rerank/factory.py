"""How the configured reranker is made."""

from service.embedding.minilm import is_installed
from service.rerank.reranker import Reranker
from service.settings import RerankSettings


def make_reranker(settings: RerankSettings) -> Reranker | None:
    """Make the configured reranker; None: there is none. Imports its library only then."""
    provider = settings.provider
    if provider == "auto":
        provider = "endpoint" if settings.endpoint is not None else "minilm" if is_installed() else "none"
    match provider:
        case "minilm":
            from service.rerank.minilm import MiniLMReranker

            return MiniLMReranker(settings)
        case "endpoint" if settings.endpoint is not None:
            from service.rerank.endpoint import EndpointReranker

            return EndpointReranker(settings)
        case _:
            return None
