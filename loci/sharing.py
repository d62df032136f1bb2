"""Sharing a namespace: grants, and who the caller is."""

from typing import Literal

from loci.operations import listing, operation
from loci.requests import Id, Moment, Page, Request, change, delete, get, page
from service.schemas_sharing import GrantBase, GrantOut, GrantSet, Me


class Sharing:
    """Operations on grants."""

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
