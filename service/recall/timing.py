"""Time of a recall, by phase as the service sees it and by arm as the database measured it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from db import traces
from service.observability.metrics import ARM_SECONDS, PHASE_SECONDS


@contextmanager
def time_phase(name: str) -> Iterator[None]:
    """Time a phase (embed, one_call; or arms, around), and make it a span."""
    started = time.perf_counter()
    with traces.span(f"recall {name}"):
        yield
    PHASE_SECONDS.labels(name).observe(time.perf_counter() - started)


def count_arm_seconds(took: Mapping[str, float]) -> None:
    """Count what each arm took, in seconds."""
    for arm, seconds in took.items():
        ARM_SECONDS.labels(arm).observe(seconds)


def milliseconds_since(started: float) -> float:
    """Milliseconds since a moment of time.perf_counter."""
    return round(1000 * (time.perf_counter() - started), 2)
