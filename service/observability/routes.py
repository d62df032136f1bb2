"""Whether the process lives, whether it can serve, and its figures."""

from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from db.errors import Unauthorized
from loci.models.server import Health, Readiness
from service.http.documented_problems import problem_response
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.observability.health import check_background
from service.observability.metrics_key import may_scrape
from service.state import State

router = Router(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """The process answers."""
    return reply_json({"status": "ok"})


@router.get("/readyz", response_model=Readiness, responses={503: {"model": Readiness, "description": "Not ready, and why"}})
async def readyz(request: Request) -> Response:
    """The service can serve: the database answers, migrations are at head, indexes are valid, the role is restricted.

    `degraded`: it serves, but a background task has ended by an error in the last minute.
    """
    state: State = request.app.state.loci
    checks = await state.probe.look_at_health()
    ready = all(check.ok for check in checks)
    background = check_background(state.background.list_failing_tasks())
    status = "not ready" if not ready else "ready" if background.ok else "degraded"
    body = {"status": status, "checks": [*checks, background]}
    return reply_json(body, 200 if ready else 503)


@router.get("/metrics", response_class=PlainTextResponse, responses={401: problem_response(401)})
async def metrics(
    request: Request,
    authorization: Annotated[str | None, Header(description="Bearer <LOCI_METRICS_KEY>, if one is set")] = None,
) -> Response:
    """Prometheus metrics: of this process, or of all that share its port. Answers at once, also while the database is away."""
    state: State = request.app.state.loci
    key = state.settings.metrics_key
    if not may_scrape(key, authorization, closed=state.settings.requires_keys):
        unset = "Set LOCI_METRICS_KEY for the service, and send" if key is None else "Send"
        raise Unauthorized("the key of /metrics is needed", hint=f"{unset} LOCI_METRICS_KEY as `Authorization: Bearer …`.")
    return Response(await state.monitor.scrape_metrics(), media_type=CONTENT_TYPE_LATEST)
