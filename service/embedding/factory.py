"""How the configured provider of embeddings is made."""

from service.embedding.provider import Provider
from service.settings import EmbeddingSettings


def make_provider(settings: EmbeddingSettings) -> Provider | None:
    """Make the configured provider; None for `none`. Imports its library only then."""
    match settings.provider:
        case "none":
            return None
        case "static":
            from service.embedding.static import StaticProvider

            return StaticProvider(settings.dimensions)
        case "minilm":
            from service.embedding.minilm import MiniLMProvider

            return MiniLMProvider()
        case "openai":
            from service.embedding.openai import OpenAIProvider

            return OpenAIProvider(settings)
