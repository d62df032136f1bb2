"""Which model this process embeds with: the one that is active in the database, whatever the settings say.

The active model can change while processes run. Each recall is told by the database which one is active; a process that still has
another one makes a provider for the new one, from its name and the settings here, and embeds the question anew.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from db.models import reembedding
from db.models.reembedding import ModelInUse
from db.pool import Transaction
from service.embedding.factory import make_provider
from service.embedding.provider import EmbeddingError, Provider, Vectors, Words, embed_questions, question_words
from service.embedding.question_or_passage import settings_for
from service.embedding.second_model import SecondModel, make_second_model
from service.embedding.timed import Timed
from service.settings import EmbeddingSettings, SecondEmbeddingSettings

log = logging.getLogger(__name__)
UNKNOWN = 0  # number of no model


@dataclass(frozen=True)
class ActiveModel:
    """A model of the database, and what makes its vectors here; None: `problem` says why.

    `model` is its number: 0 before the first look and where there is none, None of a provider that follows no database.
    """

    model: int | None
    provider: Provider | None
    problem: str | None = None
    dimensions: int | None = None

    async def embed(self, texts: list[str], *, timeout: float | None = None, questions: bool = False) -> Vectors:
        """Embed texts with this model: passages, or `questions`. Raises EmbeddingError."""
        if self.provider is None:
            raise EmbeddingError(self.problem or "no embedding model can be asked here")
        made = embed_questions(self.provider, texts, timeout=timeout) if questions else self.provider.embed(texts, timeout=timeout)
        vectors = await made
        if self.dimensions is not None and vectors.shape[1] != self.dimensions:
            raise EmbeddingError(f"the embedding endpoint failed: vectors of {vectors.shape[1]} dimensions, not {self.dimensions}")
        return vectors


class ActiveProvider:
    """A provider that follows the active model. It begins with the configured one; `follow_active_model` looks which is active."""

    def __init__(self, settings: EmbeddingSettings, configured: Provider, second: SecondModel | None = None) -> None:
        self._settings = settings
        self.configured = configured
        self.second = second
        self._made: dict[str, Provider | str] = {configured.name: configured}  # or why it cannot be made
        self._making = asyncio.Lock()
        self.serving = ActiveModel(UNKNOWN, configured)

    @property
    def name(self) -> str:
        """Name of the model that is used."""
        return (self.serving.provider or self.configured).name

    @property
    def weight(self) -> float:
        """See Provider."""
        return (self.serving.provider or self.configured).weight

    @property
    def focus(self) -> float:
        """See Provider."""
        return (self.serving.provider or self.configured).focus

    async def dimensions(self) -> int:
        """Length of the vectors of the model that is used."""
        return await (self.serving.provider or self.configured).dimensions()

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed texts with the model that is used."""
        return await self.serving.embed(texts, timeout=timeout)

    async def follow_active_model(self, tx: Transaction) -> ActiveModel:
        """Look which model is active, and use it from here on. One that is being filled is made ready."""
        in_use = await reembedding.embedding_models_in_use(tx)
        rows = {row["state"]: row for row in in_use}
        if self.second is not None:
            self.second.follow(in_use)
        if "filling" in rows:
            await self._make_provider(rows["filling"])
        active = rows.get("active")
        if active is None:
            self.serving = ActiveModel(UNKNOWN, self.configured)
        elif active["id"] != self.serving.model:
            made = await self._make_provider(active)
            provider, problem = (None, made) if isinstance(made, str) else (made, None)
            self.serving = ActiveModel(active["id"], provider, problem, active["dimensions"])
            if active["name"] != self.configured.name:
                log.warning("the embedding model %s is active, and %s is configured", active["name"], self.configured.name)
        return self.serving

    async def _make_provider(self, row: ModelInUse) -> Provider | str:
        """A provider for a model of the database, or why there is none here."""
        async with self._making:
            name = row["name"]
            if name not in self._made:
                try:
                    self._made[name] = Timed(await asyncio.to_thread(make_provider_for, self._settings, row))
                except RuntimeError as error:
                    self._made[name] = f"the model {name} cannot be asked here: {error}"
                    log.warning("%s", self._made[name])
            return self._made[name]

    @property
    def automatic_limit(self) -> int:
        """Memories and entities up to which a worker changes to the configured model by itself."""
        return self._settings.automatic

    def describe_model(self, dimensions: int) -> dict[str, Any]:
        """The configured model as the database knows it: name, dimensions, and those that an endpoint is asked for."""
        asks = self._settings.dimensions if self._settings.provider == "openai" else None
        return {"name": self.configured.name, "dimensions": dimensions, "asks": asks}

    async def close(self) -> None:
        """Release what all of them hold."""
        for made in self._made.values():
            if not isinstance(made, str):
                await made.close()
        if self.second is not None:
            await self.second.provider.close()


def make_provider_for(settings: EmbeddingSettings, row: Mapping[str, Any]) -> Provider:
    """A provider for a model of the database, by its name and with the endpoint that is configured here. Raises RuntimeError.

    An endpoint is asked only where the settings name one: a question goes to no place that nobody here has chosen.
    """
    kind, _, model = row["name"].partition("/")
    if kind not in {"static", "minilm", "openai"}:
        raise RuntimeError(f"there is no provider {kind}")
    if kind == "openai" and settings.provider != "openai" and "endpoint" not in settings.model_fields_set:
        raise RuntimeError("no endpoint is configured: set LOCI_EMBEDDING__ENDPOINT")
    if kind == "openai":
        wanted = settings_for(settings, model, row["asks"])
    else:
        wanted = settings.model_copy(update={"provider": kind, "model": model, "dimensions": row["dimensions"]})
    made = make_provider(wanted)
    if made is None or made.name != row["name"]:
        raise RuntimeError("this version does not know the model")
    return made


def make_active_provider(settings: EmbeddingSettings, second: SecondEmbeddingSettings | None = None) -> ActiveProvider | None:
    """Provider of embeddings of this process; None where the provider is `none`: such a process asks no model, whichever is active.

    Raises RuntimeError where the second model cannot be one beside it.
    """
    made = make_provider(settings)
    beside = None if second is None else make_second_model(second, made)
    return None if made is None else ActiveProvider(settings, Timed(made, settings.weight), beside)


def active_model(provider: Provider | None) -> ActiveModel:
    """The present embedder; of a provider that follows nothing the model is not known."""
    if isinstance(provider, ActiveProvider):
        return provider.serving
    return ActiveModel(None, provider, None if provider else "no embedding model is configured")


async def find_active_model(provider: Provider | None, tx: Transaction) -> ActiveModel:
    """The present embedder, after a look at which model is active."""
    return await provider.follow_active_model(tx) if isinstance(provider, ActiveProvider) else active_model(provider)


async def embed_words(query: str, used: ActiveModel, settings: EmbeddingSettings) -> Words | None:
    """A question word by word, where the model can tell words apart."""
    words = await question_words(used.provider, query[: settings.max_chars]) if used.provider is not None else None
    return words if words is not None and used.dimensions in {None, words.vectors.shape[1]} else None


async def embed_question(
    query: str, used: ActiveModel, settings: EmbeddingSettings
) -> tuple[NDArray[np.float32] | None, str | None]:
    """The vector of a question, or None and the reason why there is none."""
    try:
        vectors = await used.embed([query[: settings.max_chars]], timeout=settings.query_timeout, questions=True)
    except EmbeddingError as error:
        return None, str(error)
    first: NDArray[np.float32] = vectors[0]
    return first, None
