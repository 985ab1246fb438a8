"""Invitations to an organization: sent and revoked by an admin, accepted and declined by the person who got the mail."""

from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, account_page, see_other
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import organizations

from .member_pages import members_page
from .pages import LIST, Key, organization_router, outcome

router = organization_router()
answering_router = APIRouter(
    prefix=f"{LIST}/invitations",
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

TOKEN = "invitation_token"  # noqa: S105
SHOWN = 100


@router.post("/invitations")
async def invite(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Invite an address by mail; a pending invitation of the address ends."""
    form, path = sender.form, f"/organizations/{organization_id}/invitations"
    body = {
        "email": form.value("email").strip(),
        "role": form.value("role"),
        "team_ids": [team for team in form.values("team_ids") if team],
    }
    answer = await act_as_person(request, sender, "POST", path, body)
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/members?done=invited",
        lambda refused, status: members_page(
            request, sender.person, db, organization_id, refused, status=status
        ),
        base=f"{LIST}/{organization_id}",
    )


@router.post("/invitations/{invitation_id}/revoke")
async def revoke_invitation(
    organization_id: Key, invitation_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Revoke a pending invitation; one that has ended is no trouble."""
    path = f"/organizations/{organization_id}/invitations/{invitation_id}"
    answer = await act_as_person(request, sender, "DELETE", path)
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/members?done=revoked",
        lambda refused, status: members_page(
            request, sender.person, db, organization_id, refused, status=status
        ),
        done_already="INVITATION_UNKNOWN",
    )


@answering_router.get("")
async def show_invitation(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The page that the link of the mail opens. The token stands behind the # and is not sent with the address."""
    return await _page(request, person, db)


@answering_router.post("/accept")
async def accept_invitation(sender: Act, request: Request, db: Db) -> Response:
    """Become a member of the organization."""
    body = {"token": sender.form.value(TOKEN).strip()}
    answer = await act_as_person(request, sender, "POST", "/organizations/invitations/accept", body)
    if answer.is_refused:
        refused = answer.on(sender.form, token=TOKEN)
        return await _page(request, sender.person, db, refused, status=answer.status)
    return see_other(f"{LIST}/{answer.document['slug']}?done=joined")


@answering_router.post("/decline")
async def decline_invitation(sender: Act, request: Request, db: Db) -> Response:
    """Decline the invitation, which ends it."""
    body = {"token": sender.form.value(TOKEN).strip()}
    answer = await act_as_person(request, sender, "POST", "/organizations/invitations/decline", body)
    if answer.is_refused:
        refused = answer.on(sender.form, token=TOKEN)
        return await _page(request, sender.person, db, refused, status=answer.status)
    return see_other(f"{LIST}?done=declined")


async def _page(
    request: Request, person: SignedIn, db: Db, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    invitations, _ = await db.read(
        lambda tx: organizations.own_invitations(tx, person.developer, limit=SHOWN, offset=0)
    )
    return account_page(
        request,
        "organizations/invitation.html",
        person,
        form,
        status=status,
        invitations=invitations,
    )
