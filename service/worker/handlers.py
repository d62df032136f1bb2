"""Handlers of jobs, by kind."""

from service.dreams.contradictions import judge_contradictions
from service.dreams.dream import run_dream
from service.dreams.enrichment import enrich_memory
from service.jobs.runner import Handler
from service.models.umap_job import run_layout
from service.recall.tuning import run_tuning
from service.retain.settle_contradictions import settle_pairs

HANDLERS: dict[str, Handler] = {
    "dream": run_dream,
    "enrich": enrich_memory,
    "contradictions": judge_contradictions,
    "settle": settle_pairs,
    "tune": run_tuning,
    "project": run_layout,
}
