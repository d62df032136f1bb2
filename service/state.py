"""The parts of a running service."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from db.pool import Pool
from service.concurrency import FairTurns, SlotLimiter
from service.embedding.cache import VectorCache
from service.embedding.provider import Provider
from service.observability.gauges import Monitor
from service.observability.health import Probe
from service.resources import Resources
from service.settings import Settings
from service.spool import Spools
from service.supervision import Supervisor

if TYPE_CHECKING:  # the rooms that all subjects share know subjects by their types alone
    from service.access.key_usage import KeyUsageCounts
    from service.access.rate_limits import Limiter
    from service.operations.feed import Feed
    from service.standby_router import ReadRouter
    from service.worker.worker import Worker


@dataclass
class State:
    """Pool, provider and all that a process runs beside its requests; `url` is how it reaches the database as loci_app.

    `resources` is what requests ask a language model with. `pool` is shared by requests; `background` is for work behind them, and
    `control` for what must not wait for them: who a key belongs to, and whether the service is ready. `reads`: the standbys.
    """

    settings: Settings
    url: str
    pool: Pool
    provider: Provider | None
    resources: Resources
    worker: "Worker"
    monitor: Monitor
    feed: "Feed"
    limiter: "Limiter"
    uses: "KeyUsageCounts"
    worker_pool: Pool
    control: Pool
    probe: Probe
    spools: Spools
    streams: SlotLimiter
    body_turns: FairTurns
    background: Supervisor
    entry_vectors: VectorCache
    reads: "ReadRouter | None" = None
    cell: str | None = None  # number of the database's
