"""What a running service holds."""

from dataclasses import dataclass

from db.pool import Pool
from service.embedding import Provider
from service.feed import Feed
from service.figures import Monitor
from service.jobs.work import Work
from service.limits import Limiter
from service.settings import Settings
from service.uses import Uses
from service.worker import Worker


@dataclass
class State:
    """Pool, provider and all that a process runs beside its requests; `url` is how it reaches the database as loci_app.

    `work` is what jobs are given, and what requests ask a language model with.
    """

    settings: Settings
    url: str
    pool: Pool
    provider: Provider | None
    work: Work
    worker: Worker
    monitor: Monitor
    feed: Feed
    limiter: Limiter
    uses: Uses
