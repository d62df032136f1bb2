"""Asking a model: within the budget of the namespace, logged with what it cost, and read strictly.

No text of a prompt or an answer is logged, stored or told in an error.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from db import traces
from db.cancellation import finish_despite_cancel
from db.errors import NeedsModel
from db.models import calls
from db.models.calls import BudgetExceeded, Prices
from service.jobs.job import Postponed
from service.llm.answer_parsing import Answer, read_answer
from service.llm.context_size import SPARE, Sizes
from service.llm.model import ChatModel, Completion, Message, ModelError, TooLong, Usage, tokens_of
from service.llm.prompts import Prompts
from service.llm.schemas import Numbers, gist_of, least_tokens, schema_of
from service.observability.metrics import MODEL_CALLS, MODEL_SECONDS, MODEL_TOKENS
from service.resources import Resources
from service.settings import LLMSettings
from service.text.hidden_characters import visible_json

A = TypeVar("A", bound=Answer)
T = TypeVar("T")
log = logging.getLogger(__name__)
LEAST_ANSWER_TOKENS = (
    1000  # tokens of an answer without which a call is not worth its prompt; half of what is sent, where that is more
)
GRACE = 30.0  # seconds beyond its deadline in which somebody says how a call has ended, unless its process was lost
FORM = 50  # bytes before the form of the answer
RECORD_SECONDS = 5.0  # seconds that a call which is cancelled may take to be written down


class BudgetSpent(Postponed):
    """The namespace's budget of the day for calls of models is spent; `at`: when there is more."""


@dataclass(frozen=True)
class Call:
    """A call that is written down as running, and what it may use."""

    resources: Resources
    namespace: str
    purpose: str
    model: str
    id: UUID
    prompt_tokens: int
    completion_tokens: int
    prices: Prices
    started: float

    async def run_and_record(self, work: Callable[[], Awaitable[tuple[Completion, T]]], usage: Usage | None = None) -> T:
        """Do what the call is for, and write down what it has used, however it ends: what `work` made of the answer."""
        try:
            completion, made = await work()
        except ModelError as error:
            await finish_despite_cancel(self.record_end(error.completion, error), RECORD_SECONDS)
            raise
        except BaseException as error:  # cancelled
            with suppress(Exception):
                async with asyncio.timeout(RECORD_SECONDS):
                    await self.record_end(None, error, usage)
            raise
        await finish_despite_cancel(
            self.record_end(completion, None), RECORD_SECONDS
        )  # also for somebody who leaves in this moment
        return made

    async def record_end(self, completion: Completion | None, error: BaseException | None, usage: Usage | None = None) -> None:
        """Write down what it has used. Without a completion: nothing, if the endpoint refused; else what is known, or usual."""
        took = round((time.monotonic() - self.started) * 1000)
        prompt, said, estimated = self._count_used_tokens(completion, error, usage or Usage())
        async with self.resources.transaction("finish_model_call", self.namespace) as tx:
            counts = await calls.finish_model_call(
                tx,
                id=self.id,
                prompt_tokens=prompt,
                completion_tokens=said,
                estimated=estimated,
                took_ms=took,
                error=_explain_failure(error),
                prices=self.prices,
            )
        outcome = "succeeded" if error is None else "failed"
        MODEL_CALLS.labels(self.purpose, outcome).inc()
        MODEL_TOKENS.labels("prompt").inc(counts["prompt_tokens"])
        MODEL_TOKENS.labels("completion").inc(counts["completion_tokens"])
        MODEL_SECONDS.labels(self.purpose).observe(took / 1000)
        fields = {"namespace": self.namespace, "purpose": self.purpose, "model": self.model, "outcome": outcome,
                  **counts, "ms": took, "call": str(self.id)}  # fmt: skip
        log.info("model call %s: %s", outcome, _explain_failure(error) or "answered", extra={"fields": fields})

    def _count_used_tokens(
        self, completion: Completion | None, error: BaseException | None, usage: Usage
    ) -> tuple[int | None, int | None, bool]:
        if completion is None:
            return (0, 0, False) if isinstance(error, ModelError) else (usage.prompt_tokens, usage.completion_tokens, True)
        prompt, said = completion.prompt_tokens, completion.completion_tokens
        if prompt is None or said is None:
            return self.prompt_tokens, completion.heard or tokens_of(completion.text), True
        return prompt, said, False


async def ask_model(
    resources: Resources,
    answer: type[A],
    *,
    namespace: str,
    purpose: str,
    prompt: str,
    data: Any,
    numbers: Numbers | None = None,
    job_id: UUID | None = None,
    deadline: float | None = None,
    failures: int = 0,
) -> A:
    """Ask the model about `data` (anything JSON can say) as the prompt file says, and read what it answers.

    `numbers` of the things in it, which the answer may name. `deadline`: seconds, where somebody waits for the answer.
    `failures`: how often the like was asked in vain. Raises NeedsModel, BudgetSpent, ModelError, InvalidAnswer.
    No transaction is open while it thinks.
    """
    if resources.model is None:
        raise NeedsModel
    messages = messages_of(resources.prompts, prompt, data)
    sizes = await resources.model.measure()
    sent, most = find_room(messages, answer, numbers, sizes, resources.settings.llm)
    least = least_tokens(answer, numbers)
    async with resources.model.slot(deadline) as left:  # before the call is written down, which has an end
        call = await reserve_call(
            resources,
            namespace=namespace,
            purpose=purpose,
            model=resources.model.name,
            prompt_tokens=sent,
            completion_tokens=most,
            least=min(most, max(LEAST_ANSWER_TOKENS, sent // 2, least)),
            prices=Prices(resources.settings.llm.prompt_price, resources.settings.llm.completion_price),
            seconds=resources.settings.llm.deadline if left is None else left,
            job_id=job_id,
        )
        schema = form_of(answer, numbers, messages, sizes, call.completion_tokens)
        return await _complete_and_parse(call, resources.model, messages, answer, schema=schema, deadline=left, failures=failures)


def find_room(
    messages: list[Message], answer: type[Answer], numbers: Numbers | None, sizes: Sizes, settings: LLMSettings
) -> tuple[int, int]:
    """About how many tokens a prompt has, and those that its answer may have. Raises TooLong."""
    most, least = settings.max_tokens, least_tokens(answer, numbers)
    size = size_of(messages, form_of(answer, numbers, messages, sizes, sizes.answer_room(most)))
    sent = sizes.estimate_tokens(size)
    if sizes.context is not None:
        if sizes.fitting_share(size, most) < 1:
            raise TooLong(
                f"the prompt has about {sent:,} tokens, and its answer needs room for {sizes.answer_room(most):,}: "
                f"together more than the context of {sizes.context:,} (LOCI_LLM__CONTEXT)"
            )
        most = min(most, sizes.context - round(sent * SPARE))
    if most < least:
        raise TooLong(f"the answer may need {least:,} tokens; there is room for {most:,} (LOCI_LLM__MAX_TOKENS, LOCI_LLM__CONTEXT)")
    return sent, most


def messages_of(prompts: Prompts, prompt: str, data: Any) -> list[Message]:
    """Input of a model: the prompt, and the data. Raises BadPrompt."""
    return [
        {"role": "system", "content": prompts.read_prompt("data.md") + "\n\n" + prompts.read_prompt(prompt)},
        {"role": "user", "content": visible_json(json.dumps(data, ensure_ascii=False, default=str))},
    ]


def form_of(answer: type[Answer], numbers: Numbers | None, messages: list[Message], sizes: Sizes, most: int) -> dict[str, Any]:
    """The schema of an answer of `most` tokens to what messages show."""
    return schema_of(answer, numbers, sizes.longest(_bytes(messages[-1:]), most))


def _bytes(messages: list[Message]) -> int:
    return sum(len(message["content"].encode(errors="replace")) for message in messages)


def size_of(messages: list[Message], schema: dict[str, Any]) -> int:
    """The bytes of a prompt, with the form of its answer."""
    return _bytes(messages) + len(gist_of(schema)) + FORM


async def part_that_fits(resources: Resources, answer: type[Answer], *, prompt: str, data: Any, numbers: Numbers) -> float:
    """Share of a prompt for which there is room beside its answer; 1 and more: all of it."""
    if resources.model is None:
        return 1.0
    return fitting(
        messages_of(resources.prompts, prompt, data), answer, numbers, await resources.model.measure(), resources.settings.llm
    )


def fitting(messages: list[Message], answer: type[Answer], numbers: Numbers, sizes: Sizes, settings: LLMSettings) -> float:
    """The same of messages: the smaller of what there is room for of the prompt, and of the least that an answer may need."""
    most = sizes.answer_room(settings.max_tokens)
    size = size_of(messages, form_of(answer, numbers, messages, sizes, most))
    return min(sizes.fitting_share(size, settings.max_tokens), most / least_tokens(answer, numbers))


async def _complete_and_parse(call: Call, model: ChatModel, messages: list[Message], answer: type[A], **how: Any) -> A:
    """Ask the model and read what it answers."""
    usage = Usage()

    async def ask_and_parse() -> tuple[Completion, A]:
        with traces.span("model", {"gen_ai.request.model": call.model, "loci.purpose": call.purpose}):
            completion = await model.complete(messages, title=call.purpose, usage=usage, **how, **_limit_by_budget(call))
            usage.prompt_tokens, usage.completion_tokens = completion.prompt_tokens, completion.completion_tokens
            return completion, await asyncio.to_thread(read_answer, completion, answer)

    return await call.run_and_record(ask_and_parse, usage)


async def reserve_call(
    resources: Resources,
    *,
    namespace: str,
    purpose: str,
    model: str,
    prompt_tokens: int,
    completion_tokens: int,
    least: int,
    prices: Prices,
    seconds: float,
    job_id: UUID | None = None,
) -> Call:
    """Write a call down, in a transaction of its own, before it is made. `seconds`: its deadline. Raises BudgetSpent."""
    try:
        async with resources.transaction("reserve_model_call", namespace) as tx:
            row = await calls.reserve_model_call(
                tx,
                job_id=job_id,
                purpose=purpose,
                model=model,
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
                least=least,
                prices=prices,
                seconds=seconds + GRACE,
            )
    except BudgetExceeded as error:
        raise BudgetSpent(error.diag.message_primary or "the day's budget is spent", _retry_moment(error)) from None
    granted = row["completion_tokens"]
    return Call(resources, namespace, purpose, model, row["id"], prompt_tokens, granted, prices, time.monotonic())


def _limit_by_budget(call: Call) -> dict[str, Any]:
    """The limit of an answer, where the budget leaves less than the settings allow."""
    most = call.resources.settings.llm.max_tokens
    return {"max_tokens": call.completion_tokens} if call.completion_tokens < most else {}


def _retry_moment(error: BudgetExceeded) -> datetime:
    """When to ask again; the next day (UTC) where the error does not say."""
    try:
        return datetime.fromisoformat(error.diag.message_detail or "")
    except ValueError:
        return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def _explain_failure(error: BaseException | None) -> str | None:
    """Why a call failed. Errors of models hold nothing of what was sent or said; of others only their kind is told."""
    if error is None:
        return None
    return str(error) if isinstance(error, ModelError) else type(error).__name__
