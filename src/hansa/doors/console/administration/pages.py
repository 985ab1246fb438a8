"""What every page of the administration has: its navigation, in which only what one may open is shown."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from hansa.doors.console.access import SentForm, SignedIn, account_page, person_holding, proved_act_in
from hansa.doors.console.access.policy import Acting
from hansa.doors.console.navigation import Link
from hansa.foundation.plumbing.lazy_routes import LazyRoute
from hansa.foundation.plumbing.limits import within_read_limit

ENFORCEMENT, PLATFORM = "admin_enforcement", "admin_platform"
TREASURY, SUPPORT, FEDERATION = "admin_treasury", "admin_support", "admin_federation"
SHOWN = 50
LINKS = (
    Link("/administration", "Overview"),
    Link("/administration/developers", "Developers", ENFORCEMENT),
    Link("/administration/agents", "Agents", ENFORCEMENT),
    Link("/administration/disputes", "Disputes", ENFORCEMENT),
    Link("/administration/invites", "Invitations", SUPPORT),
    Link("/administration/treasury", "Treasury", TREASURY),
    Link("/administration/events", "Event policies", PLATFORM),
    Link("/administration/jobs", "Jobs", PLATFORM),
    Link("/administration/mail", "Mail queue", PLATFORM),
    Link("/administration/reactors", "Reactors", PLATFORM),
    Link("/administration/pulls", "Card pulls", PLATFORM),
    Link("/administration/log", "Audit log", PLATFORM),
    Link("/administration/settings", "Settings", PLATFORM),
    Link("/administration/licences", "Licences", FEDERATION),
    Link("/administration/admissions", "Admissions", FEDERATION),
    Link("/administration/registry-card", "Registry card", PLATFORM),
)

Offset = Annotated[int, Query(ge=0, le=10**9)]
Words = Annotated[str, Query(max_length=512)]

Enforcer = Annotated[SignedIn, person_holding(ENFORCEMENT)]
PlatformAdministrator = Annotated[SignedIn, person_holding(PLATFORM)]
Treasurer = Annotated[SignedIn, person_holding(TREASURY)]
Supporter = Annotated[SignedIn, person_holding(SUPPORT)]
FederationAdministrator = Annotated[SignedIn, person_holding(FEDERATION)]
EnforcementAct = Annotated[Acting, proved_act_in(ENFORCEMENT)]
PlatformAct = Annotated[Acting, proved_act_in(PLATFORM)]
TreasuryAct = Annotated[Acting, proved_act_in(TREASURY)]
SupportAct = Annotated[Acting, proved_act_in(SUPPORT)]
FederationAct = Annotated[Acting, proved_act_in(FEDERATION)]


class Done(BaseModel):
    """The outcome of an act of which nothing is shown."""


def administration_router() -> APIRouter:
    """A router of pages of the administration."""
    return APIRouter(
        include_in_schema=False,
        default_response_class=HTMLResponse,
        route_class=LazyRoute,
        dependencies=[Depends(within_read_limit)],
    )


def administration_page(
    request: Request,
    template: str,
    person: SignedIn,
    form: SentForm | None = None,
    *,
    status: int = 200,
    section: str | None = None,
    **content: Any,
) -> HTMLResponse:
    """A page of the administration, which names the area that it needs."""
    shown = [link for link in LINKS if link.area is None or link.area in person.areas]
    # A form that is refused is answered with its page, whose address the path of the form begins with, or `section` is.
    address = section or request.url.path
    here = [link for link in LINKS if address == link.path or address.startswith(f"{link.path}/")]
    current = max(here, key=lambda link: len(link.path))
    return account_page(
        request,
        f"administration/{template}",
        person,
        form,
        status=status,
        pages=shown,
        current=current,
        **{"done": request.query_params.get("done", ""), **content},
    )
