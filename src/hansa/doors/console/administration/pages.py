"""Shared parts of the administration's pages: their callers, the acts of their forms, their frame."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Acting,
    FormRefused,
    SentForm,
    SignedIn,
    account_page,
    act_once,
    person_holding,
    proved_act_in,
    see_other,
)
from hansa.doors.console.access.form_acts import Acts
from hansa.doors.console.navigation import ENFORCEMENT, FEDERATION, PLATFORM, SUPPORT, TREASURY
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel

SHOWN = 50
REASON_MAX_CHARACTERS = 2000
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

RefusedPage = Callable[[SentForm, int], Awaitable[HTMLResponse]]
"""The page of a form that was refused: the form with what is wrong with it, and the status."""


class Done(LazyModel):
    """The outcome of an act of which nothing is shown."""


async def carry_out(
    request: Request,
    sender: Acting,
    act: Callable[[Tx], Awaitable[object]],
    *,
    done: str,
    refused: RefusedPage,
    database: Acts | None = None,
) -> Response:
    """Carry out an act once, and lead to the page `done`; a refusal is answered by the page of the form."""

    async def once(tx: Tx) -> Done:
        await act(tx)
        return Done()

    try:
        await act_once(request, sender, Done, once, database=database)
    except Refused as refusal:
        return await refused(sender.form.refused(refusal), refusal.status)
    return see_other(done)


class FormsPage:
    """A page of several forms: an act of one of them leads back to it with `?done=`, and so does its refusal.

    `show` makes the page with a form in it, which it shows as it was refused.
    """

    def __init__(self, address: str, show: Callable[..., Awaitable[HTMLResponse]]) -> None:
        self._address, self._show = address, show

    async def carry_out(
        self,
        request: Request,
        sender: Acting,
        db: Database,
        settings: Settings,
        act: Callable[[Tx], Awaitable[None]],
        *,
        done: str,
    ) -> Response:
        """Carry out an act of this page, like the function `carry_out`."""

        async def refused(form: SentForm, status: int) -> HTMLResponse:
            return await self._show(request, sender.person, db, form, settings=settings, status=status)

        return await carry_out(request, sender, act, done=f"{self._address}?done={done}", refused=refused)


def reason_in(form: SentForm) -> str:
    """The reason that an act is given. Raises: FormRefused."""
    reason = form.value("reason").strip()
    if not 0 < len(reason) <= REASON_MAX_CHARACTERS:
        raise FormRefused({"reason": f"A reason of at most {REASON_MAX_CHARACTERS} characters is required."})
    return reason


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
    """A page of the administration. `section` is the page that the navigation marks, where the path is that of a form."""
    return account_page(
        request,
        f"administration/{template}",
        person,
        form,
        status=status,
        section=section,
        **{"done": request.query_params.get("done", ""), "shown_at_most": SHOWN, **content},
    )
