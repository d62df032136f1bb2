"""What a running service holds."""

from dataclasses import dataclass

from db.pool import Pool
from service.embedding import Provider
from service.settings import Settings
from service.worker import Worker


@dataclass
class State:
    """Pool, provider and worker of this process; `url` is how it reaches the database as loci_app."""

    settings: Settings
    url: str
    pool: Pool
    provider: Provider | None
    worker: Worker
