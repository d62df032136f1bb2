"""Access: API keys, grants, and who the caller is."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from loci.models.fields import Label, Model, Moment, NamespaceName

Scope = Literal["read", "write", "admin"]

RateLimit = Annotated[int, Field(ge=1, le=1_000_000)]

LONGEST_GRACE = 30 * 86_400


class KeyInput(Model):
    """A key to make: of a new agent, or a further one of `agent_id`."""

    role: Literal["reader", "writer", "admin"] | None = Field(
        default=None, description="Role of the new agent in the namespace (in each of `namespaces`); default writer"
    )
    name: Label = "key"
    expires_at: Moment | None = None
    scope: Scope = Field(default="admin", description="What the key does at most of what its agent may")
    namespaces: Annotated[list[NamespaceName], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Where the key works, the request's namespace among them; default: wherever its agent has a grant"
    )
    agent_id: UUID | None = Field(default=None, description="An agent of the namespace that this is a further key of")
    rate_limit: RateLimit | None = Field(default=None, description="Requests a minute; default: the service's")

    @property
    def first_namespace(self) -> str | None:
        """The namespace of a request that names one here and not in its header."""
        return self.namespaces[0] if self.namespaces else None

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        if self.agent_id is None:
            self.role = self.role or "writer"
        elif self.role is not None:
            raise ValueError("role must be left out with agent_id: the agent's grants hold; scope says what the key does of them")
        return self


class KeyChanges(Model):
    """What changes of a key; null takes a limit or an end away."""

    name: Label | None = None
    expires_at: Moment | None = None
    rate_limit: RateLimit | None = None


class RotationInput(Model):
    """How a key is replaced."""

    grace_seconds: int = Field(default=0, ge=0, le=LONGEST_GRACE, description="How long the old key goes on working")
    expires_at: Moment | None = Field(
        default=None, description="When the new key ends; default: it lives as long as the old one was given"
    )


Role = Literal["reader", "writer", "admin"]


class KeyOut(BaseModel):
    """An API key; the key itself is shown nowhere."""

    id: UUID
    name: str
    agent_id: UUID
    role: Role = Field(description="What the grants of its agent say in this namespace")
    scope: Scope = Field(description="What the key does at most of that")
    namespaces: list[str] | None = Field(description="Where it is kept to, as far as the caller may know; null: nowhere")
    rate_limit: int | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    replaced_by: UUID | None = Field(description="The key that took its place")
    last_used_at: datetime | None


class KeyPage(BaseModel):
    """A page of keys, newest first."""

    items: list[KeyOut]
    next_cursor: str | None


class KeyMade(KeyOut):
    """A key that was made."""

    key: str = Field(description="Shown this once")


class KeyRotated(KeyMade):
    """A key that took the place of another."""

    replaces: UUID
    old_ends_at: datetime = Field(description="When the old key ends, or has ended")


class KeyUse(BaseModel):
    """Requests with a key in one hour, from one address, with one outcome."""

    namespace: str | None
    hour: datetime
    address: str | None
    outcome: Literal["answered", "refused", "limited", "unauthorized"]
    requests: int
    first_at: datetime
    last_at: datetime


class KeyUsePage(BaseModel):
    """A page of uses, newest first."""

    items: list[KeyUse]
    next_cursor: str | None


class Refusal(BaseModel):
    """Requests with keys that are not valid, in one hour from one address."""

    hour: datetime
    address: str | None
    outcome: Literal["unauthorized", "limited"]
    requests: int
    first_at: datetime
    last_at: datetime


class RefusalPage(BaseModel):
    """A page of refusals, newest first."""

    items: list[Refusal]
    next_cursor: str | None


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
