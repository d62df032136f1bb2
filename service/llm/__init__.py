"""Language models: any OpenAI-compatible chat endpoint, asked for JSON, believed in nothing (rows L2 to L5)."""

from service.llm.model import ChatModel, Completion, InvalidAnswer, Message, ModelError, make_model

__all__ = ["ChatModel", "Completion", "InvalidAnswer", "Message", "ModelError", "make_model"]
