"""Organizations of the developer that this client acts for. An organization is named by its id or its slug.

Each act that makes something is one intent: all its attempts carry one Idempotency-Key.
"""

from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.agents import MyAgent
from hansa_client.records.organizations import (
    ChangedMember,
    Deletion,
    EnforcedOrganization,
    Grant,
    Organization,
    OrganizationAct,
    OrganizationInvitation,
    OrganizationMember,
    OrganizationRequest,
    OrganizationSummary,
    OwnerAppointment,
    OwnInvitation,
    Role,
    SentInvitation,
    Team,
    Visibility,
)
from hansa_client.records.record import Page

from .session import AsyncSession
from .transport import AsyncTransport, read_success

T = TypeVar("T")

PREFIX = "/api/v1/organizations"
ACCEPTED = 202


class AsyncOrganizations:
    """Found, change and read organizations; their members, invitations, teams and agents."""

    def __init__(self, transport: AsyncTransport, developer: AsyncSession) -> None:
        self._transport = transport
        self._developer = developer

    async def found(
        self,
        slug: str,
        name: str,
        *,
        description: str = "",
        visibility: Visibility = "private",
        key: str | None = None,
    ) -> Organization:
        """Found an organization as its owner. Raises: Conflict, Forbidden, Invalid, OutcomeUnknown."""
        body = {"slug": slug, "name": name, "description": description, "visibility": visibility}
        return await self._transport.answer(_post(PREFIX, body, key), Organization, self._developer)

    async def list(self, *, limit: int = 50, offset: int = 0) -> Page[Organization]:
        """The developer's organizations, oldest first."""
        call = Call("GET", PREFIX, query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[Organization], self._developer)

    async def read(self, organization: str) -> Organization:
        """An own organization, or a public one. Raises: NotFound."""
        return await self._transport.answer(Call("GET", path_of(organization)), Organization, self._developer)

    async def change(
        self,
        organization: str,
        *,
        name: str | None = None,
        description: str | None = None,
        visibility: Visibility | None = None,
    ) -> Organization:
        """Change the given members, as an admin. Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        body = {"name": name, "description": description, "visibility": visibility}
        call = Call("PATCH", path_of(organization), json=body, is_idempotent=True)
        return await self._transport.answer(call, Organization, self._developer)

    async def delete(self, organization: str) -> Deletion:
        """End an organization without agents and units, as an owner. Raises: Conflict, Forbidden, NotFound."""
        return await self._transport.answer(Call("DELETE", path_of(organization)), Deletion, self._developer)

    async def summary(self, organization: str) -> OrganizationSummary:
        """Counts, balances of the treasury, and requests that wait for the developer. Raises: NotFound."""
        call = Call("GET", f"{path_of(organization)}/summary")
        return await self._transport.answer(call, OrganizationSummary, self._developer)

    async def audit(self, organization: str, *, limit: int = 50, offset: int = 0) -> Page[OrganizationAct]:
        """The acts in an organization, newest first, as an admin. Raises: Forbidden, NotFound."""
        call = Call("GET", f"{path_of(organization)}/audit", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[OrganizationAct], self._developer)

    async def members(
        self, organization: str, *, limit: int = 100, offset: int = 0
    ) -> Page[OrganizationMember]:
        """The members, the owners first. Raises: NotFound."""
        call = Call("GET", f"{path_of(organization)}/members", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[OrganizationMember], self._developer)

    async def change_member(
        self, organization: str, developer_id: int, role: Role
    ) -> ChangedMember | OrganizationRequest:
        """Give a member another role; a request where other owners must agree. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        path = f"{path_of(organization)}/members/{developer_id}"
        call = Call("PATCH", path, json={"role": role})
        return await done_or_asked(self._transport, call, ChangedMember, self._developer)

    async def remove_member(
        self, organization: str, developer_id: int
    ) -> ChangedMember | OrganizationRequest:
        """End a membership, also the own one; a request where other owners must agree. Raises: Conflict, Forbidden, NotFound."""
        call = Call("DELETE", f"{path_of(organization)}/members/{developer_id}")
        return await done_or_asked(self._transport, call, ChangedMember, self._developer)

    async def invite(
        self,
        organization: str,
        email: str,
        *,
        role: Role = "member",
        team_ids: Sequence[str] = (),
        key: str | None = None,
    ) -> SentInvitation | OrganizationRequest:
        """Mail an invitation, as an admin; a request where it gives a right to approve.

        Raises: Conflict, Forbidden, NotFound, TooManyRequests, OutcomeUnknown.
        """
        body = {"email": email, "role": role, "team_ids": [*team_ids]}
        call = _post(f"{path_of(organization)}/invitations", body, key)
        return await done_or_asked(self._transport, call, SentInvitation, self._developer)

    async def invitations(
        self, organization: str, *, limit: int = 50, offset: int = 0
    ) -> Page[OrganizationInvitation]:
        """The pending invitations, newest first, as an admin. Raises: Forbidden, NotFound."""
        call = Call("GET", f"{path_of(organization)}/invitations", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[OrganizationInvitation], self._developer)

    async def revoke_invitation(self, organization: str, invitation_id: str) -> Deletion:
        """Revoke a pending invitation, as an admin. Raises: Forbidden, NotFound."""
        path = f"{path_of(organization)}/invitations/{quote(invitation_id, safe='')}"
        return await self._transport.answer(Call("DELETE", path), Deletion, self._developer)

    async def own_invitations(self, *, limit: int = 50, offset: int = 0) -> Page[OwnInvitation]:
        """The pending invitations to the developer's verified address."""
        call = Call("GET", f"{PREFIX}/invitations/mine", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[OwnInvitation], self._developer)

    async def accept(self, token: str, *, key: str | None = None) -> Organization:
        """Become a member by the mailed token; it takes a login. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{PREFIX}/invitations/accept", {"token": token}, key)
        return await self._transport.answer(call, Organization, self._developer)

    async def decline(self, token: str, *, key: str | None = None) -> Organization:
        """Decline an invitation by the mailed token; it takes a login. Raises: Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{PREFIX}/invitations/decline", {"token": token}, key)
        return await self._transport.answer(call, Organization, self._developer)

    async def create_team(
        self, organization: str, slug: str, grant: Grant, *, key: str | None = None
    ) -> Team:
        """Create a team, as an admin. Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        call = _post(f"{path_of(organization)}/teams", {"slug": slug, "grant": grant}, key)
        return await self._transport.answer(call, Team, self._developer)

    async def teams(self, organization: str) -> Page[Team]:
        """The teams, by slug. Raises: NotFound."""
        return await self._transport.answer(
            Call("GET", f"{path_of(organization)}/teams"), Page[Team], self._developer
        )

    async def change_team(self, organization: str, team: str, grant: Grant) -> Team:
        """Change the right of a team, as an admin. Raises: Forbidden, NotFound, OutcomeUnknown."""
        call = Call("PATCH", _team(organization, team), json={"grant": grant}, is_idempotent=True)
        return await self._transport.answer(call, Team, self._developer)

    async def delete_team(self, organization: str, team: str) -> Deletion:
        """Delete a team, as an admin. Raises: Forbidden, NotFound."""
        return await self._transport.answer(
            Call("DELETE", _team(organization, team)), Deletion, self._developer
        )

    async def add_to_team(
        self, organization: str, team: str, developer_id: int
    ) -> OrganizationRequest | None:
        """Give a member a place in a team, as an admin; a request where it gives a right to approve. Raises: Forbidden, NotFound."""
        call = Call("PUT", f"{_team(organization, team)}/members/{developer_id}")
        placed = await done_or_asked(self._transport, call, dict[str, Any], self._developer)
        return placed if isinstance(placed, OrganizationRequest) else None

    async def remove_from_team(self, organization: str, team: str, developer_id: int) -> None:
        """Take the place of a member in a team away, as an admin. Raises: Forbidden, NotFound."""
        await self._place("DELETE", f"{_team(organization, team)}/members/{developer_id}")

    async def add_agent_to_team(self, organization: str, team: str, did: str) -> None:
        """Give a team its right at an agent of the organization, as an admin. Raises: Forbidden, NotFound."""
        await self._place("PUT", f"{_team(organization, team)}/agents/{quote(did, safe='')}")

    async def remove_agent_from_team(self, organization: str, team: str, did: str) -> None:
        """Take the right of a team at an agent away, as an admin. Raises: Forbidden, NotFound."""
        await self._place("DELETE", f"{_team(organization, team)}/agents/{quote(did, safe='')}")

    async def agents(self, organization: str, *, limit: int = 100, offset: int = 0) -> Page[MyAgent]:
        """The agents, oldest first. Raises: NotFound."""
        call = Call("GET", f"{path_of(organization)}/agents", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[MyAgent], self._developer)

    async def take_agent_in(self, organization: str, did: str, *, key: str | None = None) -> MyAgent:
        """Give an own agent to the organization, as an admin; its secret, tokens, capabilities and wallets end.

        Raises: Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        call = _post(f"{path_of(organization)}/agents", {"did": did}, key)
        return await self._transport.answer(call, MyAgent, self._developer)

    async def release_agent(
        self, organization: str, did: str, *, key: str | None = None
    ) -> OrganizationRequest:
        """Ask for an agent with an empty account, as an owner. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{path_of(organization)}/agents/{quote(did, safe='')}/release", None, key)
        return await self._transport.answer(call, OrganizationRequest, self._developer)

    async def veto(self, organization: str, *, key: str | None = None) -> OwnerAppointment:
        """Veto the pending appointment of an owner, as an owner. Raises: Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{path_of(organization)}/owners/veto", None, key)
        return await self._transport.answer(call, OwnerAppointment, self._developer)

    async def appoint_owner(
        self, organization: str, developer_id: int, reason: str, *, key: str | None = None
    ) -> OwnerAppointment:
        """Appoint an owner, as an administrator of support. Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        call = _post(
            _admin_path(organization, "owners"), {"developer_id": developer_id, "reason": reason}, key
        )
        return await self._transport.answer(call, OwnerAppointment, self._developer)

    async def suspend(
        self, organization: str, reason: str, *, key: str | None = None
    ) -> EnforcedOrganization:
        """Suspend an organization with its treasury and its agents, as an administrator of enforcement.

        Raises: Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        call = _post(_admin_path(organization, "suspend"), {"reason": reason}, key)
        return await self._transport.answer(call, EnforcedOrganization, self._developer)

    async def reinstate(
        self, organization: str, reason: str, *, key: str | None = None
    ) -> EnforcedOrganization:
        """Reinstate an organization, and what its suspension alone suspended, as an administrator of enforcement.

        Raises: Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        call = _post(_admin_path(organization, "reinstate"), {"reason": reason}, key)
        return await self._transport.answer(call, EnforcedOrganization, self._developer)

    async def _place(self, method: str, path: str) -> None:
        await self._transport.response(Call(method, path), self._developer)


async def done_or_asked(
    transport: AsyncTransport, call: Call, shape: type[T], developer: AsyncSession
) -> T | OrganizationRequest:
    """The answer of an act that is done, or the request that others must approve first."""
    answer = await transport.response(call, developer)
    if answer.status == ACCEPTED:
        return read_success(call, answer, OrganizationRequest)
    return read_success(call, answer, shape)


def path_of(organization: str) -> str:
    """The path of an organization."""
    return f"{PREFIX}/{quote(organization, safe='')}"


def _admin_path(organization: str, act: str) -> str:
    return f"/api/v1/admin/organizations/{quote(organization, safe='')}/{act}"


def _team(organization: str, team: str) -> str:
    return f"{path_of(organization)}/teams/{quote(team, safe='')}"


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
