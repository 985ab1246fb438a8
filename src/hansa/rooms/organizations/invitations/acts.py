"""Invite, accept and decline. Locks: the row of the organization, then the invitation, which ends in the commit of the membership."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from hansa.foundation.events import OrganizationMemberInvited
from hansa.foundation.plumbing.jobs.mail_queue import enqueue_mail
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer
from hansa.foundation.values.errors import QuotaReached
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms import journal
from hansa.rooms.organizations import audit, membership, reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import (
    GrantMissing,
    InvitationForAnother,
    InvitationUnknown,
    OrganizationUnknown,
    OrgRoleRequired,
    SessionRequired,
    TeamUnknown,
)
from hansa.rooms.organizations.records import (
    Acting,
    Invitation,
    NewRequest,
    Organization,
    OwnInvitation,
    Request,
    Shown,
)
from hansa.rooms.organizations.requests.acts import ask
from hansa.rooms.organizations.requests.granting import GRANT, INVITATION, gives_approval
from hansa.rooms.organizations.requests.tally import Reading
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.teams import store as teams

from . import mails, store

TOKEN_PREFIX = "oit_"  # noqa: S105


class NewInvitation(msgspec.Struct, frozen=True):
    """Address to invite, the place that it is offered, and the request by which others granted a right to approve."""

    email: str
    role: Role
    team_ids: tuple[UUID, ...]
    inviter_id: int
    request_id: UUID | None = None


async def invite(
    tx: Tx, acting: Acting, key: str, *, email: str, role: Role, team_ids: Sequence[UUID]
) -> Invitation | Reading:
    """Invite an address, or ask for it where the place gives a right to approve; a pending invitation of the address ends.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, QuotaReached, RequestExists, LimitReached.
    """
    organization = await reading.locked(tx, key, acting.actor.id, Role.ADMIN)
    await _require_teams(tx, organization.id, team_ids)
    new = NewInvitation(email, role, tuple(team_ids), acting.actor.id)
    await _require_few(tx, organization, new)
    if await gives_approval(tx, organization.id, role, team_ids):
        body = {
            "act": INVITATION,
            "email": email,
            "role": role.word,
            "team_ids": [str(one) for one in team_ids],
        }
        return await ask(tx, acting, organization, GRANT, NewRequest(body))
    return await _send(tx, acting, organization, new)


async def invite_granted(tx: Tx, acting: Acting, organization: Organization, request: Request) -> None:
    """Send the invitation that others approved. Raises: TeamUnknown, QuotaReached."""
    body = request.body
    team_ids = tuple(UUID(one) for one in body["team_ids"])
    await _require_teams(tx, organization.id, team_ids)
    role = Role.named(body["role"])
    new = NewInvitation(body["email"], role, team_ids, request.initiator_id, request.id)
    await _require_few(tx, organization, new)
    await _send(tx, acting, organization, new)


async def _require_few(tx: Tx, organization: Organization, new: NewInvitation) -> None:
    """Raises: QuotaReached."""
    day = await store.count_day(tx, organization.id, new.inviter_id, new.email)
    if (
        max(day.of_organization, day.of_inviter) >= rules.INVITATIONS_A_DAY
        or day.of_address >= rules.INVITATIONS_OF_ADDRESS_A_DAY
    ):
        raise QuotaReached("Too many invitations in a day: of the organization, of yours or to this address.")


async def _send(tx: Tx, acting: Acting, organization: Organization, new: NewInvitation) -> Invitation:
    runtime = acting.runtime
    token = new_hex(TOKEN_PREFIX)
    invitation = await store.insert(
        tx,
        organization.id,
        email=new.email,
        role=new.role,
        team_ids=new.team_ids,
        token_sha256=fingerprint(token),
        invited_by=new.inviter_id,
        lifetime=rules.INVITATION_LIFETIME,
        request_id=new.request_id,
    )
    mail = mails.invitation(
        to=new.email,
        organization=organization.name,
        slug=organization.slug,
        role=new.role.word,
        token=token,
        base_url=runtime.settings.base_url,
    )
    await enqueue_mail(tx, runtime.seal, mail)
    target = f"invitation:{invitation.id}"
    await audit.record(tx, organization.id, acting.actor, "invitation.create", target, role=new.role.word)
    event = OrganizationMemberInvited(
        str(organization.id), organization.treasury_did, None, new.role.word, new.inviter_id
    )
    await journal.append(tx, event)
    return invitation


async def pending(
    tx: Tx, developer: Developer, key: str, *, limit: int, offset: int
) -> tuple[list[Invitation], int]:
    """A page of the pending invitations and how many there are. Raises: OrganizationUnknown, OrgRoleRequired."""
    organization = await reading.held(tx, key, developer.id, Role.ADMIN)
    return await store.pending(tx, organization.id, limit=limit, offset=offset)


async def revoke(tx: Tx, developer: Developer, key: str, invitation_id: UUID) -> None:
    """Revoke a pending invitation. Raises: OrganizationUnknown, OrgRoleRequired, InvitationUnknown."""
    organization = await reading.locked_in_any_status(tx, key, developer.id, Role.ADMIN)
    if not await store.revoke(tx, organization.id, invitation_id):
        raise InvitationUnknown
    await audit.record(tx, organization.id, developer, "invitation.revoke", f"invitation:{invitation_id}")


async def own_invitations(
    tx: Tx, developer: Developer, *, limit: int, offset: int
) -> tuple[list[OwnInvitation], int]:
    """A page of the pending invitations to the verified address of the caller, and how many there are."""
    if not developer.is_verified:
        return [], 0
    return await store.of_address(tx, developer.email.lower(), limit=limit, offset=offset)


async def accept(tx: Tx, developer: Developer, token: str) -> Shown:
    """Become a member by the token of an invitation; the right of the inviter is judged again.

    Raises: SessionRequired, InvitationUnknown, InvitationForAnother, OrganizationNotActive, GrantMissing, LimitReached,
    AlreadyMember.
    """
    found = await _answerable(tx, developer, token)
    try:
        organization = await reading.locked(tx, str(found.organization_id), found.invited_by, Role.ADMIN)
    except (OrganizationUnknown, OrgRoleRequired):
        raise InvitationUnknown from None
    if await organizations.is_barred(tx, found.invited_by):
        raise InvitationUnknown
    # The rules may have changed since: a place that gives a right to approve by now was not granted.
    if found.request_id is None and await gives_approval(tx, organization.id, found.role, found.team_ids):
        raise GrantMissing
    if not await store.end(tx, found.id, "accepted"):
        raise InvitationUnknown
    await membership.join(tx, developer, organization, developer.id, found.role, by=found.invited_by)
    for team_id in found.team_ids:
        await teams.add_member_to(tx, organization.id, team_id, developer.id)
    return await reading.profile_of(tx, str(organization.id), developer.id)


async def decline(tx: Tx, developer: Developer, token: str) -> Shown:
    """End the invitation of the caller's address. Raises: SessionRequired, InvitationUnknown, InvitationForAnother."""
    found = await _answerable(tx, developer, token)
    if not await store.end(tx, found.id, "declined"):
        raise InvitationUnknown
    organization = await organizations.find(tx, found.organization_id, developer.id)
    assert organization is not None
    (shown,) = await reading.with_counts(tx, [organization])
    return shown


async def _answerable(tx: Tx, developer: Developer, token: str) -> store.Answerable:
    if developer.session.startswith(API_KEY_SESSION):
        raise SessionRequired
    found = await store.find(tx, fingerprint(token))
    if found is None:
        raise InvitationUnknown
    if not developer.is_verified or developer.email.lower() != found.email:
        raise InvitationForAnother
    return found


async def _require_teams(tx: Tx, organization_id: UUID, team_ids: Sequence[UUID]) -> None:
    known = {team.id for team in await teams.teams_of(tx, organization_id)}
    if not known.issuperset(team_ids):
        raise TeamUnknown(field="team_ids")
