"""What is done for each kind of job."""

from service.jobs.runner import Handler
from service.passes.contradictions import contradictions
from service.passes.dream import dream
from service.passes.enrichment import enrich

HANDLERS: dict[str, Handler] = {"dream": dream, "enrich": enrich, "contradictions": contradictions}
