"""The server: whether it answers and can serve."""

from typing import Literal

from pydantic import BaseModel, Field


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"] = Field(description="Always ok")


class Check(BaseModel):
    """Something that must hold before the service can serve."""

    name: str = Field(description="What was looked at")
    ok: bool = Field(description="Whether it holds")
    detail: str = Field(description="What was found")


class Readiness(BaseModel):
    """Whether the service can serve, and why not."""

    status: Literal["ready", "degraded", "not ready"] = Field(
        description="ready; degraded: it serves, but background work has failed a moment ago; or not ready"
    )
    checks: list[Check] = Field(description="What was looked at")
