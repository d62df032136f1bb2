"""Prometheus metrics of the service."""

from prometheus_client import Counter, Gauge, Histogram

_FAST = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
REQUESTS = Counter("loci_requests_total", "Requests by method, route and status.", ("method", "route", "status"))
REQUEST_SECONDS = Histogram("loci_request_seconds", "Time to answer a request, by route.", ("route",), buckets=_FAST)
EMBEDDED = Counter("loci_embedded_total", "Vectors of memories and entities written by this process.")
FAILURES = Counter("loci_worker_failures_total", "Batches of background work that failed and are tried again.", ("work",))
POOL = Gauge("loci_pool_connections", "Connections of the pool, by state.", ("state",))
CONTEXTS = Counter("loci_contexts_total", "Contexts built, by the kind of their space.", ("kind",))
INJECTED = Counter("loci_injected_total", "Memories that contexts have injected.")
