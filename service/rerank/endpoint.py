"""Any `/rerank` over HTTP: text-embeddings-inference, vLLM, Jina, Cohere, llama.cpp and others that share its shape.

A request has `documents`, `top_n` and `model`, or `texts` (setting FORMAT). A reply is a list of {index, score}, bare or under
`results` or `data`; the score is called `relevance_score` or `score`. All of the texts must have one, finite, exactly once: of an
answer that is not so nothing is used.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from service.endpoints import RetryPolicy, TemporaryFailure, client_for, retry_after
from service.json_parts import read_json
from service.llm.endpoint_replies import PASSING, code_of, iterate_bounded_bytes, read_error
from service.llm.model import Completion, InvalidAnswer, ModelError
from service.rerank.reranker import Judgement
from service.settings import RerankSettings

DEADLINE = 3.0  # seconds
CONNECT = 1.0  # seconds until somebody listens
LARGEST_COUNT = 10**9
LARGEST_SCORE = 1e30  # what is not below it (NaN neither) is no score
SETTING = {401: "LOCI_RERANK__API_KEY", 403: "LOCI_RERANK__API_KEY", 404: "LOCI_RERANK__ENDPOINT", 405: "LOCI_RERANK__ENDPOINT",
           413: "LOCI_RERANK__MAX_CHARS and LOCI_RERANK__TOP_N"}  # fmt: skip


class EndpointReranker:
    """A model behind an endpoint. After a failure it is not asked for a while."""

    is_endpoint = True
    reads_turns = False
    keeps: str | None = None

    def __init__(self, settings: RerankSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        assert settings.endpoint is not None  # noqa: S101 (make_reranker asks)
        self._settings = settings
        self.weight = self.weight_alone = 1.0 if settings.weight is None else settings.weight
        self.deadline = DEADLINE if settings.deadline is None else settings.deadline
        self._url = httpx.URL(settings.endpoint.rstrip("/").removesuffix("/rerank") + "/rerank")
        self._host = self._url.netloc.decode().rpartition("@")[2] or "the endpoint"
        self.name = settings.model or self._host[:255]
        timeout = httpx.Timeout(settings.timeout, connect=min(CONNECT, settings.timeout))
        self._client = client_for(settings.endpoint, settings.api_key, "LOCI_RERANK__API_KEY", timeout=timeout, transport=transport)
        self._patience = RetryPolicy()

    async def judge(
        self,
        query: str,
        texts: Sequence[str],
        *,
        deadline: float,
        before: Sequence[str | None] | None = None,  # noqa: ARG002 (each text is judged alone)
        kept: Mapping[str, bytes] | None = None,  # noqa: ARG002
    ) -> Judgement:
        """Have the endpoint score the texts. Raises ModelError, InvalidAnswer."""
        started = time.monotonic()
        body = self._make_body(query, texts)
        try:
            async with asyncio.timeout(deadline):
                return await self._patience.ask_until_success(
                    lambda: self._ask_once(body, len(texts)),
                    attempts=self._settings.attempts,
                    hurried=True,
                    until=started + deadline,
                )
        except TimeoutError:
            self._patience.note_failure()
            spent = Completion("", None, None, round(1000 * (time.monotonic() - started)))  # it may have judged all the same
            said = f"{self._host} had not answered after {deadline:.2g} s (LOCI_RERANK__DEADLINE)"
            raise ModelError(said, completion=spent) from None
        except TemporaryFailure as failure:
            raise ModelError(f"{self._host} {failure}", retry_after=failure.wait) from None

    def _make_body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        named = {} if self._settings.model is None else {"model": self._settings.model}
        if self._settings.format == "texts":
            return {"query": query, "texts": list(texts), "truncate": True, **named}
        return {"query": query, "documents": list(texts), "top_n": len(texts), **named}

    async def _ask_once(self, body: dict[str, Any], count: int) -> Judgement:
        """Ask once. Raises TemporaryFailure, InvalidAnswer, ModelError, none of which quotes what was sent or said."""
        most = 100_000 + 1000 * count + 16 * sum(map(len, body[self._settings.format]))  # some send the texts back
        try:
            async with self._client.stream("POST", self._url, json=body) as reply:
                if not reply.is_success:
                    raise await _explain_refusal(reply)
                payload = b"".join([part async for part in iterate_bounded_bytes(reply, most)])
        except httpx.ConnectError:
            raise TemporaryFailure("cannot be reached; look at LOCI_RERANK__ENDPOINT") from None
        except httpx.InvalidURL:
            raise ModelError("LOCI_RERANK__ENDPOINT is not an address", final=True) from None
        except httpx.TimeoutException:
            raise TemporaryFailure(f"sent nothing for {self._settings.timeout:g} s (LOCI_RERANK__TIMEOUT)") from None
        except httpx.HTTPError as error:
            raise TemporaryFailure(f"broke off ({type(error).__name__})") from None
        try:
            said = await read_json(payload)
        except ValueError:
            raise InvalidAnswer(
                "the reranker sent something that is no JSON, or much more than scores", _unused_completion(None)
            ) from None
        return read_judgement(said, count)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


async def _explain_refusal(reply: httpx.Response) -> TemporaryFailure | ModelError:
    """Why a reply is an error, and whether that may pass. Only a short code of it is told."""
    _, said = await read_error(reply)
    status = reply.status_code
    message = f"answered {status}{code_of(said)}"
    if status in PASSING or status >= 500:  # noqa: PLR2004 (errors of the server)
        return TemporaryFailure(message, wait=retry_after(reply))
    return ModelError(f"{message}; look at {SETTING.get(status, 'LOCI_RERANK__FORMAT and LOCI_RERANK__MODEL')}", final=True)


def read_judgement(said: Any, count: int) -> Judgement:
    """The scores in a reply, in the order of the texts. Raises InvalidAnswer, which says nothing of what it holds."""
    tokens = _read_token_count(said)
    rows = next((said[name] for name in ("results", "data") if name in said), None) if isinstance(said, dict) else said
    if not isinstance(rows, list):
        raise InvalidAnswer("the reranker sent no list of results", _unused_completion(tokens))
    scores: dict[int, float] = {}
    for row in rows:
        index, score = _parse_result(row)
        if index is None or score is None or index >= count:
            raise InvalidAnswer("the reranker sent a result without an index and a finite score", _unused_completion(tokens))
        if index in scores:
            raise InvalidAnswer("the reranker scored a text twice", _unused_completion(tokens))
        scores[index] = score
    if len(scores) < count:
        raise InvalidAnswer(f"the reranker scored {len(scores)} of {count} texts", _unused_completion(tokens))
    return Judgement([scores[place] for place in range(count)], tokens)


def _parse_result(row: Any) -> tuple[int | None, float | None]:
    """Index and score of a result; None: it is none."""
    if not isinstance(row, dict):
        return None, None
    index, score = row.get("index"), row.get("relevance_score", row.get("score"))
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        index = None
    if not isinstance(score, int | float) or isinstance(score, bool) or not abs(score) < LARGEST_SCORE:
        return index, None
    return index, float(score)


def _read_token_count(said: Any) -> int | None:
    """Tokens that a reply says it took: Jina, vLLM and Voyage count them; others count nothing, or something else."""
    usage = said.get("usage") if isinstance(said, dict) else None
    count = usage.get("total_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < LARGEST_COUNT else None


def _unused_completion(tokens: int | None) -> Completion:
    """Cost of an answer that is not used."""
    return Completion("", tokens, 0, 0)
