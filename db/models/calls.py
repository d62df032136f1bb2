"""Calls of language models, and the budget of a day for them: wrappers of the SQL functions."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import TypedDict
from uuid import UUID

from psycopg.errors import ConfigurationLimitExceeded

from db.pool import Transaction

BudgetExceeded = ConfigurationLimitExceeded  # what reserve_model_call raises; its detail is the moment at which to ask again


class ReservedCall(TypedDict):
    """A call that may be made, and how long its answer may be."""

    id: UUID
    completion_tokens: int


class FinishedCall(TypedDict):
    """Count of a call that has ended."""

    cost: float
    prompt_tokens: int
    completion_tokens: int


class ModelCallRow(TypedDict):
    """A call of a language model."""

    id: UUID
    job_id: UUID | None
    purpose: str
    model: str
    state: str
    started_at: datetime
    took_ms: int | None
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    cost: float
    error: str | None


class ModelUsageRow(TypedDict):
    """Use of a day, and the rest of its budget."""

    day: date
    calls: int
    running: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    token_limit: int | None
    tokens_left: int | None
    cost_limit: float | None
    cost_left: float | None


@dataclass(frozen=True)
class Prices:
    """Price of a million tokens of prompts and of completions, in any unit."""

    prompt: float = 0.0
    completion: float = 0.0


async def reserve_model_call(
    tx: Transaction,
    *,
    job_id: UUID | None,
    purpose: str,
    model: str,
    prompt_tokens: int,
    completion_tokens: int,
    least: int,
    prices: Prices,
    seconds: float,
) -> ReservedCall:
    """Write down that a model is called, for so many seconds at most, with what that may use. Raises BudgetExceeded."""
    return await tx.row(
        ReservedCall,
        """select id, completion_tokens from loci_api.reserve_model_call(%(namespace)s, %(job_id)s, %(purpose)s, %(model)s,
               %(prompt_tokens)s, %(completion_tokens)s, %(least)s, %(prompt_price)s, %(completion_price)s,
               %(seconds)s)""",
        job_id=job_id,
        purpose=purpose,
        model=model,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        least=least,
        prompt_price=prices.prompt,
        completion_price=prices.completion,
        seconds=seconds,
    )


async def finish_model_call(
    tx: Transaction,
    *,
    id: UUID,
    prompt_tokens: int | None,
    completion_tokens: int | None,
    estimated: bool,
    took_ms: int,
    error: str | None,
    prices: Prices,
) -> FinishedCall:
    """Say what a call has used (None: nobody knows), and why it failed (None: it did not); what counts."""
    return await tx.row(
        FinishedCall,
        """select cost::double precision as cost, prompt_tokens, completion_tokens
           from loci_api.finish_model_call(%(namespace)s, %(id)s, %(prompt_tokens)s, %(completion_tokens)s, %(estimated)s,
               %(took_ms)s, %(error)s, %(prompt_price)s, %(completion_price)s)""",
        id=id,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        estimated=estimated,
        took_ms=took_ms,
        error=error,
        prompt_price=prices.prompt,
        completion_price=prices.completion,
    )


async def settle_model_calls(tx: Transaction) -> int:
    """End calls whose process was lost, at what such calls usually take; how many. The operator's."""
    return await tx.value(int, "select loci_api.settle_model_calls() as settled")


async def list_model_calls(
    tx: Transaction, *, limit: int, cursor: UUID | None = None, purpose: str | None = None, job_id: UUID | None = None
) -> list[ModelCallRow]:
    """Calls of models, newest first."""
    return await tx.rows(
        ModelCallRow,
        """select id, job_id, purpose, model, state, started_at, took_ms, prompt_tokens, completion_tokens, estimated,
                  cost::double precision as cost, error
           from loci.list_model_calls(%(namespace)s, %(limit)s, %(cursor)s, %(purpose)s, %(job_id)s)""",
        limit=limit,
        cursor=cursor,
        purpose=purpose,
        job_id=job_id,
    )


async def model_usage(tx: Transaction, *, day: date | None = None) -> ModelUsageRow:
    """Use of models on a day (UTC; None: today), and the rest of its budget."""
    return await tx.row(
        ModelUsageRow,
        """select day, calls, running, failed, prompt_tokens, completion_tokens, cost::double precision as cost,
                  token_limit, tokens_left, cost_limit::double precision as cost_limit, cost_left::double precision as cost_left
           from loci.model_usage(%(namespace)s, %(day)s)""",
        day=day,
    )
