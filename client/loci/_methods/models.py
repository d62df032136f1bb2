"""Models: embedding models, calls of language models, and the budget for them."""

from datetime import date
from typing import Literal

from loci.descriptors import C, Group, listing, operation
from loci.models.jobs import JobQueued
from loci.models.models import EmbeddingModels, ModelCall, ModelUsage
from loci.requests import API, Id, Moment, Page, Request, get, page, post


class Models(Group[C]):
    """Operations on models."""

    @operation
    def list(self) -> Request[EmbeddingModels]:
        """Embedding models: the active one, one that is being filled behind it, and those of before."""
        return get(EmbeddingModels, "/embeddings/models")

    @operation
    def project_memories(
        self,
        *,
        dims: Literal[2, 3] | None = None,
        method: Literal["pca", "umap"] | None = None,
        known_at: Moment | None = None,
        clusters: bool | None = None,
    ) -> Request[bytes]:
        """The map of all memories in binary: magic, header and columns, as docs/page.md describes; with names of `clusters`."""
        return Request(
            method="GET",
            route=API + "/embeddings/projection",
            query={"dims": dims, "method": method, "known_at": known_at, "clusters": clusters},
            read=lambda response: response.content,
        )

    @operation
    def make_projection(self, *, dims: Literal[2, 3] | None = None, method: Literal["umap"] | None = None) -> Request[JobQueued]:
        """Lay the map out anew by UMAP, as a job, whose result says how far it is; `project_memories` then brings it."""
        return post(JobQueued, "/embeddings/projection", dims=dims, method=method)

    @listing
    def list_calls(
        self, *, purpose: str | None = None, job_id: Id | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Request[Page[ModelCall]]:
        """List calls of the language model, newest first: what for, tokens, cost and time. Of one purpose, or of one job."""
        return page(ModelCall, "/model-calls", purpose=purpose, job_id=job_id, limit=limit, cursor=cursor)

    @operation
    def usage(self, *, day: date | str | None = None) -> Request[ModelUsage]:
        """Tokens and cost of a day's calls of the language model (UTC; default: today), and the budget that is left."""
        return get(ModelUsage, "/model-usage", day=day)
