"""Grants, and who the caller is."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from service.schemas_fields import Model, Moment

Role = Literal["reader", "writer", "admin"]


class GrantInput(Model):
    """The role that an agent is to have."""

    role: Role
    expires_at: Moment | None = None


class GrantBase(BaseModel):
    """The role of an agent in the namespace; void from `expires_at` on (null: for good)."""

    agent_id: UUID
    agent: str
    kind: Literal["key", "analyst"]
    role: Role
    expires_at: datetime | None
    created_at: datetime


class GrantSet(GrantBase):
    """A grant as it stands now, and whether the agent had none before."""

    created: bool


class GrantOut(GrantBase):
    """A grant, and whether it is void by now."""

    expired: bool


class GrantPage(BaseModel):
    """A page of grants, in order of the agents' ids."""

    items: list[GrantOut]
    next_cursor: str | None


class OwnGrant(BaseModel):
    """A role of the caller in a namespace."""

    namespace: str
    role: Role
    expires_at: datetime | None


class Me(BaseModel):
    """The caller. `grants` of the operator is null: it is admin everywhere."""

    agent_id: UUID
    name: str
    kind: Literal["operator", "key", "analyst"]
    key_id: UUID | None
    created_at: datetime
    grants: list[OwnGrant] | None
