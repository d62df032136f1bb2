"""Endpoints that behave like those that people run, as far as their documents say: what they take, refuse, cut and pass over.

Each is the script of a tests.llm.model_server.ModelServer that looks at nothing itself (`strict=False`).
"""

import json
from collections.abc import Callable
from typing import Any

from tests.llm.model_server import Reply, Request, fence, say, status
from tests.llm.shortest import shortest

EFFORTS = {"none", "minimal", "low", "medium", "high"}
OPENAI = {
    *("model", "messages", "response_format", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature"),
    *("reasoning_effort", "seed", "top_p", "stop", "user", "n"),
}  # fmt: skip
WINDOW = 4096  # tokens that the local ones hold here
SERVED = "the-model"


def tokens(request: Request) -> int:
    """About how many tokens a prompt has."""
    return sum(len(message["content"]) // 4 for message in request.body["messages"])


def refuse(code: int, kind: str, message: str) -> Reply:
    """An error as OpenAI says it."""
    return status(code, {"error": {"message": message, "type": kind, "param": None, "code": kind}})


def follow(request: Request, counted: int | None = None) -> Reply:
    """What follows the schema that was asked for; without one, talk around JSON that follows the schema in the prompt."""
    usage = (tokens(request) if counted is None else counted, 20)
    stated = request.body.get("response_format", {}).get("json_schema")
    if stated is not None:
        return say(shortest(stated["schema"]), usage=usage)
    _, _, told = request.prompt.partition("follows this schema:\n")
    return fence(shortest(json.loads(told)), usage=usage) if told else say("I would gladly help.", usage=usage)


def thoughts(request: Request) -> Reply:
    """A model that thinks for so long that no answer comes."""
    return Reply("", finish="length", usage=(tokens(request), request.body["max_tokens"]))


def ollama(request: Request) -> Reply:
    """It takes any field, thinks unless told otherwise, and cuts what is longer than its context."""
    if request.body["model"] != SERVED:
        return refuse(404, "not_found_error", f"model {request.body['model']!r} not found")
    if request.body.get("reasoning_effort") != "none":
        return thoughts(request)
    return follow(request, min(tokens(request), WINDOW))


def llamacpp(request: Request) -> Reply:
    """It has one model whatever the name, thinks unless the template is told otherwise, and refuses what is too long."""
    if tokens(request) > WINDOW:
        return refuse(400, "exceed_context_size_error", "the request exceeds the available context size")
    if request.body.get("chat_template_kwargs", {}).get("enable_thinking", True):
        return thoughts(request)
    return follow(request)


def vllm(request: Request) -> Reply:
    """It wants the name of its model, and otherwise does what llama.cpp does."""
    if request.body["model"] != SERVED:
        return refuse(404, "NotFoundError", f"The model `{request.body['model']}` does not exist.")
    if tokens(request) + request.body["max_tokens"] > WINDOW:
        return refuse(400, "BadRequestError", "This model's maximum context length is 4096 tokens")
    return llamacpp(request)


def lmstudio(request: Request) -> Reply:
    """It has no json_object."""
    if request.body.get("response_format", {}).get("type", "text") not in {"json_schema", "text"}:
        return status(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
    return follow(request)


def openai(request: Request) -> Reply:
    """It wants a key, knows its own fields alone, and follows no limits of texts."""
    if not request.headers.get("authorization", "").startswith("Bearer sk-"):
        return refuse(401, "invalid_api_key", "Incorrect API key provided")
    if unknown := sorted(set(request.body) - OPENAI):
        return refuse(400, "invalid_request_error", f"Unrecognized request argument supplied: {unknown[0]}")
    if '"maxLength":' in json.dumps(request.body.get("response_format")):
        return refuse(400, "invalid_request_error", "Invalid schema for response_format: 'maxLength' is not permitted")
    return follow(request)


def anthropic(request: Request) -> Reply:
    """It wants a key, and passes the form over that is asked for."""
    if not request.headers.get("authorization", "").startswith("Bearer sk-ant-"):
        return refuse(401, "authentication_error", "invalid x-api-key")
    if not 0 <= request.body.get("temperature", 1) <= 1:
        return refuse(400, "invalid_request_error", "temperature: range: 0..1")
    request.body.pop("response_format", None)
    return follow(request)


def google(request: Request) -> Reply:
    """It wants a key, refuses what it does not know, and cannot do without thinking."""
    if not request.headers.get("authorization"):
        return refuse(401, "UNAUTHENTICATED", "API keys are required")
    if unknown := sorted(set(request.body) - OPENAI):
        return refuse(400, "INVALID_ARGUMENT", f'Unknown name "{unknown[0]}": Cannot find field.')
    effort = request.body.get("reasoning_effort", "high")
    if effort not in EFFORTS - {"none"}:
        return refuse(400, "INVALID_ARGUMENT", "Budget 0 is invalid. This model only works in thinking mode.")
    return follow(request)


LIKE: dict[str, Callable[[Request], Reply]] = {
    "ollama": ollama,
    "llamacpp": llamacpp,
    "vllm": vllm,
    "lmstudio": lmstudio,
    "openai": openai,
    "anthropic": anthropic,
    "google": google,
}
KEYS: dict[str, Any] = {"openai": "sk-1", "anthropic": "sk-ant-1", "google": "AIza1"}
