"""API keys, grants, and who the caller is."""

from dataclasses import replace
from typing import Literal

from loci.descriptors import C, Group, listing, operation
from loci.models.access import GrantBase, GrantOut, GrantSet, Invitation, KeyMade, KeyOut, KeyRotated, KeyUse, Me, OwnGrant, Refusal
from loci.requests import API, OMITTED, Id, Moment, Omitted, Page, Request, change, delete, get, nothing, page, post


class Access(Group[C]):
    """Operations on API keys and grants."""

    @operation
    def whoami(self) -> Request[Me]:
        """Who the caller is: the agent's id, which a grant names; its home; the key; and its roles, by namespace."""
        return get(Me, "/agents/me")

    @listing
    def list_grants(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[GrantOut]]:
        """Agents that have a role in the namespace, or are invited; those whose grant has expired included. Admin."""
        return page(GrantOut, "/grants", limit=limit, cursor=cursor)

    @operation
    def set_grant(
        self, agent_id: Id, role: Literal["reader", "writer", "admin"], *, expires_at: Moment | None = None
    ) -> Request[GrantSet]:
        """Give an agent a role in the namespace, until a moment or for good, in force at its next request. Admin.

        An agent of another home is invited: until it accepts, it has no role here, and nothing is said of it but its id.
        """
        return change("PUT", GrantSet, "/grants/{agent_id}", {"agent_id": agent_id}, role=role, expires_at=expires_at)

    @operation
    def delete_grant(self, agent_id: Id) -> Request[GrantBase]:
        """Take an agent's role in the namespace away, at its next request, or an invitation back. Returns what it was. Admin."""
        return delete(GrantBase, "/grants/{agent_id}", {"agent_id": agent_id})

    @listing
    def list_invitations(
        self, *, limit: int | None = None, cursor: str | None = None, agent: Id | None = None
    ) -> Request[Page[Invitation]]:
        """Namespaces that invite the caller, by name, with the role that it would have. `agent`: the operator's."""
        return page(Invitation, "/agents/me/invitations", limit=limit, cursor=cursor, agent=agent)

    @operation
    def accept_invitation(self, name: str, *, agent: Id | None = None) -> Request[OwnGrant]:
        """Accept the invitation of a namespace: all keys of the agent reach it from now on. Again, it says the same."""
        request = post(OwnGrant, "/agents/me/invitations/{name}/accept", {"name": name})
        return replace(request, query={"agent": agent})

    @operation
    def decline_invitation(self, name: str, *, agent: Id | None = None) -> Request[None]:
        """Decline the invitation of a namespace."""
        return _leaving("/agents/me/invitations/{name}", name, agent)

    @operation
    def leave_namespace(self, name: str, *, agent: Id | None = None) -> Request[None]:
        """Leave a namespace: no key of the agent reaches it any more."""
        return _leaving("/agents/me/grants/{name}", name, agent)

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
        default_namespace: str | None = None,
        space: str | None = None,
        user: str | None = None,
        time_zone: str | None = None,
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
            default_namespace=default_namespace,
            space=space,
            user=user,
            time_zone=time_zone,
        )
        return replace(request, repeatable=False)

    @listing
    def list_keys(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[KeyOut]]:
        """Keys of the agents that are at home in the namespace, newest first. Admin."""
        return page(KeyOut, "/keys", limit=limit, cursor=cursor)

    @operation
    def change_key(
        self,
        id: Id,
        *,
        name: str | Omitted = OMITTED,
        expires_at: Moment | Omitted | None = OMITTED,
        rate_limit: int | Omitted | None = OMITTED,
        time_zone: str | Omitted | None = OMITTED,
    ) -> Request[KeyOut]:
        """Change a key; None takes its end, rate limit or time zone away. Admin of the agent's home."""
        changes = {"name": name, "expires_at": expires_at, "rate_limit": rate_limit, "time_zone": time_zone}
        return change("PATCH", KeyOut, "/keys/{id}", {"id": id}, **changes)

    @operation
    def rotate_key(self, id: Id, *, grace_seconds: int | None = None, expires_at: Moment | None = None) -> Request[KeyRotated]:
        """Put a new key in the place of one, which ends after the grace (0: at once). Admin of the agent's home.

        It is sent once, as `create_key` is.
        """
        request = post(KeyRotated, "/keys/{id}/rotate", {"id": id}, grace_seconds=grace_seconds, expires_at=expires_at)
        return replace(request, repeatable=False)

    @operation
    def revoke_key(self, id: Id) -> Request[None]:
        """End a key at once. Admin of the agent's home."""
        return Request(method="DELETE", route=API + "/keys/{id}", parts={"id": id}, read=nothing)

    @listing
    def list_key_usage(self, id: Id, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[KeyUse]]:
        """Uses of a key: requests by namespace, hour, address and outcome, newest first. Admin of the agent's home."""
        return page(KeyUse, "/keys/{id}/uses", {"id": id}, limit=limit, cursor=cursor)

    @listing
    def list_refused_requests(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[Refusal]]:
        """Requests with keys that are not valid, by hour and address, newest first. Only on loopback without keys."""
        return page(Refusal, "/keys/refusals", limit=limit, cursor=cursor)


def _leaving(route: str, name: str, agent: Id | None) -> Request[None]:
    """The request that takes an agent, the caller or the one that the operator names, away from a namespace."""
    return Request(method="DELETE", route=API + route, parts={"name": name}, query={"agent": agent}, read=nothing, gone=True)
