"""Invite, accept and decline. Locks: the row of the organization, then the invitation, which ends in the commit of the membership."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.events import OrganizationMemberInvited
from hansa.foundation.plumbing.jobs.mail_queue import enqueue_mail
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer
from hansa.foundation.values.errors import QuotaReached
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms import journal
from hansa.rooms.organizations import audit, membership, reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import (
    InvitationForAnother,
    InvitationUnknown,
    OrganizationUnknown,
    OrgRoleRequired,
    SessionRequired,
    TeamUnknown,
)
from hansa.rooms.organizations.records import Invitation, OwnInvitation, Shown
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.teams import store as teams

from . import mails, store

TOKEN_PREFIX = "oit_"  # noqa: S105


async def invite(
    tx: Tx,
    seal: Seal,
    inviter: Developer,
    key: str,
    *,
    email: str,
    role: Role,
    team_ids: Sequence[UUID],
    base_url: str,
) -> Invitation:
    """Invite an address; a pending invitation of the address ends.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, QuotaReached.
    """
    organization = await reading.locked(tx, key, inviter.id, Role.ADMIN)
    await _require_teams(tx, organization.id, team_ids)
    day = await store.count_day(tx, organization.id, inviter.id, email)
    if (
        max(day.of_organization, day.of_inviter) >= rules.INVITATIONS_A_DAY
        or day.of_address >= rules.INVITATIONS_OF_ADDRESS_A_DAY
    ):
        raise QuotaReached("Too many invitations in a day: of the organization, of yours or to this address.")
    token = new_hex(TOKEN_PREFIX)
    invitation = await store.insert(
        tx,
        organization.id,
        email=email,
        role=role,
        team_ids=team_ids,
        token_sha256=fingerprint(token),
        invited_by=inviter.id,
        lifetime=rules.INVITATION_LIFETIME,
    )
    mail = mails.invitation(
        to=email,
        organization=organization.name,
        slug=organization.slug,
        role=role.word,
        token=token,
        base_url=base_url,
    )
    await enqueue_mail(tx, seal, mail)
    await audit.record(
        tx, organization.id, inviter, "invitation.create", f"invitation:{invitation.id}", role=role.word
    )
    event = OrganizationMemberInvited(
        str(organization.id), organization.treasury_did, None, role.word, inviter.id
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

    Raises: SessionRequired, InvitationUnknown, InvitationForAnother, OrganizationNotActive, LimitReached, AlreadyMember.
    """
    found = await _answerable(tx, developer, token)
    try:
        organization = await reading.locked(tx, str(found.organization_id), found.invited_by, Role.ADMIN)
    except (OrganizationUnknown, OrgRoleRequired):
        raise InvitationUnknown from None
    if await organizations.is_barred(tx, found.invited_by):
        raise InvitationUnknown
    if not await store.end(tx, found.id, "accepted"):
        raise InvitationUnknown
    await membership.join(tx, developer, organization, found.role, found.invited_by)
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
