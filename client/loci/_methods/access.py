"""API keys, grants, and who the caller is."""

from dataclasses import replace
from typing import Literal

from loci.descriptors import listing, operation
from loci.models.access import GrantBase, GrantOut, GrantSet, KeyMade, KeyOut, KeyRotated, KeyUse, Me, Refusal
from loci.requests import API, OMITTED, Id, Moment, Omitted, Page, Request, change, delete, get, nothing, page, post


class Access:
    """Operations on API keys and grants."""

    @operation
    def whoami(self) -> Request[Me]:
        """Who the caller is: the agent's id, which a grant names; the key; and its roles, by namespace."""
        return get(Me, "/agents/me")

    @listing
    def list_grants(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[GrantOut]]:
        """Agents that have a role in the namespace, those whose grant has expired included. Admin."""
        return page(GrantOut, "/grants", limit=limit, cursor=cursor)

    @operation
    def set_grant(
        self, agent_id: Id, role: Literal["reader", "writer", "admin"], *, expires_at: Moment | None = None
    ) -> Request[GrantSet]:
        """Give an agent a role in the namespace, until a moment or for good, in force at its next request. Admin."""
        return change("PUT", GrantSet, "/grants/{agent_id}", {"agent_id": agent_id}, role=role, expires_at=expires_at)

    @operation
    def delete_grant(self, agent_id: Id) -> Request[GrantBase]:
        """Take an agent's role in the namespace away: its next request is refused. Returns the grant as it was. Admin."""
        return delete(GrantBase, "/grants/{agent_id}", {"agent_id": agent_id})

    @operation
    def create_key(
        self,
        *,
        role: Literal["reader", "writer", "admin"] | None = None,
        name: str | None = None,
        expires_at: Moment | None = None,
        scope: Literal["read", "write", "admin"] | None = None,
        namespaces: list[str] | None = None,
        agent_id: Id | None = None,
        rate_limit: int | None = None,
    ) -> Request[KeyMade]:
        """Make a key for the namespace. The reply is the only place that ever shows it. Admin.

        It is sent once: a key whose reply was lost is in `list_keys`, and can be revoked.
        """
        request = post(
            KeyMade,
            "/keys",
            role=role,
            name=name,
            expires_at=expires_at,
            scope=scope,
            namespaces=namespaces,
            agent_id=agent_id,
            rate_limit=rate_limit,
        )
        return replace(request, repeatable=False)

    @listing
    def list_keys(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[KeyOut]]:
        """Keys that reach the namespace, newest first. Admin."""
        return page(KeyOut, "/keys", limit=limit, cursor=cursor)

    @operation
    def change_key(
        self,
        id: Id,
        *,
        name: str | Omitted = OMITTED,
        expires_at: Moment | Omitted | None = OMITTED,
        rate_limit: int | Omitted | None = OMITTED,
    ) -> Request[KeyOut]:
        """Change a key; None takes its end or its rate limit away. Admin wherever the key reaches."""
        return change("PATCH", KeyOut, "/keys/{id}", {"id": id}, name=name, expires_at=expires_at, rate_limit=rate_limit)

    @operation
    def rotate_key(self, id: Id, *, grace_seconds: int | None = None, expires_at: Moment | None = None) -> Request[KeyRotated]:
        """Put a new key in the place of one, which ends after the grace (0: at once). Admin wherever the key reaches.

        It is sent once, as `create_key` is.
        """
        request = post(KeyRotated, "/keys/{id}/rotate", {"id": id}, grace_seconds=grace_seconds, expires_at=expires_at)
        return replace(request, repeatable=False)

    @operation
    def revoke_key(self, id: Id) -> Request[None]:
        """End a key at once. Admin."""
        return Request(method="DELETE", route=API + "/keys/{id}", parts={"id": id}, read=nothing)

    @listing
    def list_key_usage(self, id: Id, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[KeyUse]]:
        """What a key was used for in the namespace: requests by hour, address and outcome, newest first. Admin."""
        return page(KeyUse, "/keys/{id}/uses", {"id": id}, limit=limit, cursor=cursor)

    @listing
    def list_refused_requests(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[Refusal]]:
        """Requests with keys that are not valid, by hour and address, newest first. Only on loopback without keys."""
        return page(Refusal, "/keys/refusals", limit=limit, cursor=cursor)
