"""Shared parts of the pages of an organization: the router, the organization for its member, the frame, and the answers to forms."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Acting, SentForm, SignedIn, account_page, see_other
from hansa.doors.console.api_acts import ACCEPTED, ApiAnswer
from hansa.doors.console.navigation import Link, organization_groups
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import organizations
from hansa.rooms.organizations import Organization, Role

LIST = "/account/organizations"
Key = Annotated[str, Path(max_length=64)]
MemberId = Annotated[int, Path(ge=1, le=2**63 - 1)]
ROLES = [(role.word, role.word.capitalize()) for role in Role]
Refused = Callable[[SentForm, int], Awaitable[HTMLResponse]]
"""The page of a form that was refused: the form with its errors, and the status."""


def organization_router() -> APIRouter:
    """A router of pages below an organization."""
    return APIRouter(
        prefix=f"{LIST}/{{organization_id}}",
        include_in_schema=False,
        default_response_class=HTMLResponse,
        route_class=LazyRoute,
        dependencies=[Depends(within_read_limit)],
    )


async def held(tx: Tx, person: SignedIn, key: str, role: Role = Role.VIEWER) -> Organization:
    """The organization, in which the person has the role. Raises: OrganizationUnknown, OrgRoleRequired."""
    return await organizations.held(tx, key, person.developer.id, role)


def base_of(organization: Organization) -> str:
    """Return the address below which the pages of an organization stand."""
    return f"{LIST}/{organization.slug}"


def organization_page(
    request: Request,
    template: str,
    person: SignedIn,
    organization: Organization,
    form: SentForm | None = None,
    *,
    status: int = 200,
    section: str = "",
    **content: Any,
) -> HTMLResponse:
    """A page of an organization, with its navigation; `section` is the page below the organization that the navigation marks.

    A template of another directory is named with it.
    """
    base, role = base_of(organization), organization.role or Role.VIEWER
    others = [
        Link(f"{LIST}/{one.slug}", one.name, "organization", is_theirs=True)
        for one in person.organizations
        if one.id != organization.id
    ]
    return account_page(
        request,
        template if "/" in template else f"organizations/{template}",
        person,
        form,
        status=status,
        section=base + section,
        groups=organization_groups(
            base,
            is_admin=role >= Role.ADMIN,
            has_market=runtime_of(request).settings.exchange_enabled,
            others=others,
        ),
        **{
            "organization": organization,
            "base": base,
            "role": role,
            "is_admin": role >= Role.ADMIN and organization.status == "active",
            "is_owner": role >= Role.OWNER and organization.status == "active",
            "done": request.query_params.get("done", ""),
            **content,
        },
    )


async def outcome(
    sender: Acting,
    answer: ApiAnswer,
    address: str,
    refused: Refused,
    *,
    base: str = "",
    done_already: str = "",
    **fields: str,
) -> Response:
    """Lead on to `address`, or to the request that others must approve below `base`, or show the refusal.

    An act that was done already, as the code `done_already` says, is no trouble: the form was sent twice. `fields` as in `ApiAnswer.on`.
    """
    if answer.status == ACCEPTED:
        return see_other(f"{base}/treasury/requests/{answer.document['request_id']}?done=asked")
    if answer.is_refused and answer.code != done_already:
        return await refused(answer.on(sender.form, **fields), answer.status)
    return see_other(address)
