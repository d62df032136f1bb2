"""REST: one module a subject. A route is thin: a schema in, one call, rows out."""

from fastapi import APIRouter

from service.api import (
    aspects,
    edges,
    entities,
    feedback,
    health,
    identity,
    keys,
    memories,
    namespaces,
    recall,
    supersessions,
    transfer,
    walk,
)

API = "/api/v1"
ROUTERS: list[tuple[APIRouter, str]] = [
    (health.router, ""),
    (namespaces.router, API),
    (transfer.router, API),
    (keys.router, API),
    (memories.router, API),
    (recall.router, API),
    (identity.router, API),
    (entities.router, API),
    (edges.router, API),
    (aspects.router, API),
    (supersessions.router, API),
    (walk.router, API),
    (feedback.router, API),
]
