"""The server: whether it answers and can serve."""

from typing import Literal

from pydantic import BaseModel


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Check(BaseModel):
    """Something that must hold before the service can serve."""

    name: str
    ok: bool
    detail: str


class Readiness(BaseModel):
    """Whether the service can serve, and why not."""

    status: Literal["ready", "not ready"]
    checks: list[Check]
