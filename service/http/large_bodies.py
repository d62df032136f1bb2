"""Bodies that are large, or hold much, are read and checked beside the event loop: by a thread, one at a time, each caller in turn.

The thread shares the interpreter with the loop, and is asked to let go of it after five milliseconds; so no step of it may be one
call that takes long. service/json_parts.py parses so, and each model of a body calls Python (`Model` in loci.models.fields).
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any, TypeVar

from fastapi import APIRouter, Request  # noqa: TID251 (Router is one)
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from db.cancellation import finish_despite_cancel
from db.errors import FieldError, Invalid
from service.http.problems import refusal_of
from service.json_parts import is_small, read_in_parts

T = TypeVar("T")


async def beside_loop(request: Request, work: Callable[..., T], *stated: Any) -> T:
    """Return what work does in a thread, when it is this caller's turn. It ends also if the client leaves."""
    owner = getattr(request.state, "owner", None) or (request.client or (None,))[0]
    async with request.app.state.loci.body_turns.wait_for_turn(owner):
        return await finish_despite_cancel(asyncio.to_thread(work, *stated))


class BodyRequest(Request):
    """A request whose body is one of a model."""

    model: type[BaseModel] | None = None

    async def json(self) -> Any:
        """The value of a body; of a large one, the model itself. Raises JSONDecodeError, UnicodeDecodeError, Invalid, TooLarge."""
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = json.loads(body) if is_small(body) else await beside_loop(self, read_model, body, self.model)
        return self._json


class BodyRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, over such a request."""
        handle = super().get_route_handler()
        model = self.body_field.field_info.annotation if self.body_field else None

        async def handle_body(request: Request) -> Response:
            reading = BodyRequest(request.scope, request.receive)
            reading.model = model if isinstance(model, type) and issubclass(model, BaseModel) else None
            return await handle(reading)

        return handle_body


class Router(APIRouter):
    """A router whose routes read their bodies so: every router of the service is one."""

    def __init__(self, *, prefix: str = "", tags: list[str | Enum] | None = None, include_in_schema: bool = True) -> None:
        super().__init__(
            prefix=prefix,
            tags=tags,
            include_in_schema=include_in_schema,
            route_class=BodyRoute,
            generate_unique_id_function=lambda route: route.name,  # the operations log calls them so too
        )


def read_model(body: bytes, model: type[BaseModel] | None) -> Any:
    """A body as a model, where there is one."""
    value = read_in_parts(body)
    if model is None:
        return value
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise refusal_of(error) from None


def check_parts(body: bytes) -> None:
    """Check a body that another parser will read: it is JSON, and holds no more than may be. Raises Invalid, TooLarge."""
    try:
        read_in_parts(body)
    except ValueError as error:
        raise Invalid(f"the body is not JSON: {error}", [FieldError("body", "is not JSON")]) from None
