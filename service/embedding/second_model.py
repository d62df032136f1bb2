"""The second embedding model, as an option: what makes its vectors here, and whether the database has it as its second.

A process asks the second model that its own settings name, and no other: a question goes to no place that nobody here has chosen.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from db.models.reembedding import ModelInUse
from db.pool import JsonObject
from service.embedding.factory import make_provider
from service.embedding.provider import Provider
from service.embedding.timed import Timed
from service.settings import SecondEmbeddingSettings, Settings, seconds_within_request

log = logging.getLogger(__name__)


@dataclass
class SecondModel:
    """A configured second model. `serving`: its row where the database has it as its second; None: it is not asked."""

    settings: SecondEmbeddingSettings
    provider: Provider
    serving: ModelInUse | None = field(default=None, init=False)

    def follow(self, rows: Sequence[ModelInUse]) -> None:
        """Look among the models in use whether it is the second one."""
        row = next((row for row in rows if row["state"] == "second"), None)
        mine = row is not None and row["name"] == self.provider.name
        if row is not None and mine and self.serving is None:
            log.info("the second embedding model is %s", row["name"])
        self.serving = row if mine else None

    async def model(self) -> JsonObject:
        """Its name, its dimensions, and those that an endpoint is asked for, as stored. Raises EmbeddingError."""
        asks = self.settings.dimensions if self.settings.provider == "openai" else None
        return {"name": self.provider.name, "dimensions": await self.provider.dimensions(), "asks": asks}


def second_settings(settings: Settings) -> SecondEmbeddingSettings:
    """The settings of the second model; a recall waits for it no longer than leaves it time to answer."""
    second = settings.second_embedding
    return second.model_copy(update={"query_timeout": seconds_within_request(second.query_timeout, settings.deadlines.read)})


def make_second_model(settings: SecondEmbeddingSettings, first: Provider | None) -> SecondModel | None:
    """The configured second model; None: there is none. Raises RuntimeError where it is none beside the first."""
    made = make_provider(settings)
    if made is None:
        return None
    if first is None:
        raise RuntimeError("LOCI_SECOND_EMBEDDING__PROVIDER names a second model, and LOCI_EMBEDDING__PROVIDER no first one")
    if made.name == first.name:
        raise RuntimeError(f"LOCI_SECOND_EMBEDDING names {made.name}, which is the first model: name another, or none")
    return SecondModel(settings, Timed(made, settings.weight))
