"""Any OpenAI-compatible `/v1/embeddings`: batched, retried with back-off, given up quickly when it is dead."""

import asyncio

import httpx
import numpy as np

from db.errors import LociError
from service.embedding.provider import EmbeddingError, RejectedText, Vectors, normalise_rows
from service.embedding.question_or_passage import Side, form_of, model_name
from service.endpoints import RetryPolicy, TemporaryFailure, client_for, retry_after, stream_reply_bytes
from service.json_parts import read_in_parts
from service.settings import EmbeddingSettings

ATTEMPTS = 4
LONGEST_PAUSE_SECONDS = 30.0  # seconds between two of them, whatever the endpoint asks for
BESIDE = 64 * 1024  # bytes of a reply for what is no number
OF_A_NUMBER, MOST_DIMENSIONS = 32, 4000
REFUSALS = {400, 413, 422}  # of the texts; any other error (a wrong key, a busy server) may pass


class OpenAIProvider:
    """Embeddings over HTTP. After a failure, queries fail at once for a while instead of waiting again."""

    weight = 1.0
    focus = 0.0

    def __init__(self, settings: EmbeddingSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._settings = settings
        self.name = f"openai/{model_name(settings)}"
        self._form = form_of(settings)
        self._client = client_for(
            settings.endpoint, settings.api_key, "LOCI_EMBEDDING__API_KEY", timeout=settings.timeout, transport=transport
        )
        self._url = settings.endpoint.rstrip("/") + "/embeddings"
        self._dimensions = settings.dimensions
        self._patience = RetryPolicy("the embedding endpoint", longest=LONGEST_PAUSE_SECONDS)

    async def dimensions(self) -> int:
        """As configured, else as long as a first vector turns out to be."""
        if self._dimensions is None:
            self._dimensions = (await self.embed(["dimensions"])).shape[1]
        return self._dimensions

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed in requests of `batch` texts. With a `timeout` (a waiting recall): one attempt, none while it is dead."""
        return await self._embed_in_batches(texts, self._form.passage, timeout)

    async def embed_questions(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """The same for questions."""
        return await self._embed_in_batches(texts, self._form.question, timeout)

    async def _embed_in_batches(self, texts: list[str], side: Side, timeout: float | None) -> Vectors:
        size = self._settings.batch
        parts = [await self._request_with_retries(texts[i : i + size], side, timeout) for i in range(0, len(texts), size)]
        return normalise_rows(np.concatenate(parts))

    async def _request_with_retries(self, texts: list[str], side: Side, timeout: float | None) -> Vectors:
        hurried = timeout is not None
        try:
            return await self._patience.ask_until_success(
                lambda: self._request_once(texts, side, timeout), attempts=1 if hurried else ATTEMPTS, hurried=hurried
            )
        except TemporaryFailure as failure:
            raise EmbeddingError(str(failure)) from None

    async def _request_once(self, texts: list[str], side: Side, timeout: float | None) -> Vectors:
        inputs = [side.prefix + text[: self._settings.max_chars] or " " for text in texts]
        body: dict[str, object] = {"model": self._settings.model, "input": inputs}
        if side.type:
            body[self._form.type_field] = side.type
        if self._settings.dimensions:
            body[self._form.dimensions_field] = self._settings.dimensions
        seconds = timeout or self._settings.timeout
        try:
            async with asyncio.timeout(seconds), self._client.stream("POST", self._url, json=body, timeout=seconds) as reply:
                most = BESIDE + len(texts) * MOST_DIMENSIONS * OF_A_NUMBER
                said = b"".join([piece async for piece in stream_reply_bytes(reply, most)])
            if reply.status_code in REFUSALS:
                raise RejectedText(f"the embedding endpoint answered {reply.status_code}: {said[:200].decode(errors='replace')}")
            if reply.is_success:
                return await asyncio.to_thread(
                    _parse_vectors, said, len(texts), self._dimensions, cut=bool(self._settings.dimensions)
                )
        except (httpx.TimeoutException, TimeoutError):
            raise TemporaryFailure(f"the embedding endpoint sent no answer within {seconds:g} s") from None
        except (httpx.HTTPError, LociError, ValueError, KeyError, TypeError) as error:
            raise TemporaryFailure(f"the embedding endpoint failed: {error.__class__.__name__}: {str(error)[:200]}") from None
        raise TemporaryFailure(f"the embedding endpoint answered {reply.status_code}", wait=retry_after(reply))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _parse_vectors(said: bytes, count: int, dimensions: int | None, *, cut: bool) -> Vectors:
    """The vectors of a reply in the order of the request; `cut`: longer ones are cut, by servers that do not do it themselves.

    Raises LociError or ValueError for a reply that does not hold them.
    """
    data = sorted(read_in_parts(said)["data"], key=lambda item: item["index"])
    vectors = np.array([item["embedding"] for item in data], dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():  # noqa: PLR2004 (a matrix)
        raise ValueError(f"{count} vectors were asked for, and the reply holds {vectors.shape}")
    if cut:
        vectors = vectors[:, :dimensions]
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise ValueError(f"vectors of {dimensions} dimensions were asked for, and these have {vectors.shape[1]}")
    return vectors
