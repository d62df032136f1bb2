"""REST: one module a subject. A route is thin: a schema in, one call, rows out."""

from fastapi import APIRouter

from service.api import aspects, edges, entities, health, keys, memories, namespaces, recall, transfer

API = "/api/v1"
ROUTERS: list[tuple[APIRouter, str]] = [
    (health.router, ""),
    (namespaces.router, API),
    (transfer.router, API),
    (keys.router, API),
    (memories.router, API),
    (recall.router, API),
    (entities.router, API),
    (edges.router, API),
    (aspects.router, API),
]
