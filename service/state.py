"""What a running service holds."""

from dataclasses import dataclass

from db.pool import Pool
from service.access.key_usage import KeyUsageCounts
from service.access.limits import Limiter
from service.embedding.provider import Provider
from service.observability.monitor import Monitor
from service.operations.feed import Feed
from service.resources import Resources
from service.settings import Settings
from service.worker.worker import Worker


@dataclass
class State:
    """Pool, provider and all that a process runs beside its requests; `url` is how it reaches the database as loci_app.

    `work` is what jobs are given, and what requests ask a language model with.
    """

    settings: Settings
    url: str
    pool: Pool
    provider: Provider | None
    work: Resources
    worker: Worker
    monitor: Monitor
    feed: Feed
    limiter: Limiter
    uses: KeyUsageCounts
