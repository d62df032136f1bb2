"""Models: embedding models, calls of language models, and the budget for them."""

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.fields import CreatedAt, Id, Items, Model, NextCursor


class EmbeddingModel(BaseModel):
    """A model that makes vectors, or has made some."""

    id: int = Field(description="Number of the model")
    name: str = Field(description="Provider and model, such as static/wordllama-256")
    dimensions: int = Field(description="Length of its vectors")
    asks: int | None = Field(description="Dimensions that an endpoint is asked for; null: as many as it gives")
    state: Literal["active", "second", "filling", "retired", "dropped"] = Field(
        description="active: recall asks it; second: its vectors of memories join those of the active one; filling: is to take the "
        "place of the active one; retired: its vectors are being dropped; dropped"
    )
    chosen: bool = Field(description="Whether somebody asked for it by name")
    waiting: int = Field(description="Memories and entities of the namespaces you may read that wait for a vector of it")
    refused: int = Field(description="The same of those that it refused for good")
    queued_at: datetime | None = Field(description="When all of before waited for it; null: not yet, or it was the first")
    created_at: CreatedAt
    dropped_at: datetime | None = Field(description="When the last of its vectors was dropped; null: some are left")


class EmbeddingModels(BaseModel):
    """All models, the active one first."""

    items: Items[EmbeddingModel]


class ProjectionInput(Model):
    """A map to be laid out."""

    dims: Literal[2, 3] = Field(default=2, description="A flat map, or one in space")
    method: Literal["umap"] = Field(default="umap", description="umap; principal components need no job")


class ModelUse(BaseModel):
    """What the calls of a language model took."""

    calls: int = Field(description="How many calls")
    prompt_tokens: int = Field(description="Tokens that were sent")
    completion_tokens: int = Field(description="Tokens that came back")
    cost: float = Field(description="By the prices in the service's settings; 0 without prices")
    took_ms: int = Field(description="Milliseconds that they took")


ModelCallState = Literal["running", "succeeded", "failed"]


class ModelCall(BaseModel):
    """A call of a language model: what for, tokens, cost and time. What was sent and answered is not kept."""

    id: Id
    job_id: UUID | None = Field(description="The job that made it; null: a request did")
    purpose: str = Field(
        description="What for: memories, entities, preferences, graph, contradictions, enrichment, retain or reflect"
    )
    model: str = Field(description="Name of the model")
    state: ModelCallState = Field(description="running (also of a worker that died meanwhile), succeeded or failed")
    started_at: datetime = Field(description="When it began")
    took_ms: int | None = Field(description="Milliseconds until the whole answer was there, or it failed; null: it runs")
    prompt_tokens: int = Field(description="Tokens that were sent")
    completion_tokens: int = Field(description="Tokens that came back; while it runs, as many as may")
    estimated: bool = Field(description="Whether the tokens are reckoned from characters, because the endpoint did not count")
    cost: float = Field(description="By the prices in the service's settings; 0 without prices")
    error: str | None = Field(description="Why it failed")


class ModelCallPage(BaseModel):
    """A page of calls, newest first."""

    items: Items[ModelCall]
    next_cursor: NextCursor


class ModelUsage(BaseModel):
    """What calls of language models used on a day, and what is left of its budget."""

    day: date = Field(description="The day, of UTC")
    calls: int = Field(description="How many calls were begun")
    running: int = Field(description="How many of them run, or were lost with their worker: they count with what they reserved")
    failed: int = Field(description="How many of them failed")
    prompt_tokens: int = Field(description="Tokens that were sent")
    completion_tokens: int = Field(description="Tokens that came back")
    cost: float = Field(description="By the prices in the service's settings; 0 without prices")
    token_limit: int | None = Field(description="The setting model_tokens; null: any number")
    tokens_left: int | None = Field(description="What is left of it; null: any number")
    cost_limit: float | None = Field(description="The setting model_cost; null: any")
    cost_left: float | None = Field(description="What is left of it; null: any")
