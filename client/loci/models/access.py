"""Access: API keys, grants, and who the caller is."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from loci.models.fields import UNQUOTED, CreatedAt, Id, Items, Label, Model, Moment, NamespaceName, NextCursor, Text, TimeZone

Scope = Literal["read", "write", "admin"]

RateLimit = Annotated[int, Field(ge=1, le=1_000_000), UNQUOTED]

KeySpace = Annotated[
    Text,
    Field(
        pattern=r"^[^/]+(/[^/]+)?$",
        max_length=255,
        examples=["session", "patrol/heartbeat"],
        json_schema_extra={"pattern": r"^[^/\u0000-\u001f\u007f-\u009f]+(/[^/\u0000-\u001f\u007f-\u009f]+)?$"},
    ),
]
SPACE = "Where it writes in working memory at its agent's home: a space (patrol/heartbeat), or all under a segment (session)"

USER = "The user for whom its agent speaks and asks with it; no call can name another"
ZONE = "Time zone of the one who asks with it, such as Europe/Berlin: yesterday is told by it where a question states none"

LONGEST_GRACE = 30 * 86_400


class KeyInput(Model):
    """A key to make: of a new agent, or a further one of `agent_id`."""

    role: Literal["reader", "writer", "admin"] | None = Field(
        default=None, description="Role of the new agent in the namespace (in each of `namespaces`); default writer"
    )
    name: Label = Field(default="key", description="What you call it")
    expires_at: Moment | None = Field(default=None, description="When it ends; default: never")
    scope: Scope = Field(default="admin", description="What the key does at most of what its agent may")
    namespaces: Annotated[list[NamespaceName], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Where the key works, the request's namespace among them; default: wherever its agent has a grant"
    )
    agent_id: UUID | None = Field(default=None, description="An agent at home in the namespace that this is a further key of")
    rate_limit: RateLimit | None = Field(default=None, description="Requests a minute; default: the service's")
    default_namespace: NamespaceName | None = Field(
        default=None, description="Namespace of requests that name none, fixed for good; default: the agent's home"
    )
    space: KeySpace | None = Field(default=None, description=f"{SPACE}; default: agent/ and the agent's id")
    user: Label | None = Field(default=None, description=f"{USER}; default: nobody in particular")
    time_zone: TimeZone | None = Field(default=None, description=f"{ZONE}; default: UTC")

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

    name: Label | None = Field(default=None, description="What you call it")
    expires_at: Moment | None = Field(default=None, description="When it ends; null: never")
    rate_limit: RateLimit | None = Field(default=None, description="Requests a minute; null: the service's default")
    time_zone: TimeZone | None = Field(default=None, description=f"{ZONE}; null: UTC")


class RotationInput(Model):
    """How a key is replaced."""

    grace_seconds: Annotated[int, Field(ge=0, le=LONGEST_GRACE), UNQUOTED] = Field(
        default=0, description="How long the old key goes on working"
    )
    expires_at: Moment | None = Field(
        default=None, description="When the new key ends; default: it lives as long as the old one was given"
    )


Role = Literal["reader", "writer", "admin"]


class KeyOut(BaseModel):
    """An API key; the key itself is shown nowhere."""

    id: Id
    name: str = Field(description="What it was called")
    agent_id: UUID = Field(description="The agent that it is a key of")
    role: Role | None = Field(description="What the grants of its agent say in this namespace; null: nothing")
    scope: Scope = Field(description="What the key does at most of that")
    namespaces: list[str] | None = Field(description="Where it is kept to, as far as the caller may know; null: nowhere")
    default_namespace: str | None = Field(
        description="Namespace of requests that name none; null: one that the caller may not read"
    )
    space: str | None = Field(description=f"{SPACE}; null: agent/ and the agent's id")
    user: str | None = Field(description=f"{USER}; null: nobody in particular")
    time_zone: str | None = Field(description=f"{ZONE}; null: UTC")
    rate_limit: int | None = Field(description="Requests a minute; null: the service's default")
    created_at: datetime = Field(description="When it was made")
    expires_at: datetime | None = Field(description="When it ends; null: never")
    revoked_at: datetime | None = Field(description="When it was revoked; null: it was not")
    replaced_by: UUID | None = Field(description="The key that took its place")
    last_used_at: datetime | None = Field(description="When a request with it was last answered; seconds late")


class KeyPage(BaseModel):
    """A page of keys, newest first."""

    items: Items[KeyOut]
    next_cursor: NextCursor


class KeyMade(KeyOut):
    """A key that was made."""

    key: str = Field(description="Shown this once")


class KeyRotated(KeyMade):
    """A key that took the place of another."""

    replaces: UUID = Field(description="The key whose place it took")
    old_ends_at: datetime = Field(description="When the old key ends, or has ended")


class KeyUse(BaseModel):
    """Requests with a key in one hour, from one address, with one outcome."""

    namespace: str | None = Field(description="Namespace that the requests were for; null: none was known")
    hour: datetime = Field(description="The hour that was counted")
    address: str | None = Field(description="Address of the client")
    outcome: Literal["answered", "refused", "limited", "unauthorized"] = Field(
        description="What became of the requests: answered, refused (role), limited (too many) or unauthorized (no valid key)"
    )
    requests: int = Field(description="How many requests")
    first_at: datetime = Field(description="When the first of them came")
    last_at: datetime = Field(description="When the last of them came")


class KeyUsePage(BaseModel):
    """A page of uses, newest first."""

    items: Items[KeyUse]
    next_cursor: NextCursor


class Refusal(BaseModel):
    """Requests with keys that are not valid, in one hour from one address."""

    hour: datetime = Field(description="The hour that was counted")
    address: str | None = Field(description="Address of the client")
    outcome: Literal["unauthorized", "limited"] = Field(description="unauthorized (no valid key), or limited (too many)")
    requests: int = Field(description="How many requests")
    first_at: datetime = Field(description="When the first of them came")
    last_at: datetime = Field(description="When the last of them came")


class RefusalPage(BaseModel):
    """A page of refusals, newest first."""

    items: Items[Refusal]
    next_cursor: NextCursor


class GrantInput(Model):
    """The role that an agent is to have."""

    role: Role = Field(description="reader, writer or admin")
    expires_at: Moment | None = Field(default=None, description="When it ends; null: never")


class GrantBase(BaseModel):
    """The role of an agent in the namespace; void from `expires_at` on (null: for good)."""

    agent_id: UUID = Field(description="Id of the agent")
    agent: str | None = Field(description="Name of the agent; null: it is only invited")
    kind: Literal["key", "analyst"] | None = Field(
        description="key (a program) or analyst (a login of the database); null: it is only invited"
    )
    role: Role = Field(description="reader, writer or admin")
    expires_at: datetime | None = Field(description="When it ends; null: never")
    created_at: CreatedAt
    accepted: bool = Field(description="False: an invitation, which gives nothing until the agent accepts it")


class GrantSet(GrantBase):
    """A grant as it stands now, and whether the agent had none before."""

    created: bool = Field(description="False: the agent had a grant or an invitation, which is changed")


class GrantOut(GrantBase):
    """A grant, and whether it is void by now."""

    expired: bool = Field(description="Whether it is void by now")


class GrantPage(BaseModel):
    """A page of grants, in order of the agents' ids."""

    items: Items[GrantOut]
    next_cursor: NextCursor


class OwnGrant(BaseModel):
    """A role of the caller in a namespace."""

    namespace: str = Field(description="Name of the namespace")
    role: Role = Field(description="reader, writer or admin")
    expires_at: datetime | None = Field(description="When it ends; null: never")


class Invitation(OwnGrant):
    """A grant that waits for the caller to accept it."""

    created_at: CreatedAt


class InvitationPage(BaseModel):
    """A page of invitations, by namespace."""

    items: Items[Invitation]
    next_cursor: NextCursor


class Me(BaseModel):
    """The caller. `grants` of the operator is null: it is admin everywhere."""

    agent_id: UUID = Field(description="Id of the agent")
    name: str = Field(description="Name of the agent")
    kind: Literal["operator", "key", "analyst"] = Field(
        description="operator, key (a program) or analyst (a login of the database)"
    )
    home: str | None = Field(
        description="Namespace whose admins manage its keys; null: the operator does, or the caller may not read it"
    )
    key_id: UUID | None = Field(description="The key that was used; null: none")
    default_namespace: str | None = Field(
        description="Namespace of requests that name none; null: one that is not granted any more, or there is none"
    )
    space: str | None = Field(description="Where the key writes in working memory at home; null: agent/ and the agent's id")
    user: str | None = Field(description="The user for whom the key speaks and asks; null: nobody in particular")
    time_zone: str | None = Field(description=f"{ZONE}; null: UTC")
    created_at: datetime = Field(description="When the agent was made")
    grants: list[OwnGrant] | None = Field(description="Roles by namespace; null for the operator, who is admin everywhere")
