"""REST: one module a subject. A route is thin: a schema in, one call, rows out."""

from fastapi import APIRouter

from service.api import (
    aspects,
    changes,
    context,
    conversations,
    edges,
    entities,
    feedback,
    grants,
    health,
    identity,
    keys,
    memories,
    namespaces,
    operations,
    recall,
    retain,
    supersessions,
    transfer,
    undoing,
    walk,
    working_memory,
)

API = "/api/v1"
ROUTERS: list[tuple[APIRouter, str]] = [
    (health.router, ""),
    (namespaces.router, API),
    (transfer.router, API),
    (keys.router, API),
    (operations.router, API),
    (grants.router, API),
    (memories.router, API),
    (recall.router, API),
    (context.router, API),
    (retain.router, API),
    (identity.router, API),
    (aspects.router, API),
    (entities.router, API),  # its GET /entities/{ref} takes names with slashes, so it comes after longer paths
    (edges.router, API),
    (supersessions.router, API),
    (walk.router, API),
    (feedback.router, API),
    (working_memory.router, API),
    (conversations.router, API),
    (changes.router, API),
    (undoing.router, API),
]
