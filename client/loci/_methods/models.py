"""Models: embedding models, calls of language models, and the budget for them."""

from datetime import date

from loci.descriptors import listing, operation
from loci.models.models import EmbeddingModels, ModelCall, ModelUsage
from loci.requests import Id, Page, Request, get, page


class Models:
    """Operations on models."""

    @operation
    def list_models(self) -> Request[EmbeddingModels]:
        """Embedding models: the active one, one that is being filled behind it, and those of before."""
        return get(EmbeddingModels, "/embeddings/models")

    @listing
    def list_model_calls(
        self, *, purpose: str | None = None, job_id: Id | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Request[Page[ModelCall]]:
        """List calls of the language model, newest first: what for, tokens, cost and time. Of one purpose, or of one job."""
        return page(ModelCall, "/model-calls", purpose=purpose, job_id=job_id, limit=limit, cursor=cursor)

    @operation
    def model_usage(self, *, day: date | str | None = None) -> Request[ModelUsage]:
        """What calls of the language model have used on a day (UTC; default: today), and what is left of its budget."""
        return get(ModelUsage, "/model-usage", day=day)
