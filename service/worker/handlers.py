"""What is done for each kind of job."""

from service.dreams.contradictions import judge_contradictions
from service.dreams.dream import run_dream
from service.dreams.enrichment import enrich_memory
from service.jobs.runner import Handler

HANDLERS: dict[str, Handler] = {"dream": run_dream, "enrich": enrich_memory, "contradictions": judge_contradictions}
