"""Asking the reranker, within the budget of a namespace where it is an endpoint; no text of question or results is logged."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from db import traces
from db.models.calls import Prices
from service.llm.model import Completion, ModelError, tokens_of
from service.models.calls import Call, reserve_call
from service.rerank.reranker import Judgement, Reranker
from service.resources import Resources

PURPOSE = "rerank"


async def judge_texts(
    resources: Resources,
    reranker: Reranker,
    *,
    namespace: str,
    query: str,
    texts: Sequence[str],
    before: Sequence[str | None] | None = None,
    kept: Mapping[str, bytes] | None = None,
) -> Judgement:
    """A score for each text, within the reranker's deadline; `before`, `kept`: see Reranker. Raises BudgetSpent, ModelError.

    An endpoint reads the question once for each text, which is what is reserved. No transaction is open while it judges.
    """
    deadline = reranker.deadline
    with traces.span("rerank", {"gen_ai.request.model": reranker.name, "loci.texts": len(texts)}):
        if not reranker.is_endpoint:
            return await reranker.judge(query, texts, deadline=deadline, before=before, kept=kept)
        until = time.monotonic() + deadline
        sent = sum(tokens_of(text) for text in texts) + len(texts) * tokens_of(query)
        call = await _reserve_call(resources, reranker, namespace, sent, deadline)

        async def judge_and_count() -> tuple[Completion, Judgement]:
            started = time.monotonic()
            left = until - started
            if left <= 0:
                raise ModelError("the reranker did not answer in time (LOCI_RERANK__DEADLINE)")
            judged: Judgement = await reranker.judge(query, texts, deadline=left)
            return Completion("", judged.tokens, 0, round(1000 * (time.monotonic() - started))), judged

        return await call.run_and_record(judge_and_count)


async def _reserve_call(resources: Resources, reranker: Reranker, namespace: str, sent: int, deadline: float) -> Call:
    try:
        async with asyncio.timeout(deadline):
            return await reserve_call(
                resources,
                namespace=namespace,
                purpose=PURPOSE,
                model=reranker.name,
                prompt_tokens=sent,
                completion_tokens=0,
                least=0,
                prices=Prices(prompt=resources.settings.rerank.price),
                seconds=deadline,
            )
    except TimeoutError:
        raise ModelError("no connection to the database was free in time (LOCI_RERANK__DEADLINE)") from None
