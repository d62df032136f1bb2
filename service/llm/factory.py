"""How the configured language model is made."""

from service.llm.model import ChatModel
from service.settings import LLMSettings


def make_model(settings: LLMSettings) -> ChatModel | None:
    """The configured model; None: there is none."""
    if settings.endpoint is None:
        return None
    from service.llm.client import EndpointModel

    return EndpointModel(settings)
