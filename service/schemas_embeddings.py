"""Embedding models, and how far the one is that is being filled."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field


class EmbeddingModel(BaseModel):
    """A model that makes vectors, or has made some."""

    id: int = Field(description="Number of the model")
    name: str = Field(description="Provider and model, such as static/wordllama-256")
    dimensions: int = Field(description="Length of its vectors")
    asks: int | None = Field(description="Dimensions that an endpoint is asked for; null: as many as it gives")
    state: Literal["active", "filling", "retired", "dropped"] = Field(
        description="active: recall asks it; filling: is to take its place; retired: its vectors are being dropped; dropped"
    )
    chosen: bool = Field(description="Whether somebody asked for it by name")
    waiting: int = Field(description="Memories and entities of the namespaces you may read that wait for a vector of it")
    refused: int = Field(description="The same of those that it refused for good")
    queued_at: datetime | None = Field(description="When all of before waited for it; null: not yet, or it was the first")
    created_at: datetime
    dropped_at: datetime | None = Field(description="When the last of its vectors was dropped; null: some are left")


class EmbeddingModels(BaseModel):
    """All models, the active one first."""

    items: list[EmbeddingModel]
