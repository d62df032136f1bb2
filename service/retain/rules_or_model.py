"""Asking a model while a request waits, and what is done where it gives no usable answer."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from db import text
from db.errors import Conflict, LimitReached, NeedsModel, Unavailable
from db.pool import Transaction
from service.jobs.job import Postponed
from service.llm.answer_parsing import Answer
from service.llm.model import ModelError
from service.models.calls import ask_model
from service.resources import Resources
from service.settings import seconds_within_request

Choice = Literal["auto", "rules", "model"]
A = TypeVar("A", bound=Answer)
T = TypeVar("T")
Step = Callable[[Transaction], Awaitable[Any]]
Read = Callable[[Step], Awaitable[Any]]  # runs a step in a transaction of a writer that changes nothing
Write = Callable[[Step], Awaitable[T]]  # runs one that writes


def reason_not_to_ask(resources: Resources, settings: dict[str, Any], choice: Choice) -> str | None:
    """Why no model is asked although one is there; None: it is asked. Raises NeedsModel where it was asked for by name."""
    if resources.model is None:
        raise NeedsModel
    if settings["retain_model"]:
        return None
    if choice == "model":
        raise Conflict("the setting retain_model of this namespace is off: no model is asked")
    return "the setting retain_model is off"


def patience_for_models(resources: Resources) -> float:
    """The moment, monotonic, until which a request that begins now waits for models, all calls and tries together."""
    return time.monotonic() + seconds_within_request(resources.settings.llm.request_deadline, resources.settings.deadlines.model)


async def ask_within(resources: Resources, until: float, answer: type[A], **about: Any) -> A:
    """Ask, with what is left of the time that a request has for it."""
    left = until - time.monotonic()
    if left <= 0:
        raise ModelError("the language model did not answer in time")
    return await ask_model(resources, answer, deadline=left, **about)


def refusal_of(error: ModelError | Postponed, choice: Choice) -> str:
    """Why the model gave nothing; an error where it was asked for by name."""
    if choice != "model":
        return str(error)
    if isinstance(error, Postponed):
        raise LimitReached(str(error), hint="Decide by rules, or ask again when the budget of a new day begins.") from error
    raise Unavailable(f"the language model gave no usable answer: {error}", hint="Decide by rules, or try again.") from error


def texts_read_by(read: Read) -> Callable[[list[str]], Awaitable[list[text.TextMarks]]]:
    """How guards read texts: in a step of a transaction, by the database."""
    return lambda some: read(lambda tx: text.text_marks(tx, texts=some))
