"""Prometheus metrics of the service. docs/operations.md has the table of them; a test compares the two.

Several processes that serve one port share a folder, PROMETHEUS_MULTIPROC_DIR: then a scrape of any of them tells of all. A gauge
says with its mode how the values of several processes are one: `livesum` adds those that live, `livemostrecent` takes the newest.
"""

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from loci.version import __version__

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_FAST = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SLOW = (0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)
REQUESTS = Counter("loci_requests_total", "Requests by method, route and status.", ("method", "route", "status"))
REQUEST_SECONDS = Histogram("loci_request_seconds", "Time to answer a request, by route.", ("route",), buckets=_FAST)
REQUESTS_OPEN = Gauge("loci_requests_open", "Requests that are being answered.", multiprocess_mode="livesum")
EMBEDDED = Counter("loci_embedded_total", "Vectors of memories and entities written by this process.")
EMBED_SECONDS = Histogram(
    "loci_embed_seconds", "Time of the embedding provider, for the text of a question or a batch.", ("of",), buckets=_FAST
)
MODEL_CALLS = Counter(
    "loci_model_calls_total", "Calls of the language model, by what they were for and how they ended.", ("purpose", "outcome")
)
MODEL_TOKENS = Counter("loci_model_tokens_total", "Tokens that calls of the language model used.", ("of",))
MODEL_SECONDS = Histogram("loci_model_seconds", "Time of a call of the language model.", ("purpose",), buckets=_SLOW)
FAILURES = Counter("loci_worker_failures_total", "Batches of background work that failed and are tried again.", ("work",))
TASKS_ENDED = Counter("loci_task_ends_total", "Background tasks that ended, which none should, and were started again.", ("task",))
TASKS_FAILING = Gauge(
    "loci_tasks_failing", "Background tasks that ended less than a minute ago (1).", ("task",), multiprocess_mode="livesum"
)
EVENT_STREAMS = Gauge("loci_event_streams", "Open streams of changes.", multiprocess_mode="livesum")
WORK_SECONDS = Histogram(
    "loci_worker_seconds", "Time of a run of background work, also of one that found nothing to do.", ("work",), buckets=_FAST
)
WORK_ROWS = Counter("loci_worker_rows_total", "What background work has got done: vectors, texts, changes.", ("work",))
WORKED_AT = Gauge(
    "loci_worker_last_success_timestamp_seconds",
    "When background work last ended without failing.",
    ("work",),
    multiprocess_mode="max",
)
JOBS_ENDED = Counter("loci_job_tries_total", "Tries of jobs, by how they ended.", ("kind", "outcome"))
JOB_SECONDS = Histogram("loci_job_seconds", "Time of a try of a job.", ("kind",), buckets=_SLOW)
POOL = Gauge("loci_pool_connections", "Connections of the pool, by state.", ("state",), multiprocess_mode="livesum")
CONTEXTS = Counter("loci_contexts_total", "Contexts built, by the kind of their space.", ("kind",))
INJECTED = Counter("loci_injected_total", "Memories that contexts have injected.")
ARM_SECONDS = Histogram("loci_recall_arm_seconds", "Time of an arm of recall, measured in the database.", ("arm",), buckets=_FAST)
PHASE_SECONDS = Histogram(
    "loci_recall_phase_seconds", "Time of a phase of recall as the service sees it.", ("phase",), buckets=_FAST
)

READS = Counter("loci_reads_total", "Reads, by the kind of server that answered and why it did.", ("server", "why"))
NOTES = Gauge("loci_notes_waiting", "Notes of reads that wait for the primary.", multiprocess_mode="livesum")
NOTES_LOST = Counter("loci_notes_lost_total", "Notes of reads that were never written.")
STANDBY_UP = Gauge("loci_standby_up", "Whether a standby answers (1) or not (0).", ("standby",), multiprocess_mode="livemostrecent")
STANDBY_BEHIND = Gauge(
    "loci_standby_behind_seconds", "How far a standby is behind at most.", ("standby",), multiprocess_mode="livemostrecent"
)

_NEWEST: Literal["livemostrecent"] = "livemostrecent"
DATABASE_UP = Gauge("loci_database_up", "Whether the database answered a moment ago (1) or not (0).", multiprocess_mode=_NEWEST)
DATABASE_SECONDS = Gauge("loci_database_seconds", "How long it took to ask it for these figures.", multiprocess_mode=_NEWEST)
CONNECTIONS = Gauge("loci_database_connections", "Connections to the server, of everybody.", multiprocess_mode=_NEWEST)
CONNECTIONS_MAX = Gauge("loci_database_connections_max", "Connections that the server takes.", multiprocess_mode=_NEWEST)
QUEUE = Gauge("loci_queue_rows", "What waits, by queue; counted to 100,000.", ("queue",), multiprocess_mode=_NEWEST)
QUEUE_SECONDS = Gauge(
    "loci_queue_oldest_seconds", "How long the first of a queue has waited; 0: it is empty.", ("queue",), multiprocess_mode=_NEWEST
)
REFUSED = Gauge("loci_queue_refused", "Texts that the embedding provider refused for good.", ("queue",), multiprocess_mode=_NEWEST)
JOBS = Gauge(
    "loci_jobs", "Jobs that wait, run or are dead, by kind; counted to 100,000.", ("kind", "state"), multiprocess_mode=_NEWEST
)
JOBS_SECONDS = Gauge(
    "loci_jobs_oldest_seconds", "How long the first job that waits could have run; 0: none.", ("kind",), multiprocess_mode=_NEWEST
)
CELL = Gauge("loci_cell_info", "Cell of the database; none: it is no cell. Always 1.", ("cell",), multiprocess_mode=_NEWEST)
CELL_FOLLOWED = Gauge(
    "loci_cell_followed",
    "Whether another cell takes what this one knows of keys (1) or not (0).",
    ("other",),
    multiprocess_mode=_NEWEST,
)
CELL_BEHIND = Gauge("loci_cell_behind_bytes", "Log that another cell has not taken yet.", ("other",), multiprocess_mode=_NEWEST)
CELL_MOVES = Gauge("loci_cell_moves", "Moves of namespaces to other cells that are under way.", multiprocess_mode=_NEWEST)
JOB_WORKERS = Gauge("loci_job_workers", "Workers of jobs that have shown a sign of life.", multiprocess_mode=_NEWEST)
INVALID_INDEXES = Gauge("loci_invalid_indexes", "Indexes that are invalid or half-built.", multiprocess_mode=_NEWEST)
SCHEMA = Gauge(
    "loci_schema_current", "Whether the schema is at the revision of this version (1).", ("revision",), multiprocess_mode=_NEWEST
)

PROCESSES = Gauge("loci_processes", "Processes that serve or work here.", multiprocess_mode="livesum")
MEMORY = Gauge("loci_process_resident_bytes", "Memory of a process.", multiprocess_mode="liveall")
CPU = Gauge("loci_process_cpu_seconds", "Processor time of a process so far.", multiprocess_mode="liveall")
FILES = Gauge("loci_process_open_files", "Open files and connections of a process.", multiprocess_mode="liveall")
BUILD = Gauge("loci_build_info", "Version of Loci and of Python; always 1.", ("version", "python"), multiprocess_mode="max")


def note_process() -> None:
    """Set the metrics of this process: version and resources."""
    BUILD.labels(__version__, platform.python_version()).set(1)
    PROCESSES.set(1)
    times = os.times()
    CPU.set(times.user + times.system)
    with suppress(OSError):  # where there is no /proc
        MEMORY.set(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        FILES.set(len(os.listdir("/proc/self/fd")))  # noqa: PTH208 (names only, and quick)


def format_metrics() -> bytes:
    """All metrics as text: of this process, or of all that share its folder."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return generate_latest(REGISTRY)
    forget_the_dead(Path(folder))
    registry = CollectorRegistry()
    registry.register(_Shared(Path(folder)))
    return generate_latest(registry)


class _Shared(Collector):
    """Figures of all processes that share a folder.

    A file in which nothing stands yet was just begun by a process, or one was killed as it began it: the library would fail at it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        """Sums over the files."""
        begun = []
        for file in self._folder.glob("*.db"):
            with suppress(FileNotFoundError):  # another scrape has forgotten its process
                if file.stat().st_size:
                    begun.append(str(file))
        merged: Iterable[Metric] = MultiProcessCollector.merge(begun)  # type: ignore[no-untyped-call]
        return merged


def forget_the_dead(folder: Path) -> None:
    """Remove the gauges of processes that have ended; what they counted stays."""
    for process in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            for file in folder.glob(f"gauge_live*_{process}.db"):
                file.unlink(missing_ok=True)  # another process may forget it at the same moment
        except PermissionError:
            pass  # it lives, under another user
