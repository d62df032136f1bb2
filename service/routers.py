"""The routers of all subjects, in the order in which their paths are looked at."""

from functools import cache

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from service.access import browser_sessions
from service.access.routes import grant_routes, key_routes
from service.dreams import routes as dreams
from service.facts.routes import aspect_routes, supersession_routes, walk_routes
from service.graph.routes import edges, entities, merges, traversal
from service.hierarchy import routes as hierarchy
from service.http import documentation, page
from service.http.large_bodies import Router
from service.http.middleware import API
from service.jobs import routes as jobs
from service.mcp.profiles import routes as profiles
from service.memories import routes as memories
from service.models.routes import call_routes, embedding_routes
from service.namespaces import routes as namespaces
from service.observability import routes as observability
from service.operations.routes import feed, log, undo
from service.recall import routes as recall
from service.retain import routes as retain
from service.sessions.routes import context, conversations, feedback, working_memory
from service.transfer import routes as transfer

ROUTERS: list[tuple[Router, str]] = [
    (recall.router, API),  # what is asked for most is found first: looking through all of them took a tenth of a recall
    (memories.router, API),
    (context.router, API),
    (observability.router, ""),
    (documentation.router, ""),
    (page.router, ""),
    (browser_sessions.router, ""),
    (namespaces.router, API),
    (transfer.router, API),
    (key_routes, API),
    (log.router, API),
    (call_routes, API),
    (grant_routes, API),
    (hierarchy.router, API),
    (memories.version_routes, API),  # GET /memories/{id} takes names of lineages with slashes, so it comes after longer paths
    (retain.router, API),
    (dreams.router, API),
    (embedding_routes, API),
    (merges.router, API),
    (aspect_routes, API),
    (entities.router, API),  # its GET /entities/{ref} takes names with slashes, so it comes after longer paths
    (edges.router, API),
    (traversal.router, API),
    (supersession_routes, API),
    (walk_routes, API),
    (feedback.router, API),
    (dreams.signal_routes, API),
    (working_memory.router, API),
    (conversations.router, API),
    (feed.router, API),
    (undo.router, API),
    (jobs.router, API),
    (profiles.router, API),
]


@cache
def shared_routes() -> tuple[BaseRoute, ...]:
    """The routes of them all, for every application of a process: what they take is worked out when they are first asked for."""
    whole = Router()
    for router, prefix in ROUTERS:
        whole.include_router(router, prefix=prefix)
    return tuple(whole.routes)


@cache
def known_methods() -> dict[str, set[str]]:
    """Methods that each path of the OpenAPI document knows, without the document: that takes most of a second to make."""
    known: dict[str, set[str]] = {}
    for router, prefix in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                known.setdefault(prefix + route.path_format, set()).update(route.methods or ())
    return known
