"""Members of an organization: their roles, the pending invitations, and how they leave."""

from collections.abc import Sequence

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    AccountAct,
    Act,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    see_other,
)
from hansa.doors.console.api_acts import ACCEPTED, act_as_person
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import agents, organizations
from hansa.rooms.organizations import Appointment, Invitation, Member, Organization, Role, Team

from .pages import LIST, ROLES, Key, MemberId, held, organization_page, organization_router, outcome

router = organization_router()

INVITATIONS_SHOWN = 100


class Read(msgspec.Struct, frozen=True):
    """Content of the page."""

    organization: Organization
    members: Sequence[Member]
    appointment: Appointment | None
    invitations: Sequence[Invitation] = ()
    teams: Sequence[Team] = ()


@router.get("/members")
async def show_members(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The members with their roles; for an admin also the pending invitations and the form of a new one."""
    return await members_page(request, person, db, organization_id)


@router.post("/members/{developer_id}/role")
async def change_role(
    organization_id: Key, developer_id: MemberId, sender: ProvedAct, request: Request, db: Db
) -> Response:
    """Give a member another role, or ask the other owners for it."""
    base = f"{LIST}/{organization_id}"
    path = f"/organizations/{organization_id}/members/{developer_id}"
    answer = await act_as_person(request, sender, "PATCH", path, {"role": sender.form.value("role")})
    is_done = not answer.is_refused and answer.status != ACCEPTED
    if is_done and answer.document["secrets_to_rotate"]:
        return see_other(f"{base}/members/{developer_id}/secrets")
    return await outcome(
        sender,
        answer,
        f"{base}/members?done=role",
        lambda refused, status: members_page(
            request, sender.person, db, organization_id, refused, status=status
        ),
        base=base,
    )


@router.post("/owners/veto")
async def veto_owner(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """End the pending appointment of an owner."""
    answer = await act_as_person(request, sender, "POST", f"/organizations/{organization_id}/owners/veto")
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/members?done=vetoed",
        lambda refused, status: members_page(
            request, sender.person, db, organization_id, refused, status=status
        ),
    )


@router.get("/members/{developer_id}/remove")
async def show_removal(
    organization_id: Key, developer_id: MemberId, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """Show the effects of the end of a membership, and the form that ends it. Raises: MemberUnknown."""
    return await _removal_page(request, person, db, organization_id, developer_id)


@router.post("/members/{developer_id}/remove")
async def remove_member(
    organization_id: Key, developer_id: MemberId, sender: AccountAct, request: Request, db: Db
) -> Response:
    """End a membership, or ask the other owners for it; one that has ended is no trouble."""
    base = f"{LIST}/{organization_id}"
    path = f"/organizations/{organization_id}/members/{developer_id}"
    is_own = developer_id == sender.person.developer.id
    answer = await act_as_person(request, sender, "DELETE", path)
    return await outcome(
        sender,
        answer,
        f"{LIST}?done=left" if is_own else f"{base}/members/{developer_id}/secrets?done=removed",
        lambda refused, status: _removal_page(
            request, sender.person, db, organization_id, developer_id, form=refused, status=status
        ),
        base=base,
        done_already="ORGANIZATION_UNKNOWN" if is_own else "MEMBER_UNKNOWN",
    )


@router.get("/members/{developer_id}/secrets")
async def show_secrets(
    organization_id: Key, developer_id: MemberId, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The agents whose present secret a member, or a former one, has read."""

    async def reading(tx: Tx) -> tuple[Organization, Sequence[str]]:
        organization = await held(tx, person, organization_id, Role.ADMIN)
        return organization, await agents.secrets_seen_by(tx, organization.id, developer_id)

    organization, dids = await db.read(reading)
    return organization_page(request, "secrets.html", person, organization, section="/members", dids=dids)


async def members_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    """The members of an organization, the pending invitations, and the form of a new one."""

    async def reading(tx: Tx) -> Read:
        organization = await held(tx, person, key)
        members, appointment = await read_together(
            tx,
            lambda tx: organizations.members_in(tx, organization.id),
            lambda tx: organizations.pending_appointment(tx, organization.id),
        )
        if (organization.role or Role.VIEWER) < Role.ADMIN:
            return Read(organization, members, appointment)
        (invitations, _), teams = await read_together(
            tx,
            lambda tx: organizations.pending_invitations(
                tx, organization.id, limit=INVITATIONS_SHOWN, offset=0
            ),
            lambda tx: organizations.teams_in(tx, organization.id),
        )
        return Read(organization, members, appointment, invitations, teams)

    read = await db.read(reading)
    names = {member.developer_id: member.name for member in read.members}
    return organization_page(
        request,
        "members.html",
        person,
        read.organization,
        form,
        status=status,
        section="/members",
        members=[(member, _choices(read.organization, person, member)) for member in read.members],
        invitations=[(one, names.get(one.invited_by)) for one in read.invitations],
        teams=read.teams,
        slugs={team.id: team.slug for team in read.teams},
        own_id=person.developer.id,
        appointment=read.appointment,
        is_any_owner=read.organization.role is Role.OWNER,
        appointee=names.get(read.appointment.developer_id) if read.appointment else None,
    )


def _choices(organization: Organization, person: SignedIn, member: Member) -> list[tuple[str, str]]:
    """The roles that the person may give the member; none where the person changes nothing."""
    held_role = organization.role or Role.VIEWER
    if organization.status != "active":
        return []
    if member.developer_id == person.developer.id:
        # Nobody raises the own role.
        return [one for one in ROLES if Role.named(one[0]) <= member.role] if held_role > Role.VIEWER else []
    if held_role is Role.OWNER:
        return ROLES
    if held_role is Role.ADMIN and member.role < held_role:
        return [one for one in ROLES if Role.named(one[0]) <= held_role]
    return []


async def _removal_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    developer_id: int,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, Member, Sequence[str]]:
        is_own = developer_id == person.developer.id
        organization = await held(tx, person, key, Role.VIEWER if is_own else Role.ADMIN)
        found = await organizations.members_in(tx, organization.id, one=developer_id)
        if not found:
            raise organizations.MemberUnknown
        return organization, found[0], await agents.secrets_seen_by(tx, organization.id, developer_id)

    organization, member, dids = await db.read(reading)
    return organization_page(
        request,
        "remove.html",
        person,
        organization,
        form,
        status=status,
        section="/members",
        member=member,
        dids=dids,
        is_own=developer_id == person.developer.id,
    )
