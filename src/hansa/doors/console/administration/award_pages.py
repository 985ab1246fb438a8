"""Awards for administrators of the treasury: units that rulings issue beyond those that they destroyed."""

from typing import Annotated, Literal

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import commerce

from .pages import (
    SHOWN,
    FormsPage,
    Offset,
    Treasurer,
    TreasuryAct,
    administration_page,
    administration_router,
    reason_in,
)

router = administration_router()

DisputeId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Status = Annotated[Literal["PENDING", "APPROVED", "REJECTED", ""], Query()]


@router.get("/administration/awards")
async def list_awards(
    person: Treasurer,
    request: Request,
    db: Db,
    settings: Config,
    *,
    status: Status = "PENDING",
    offset: Offset = 0,
) -> HTMLResponse:
    """Awards, newest first; without a choice those that wait."""
    return await _page(request, person, db, SentForm(), settings=settings, chosen=status, offset=offset)


@router.post("/administration/awards/{dispute_id:int}/approve")
async def approve_award(
    dispute_id: DisputeId, sender: TreasuryAct, request: Request, db: Db, settings: Config
) -> Response:
    """Issue an award to the complainant."""

    async def approved(tx: Tx) -> None:
        await commerce.approve_award(tx, sender.person.developer, dispute_id, settings)

    return await FORMS.carry_out(request, sender, db, settings, approved, done="approved")


@router.post("/administration/awards/{dispute_id:int}/reject")
async def reject_award(
    dispute_id: DisputeId, sender: TreasuryAct, request: Request, db: Db, settings: Config
) -> Response:
    """Issue nothing more for a ruling."""

    async def rejected(tx: Tx) -> None:
        await commerce.reject_award(tx, sender.person.developer, dispute_id, reason_in(sender.form))

    return await FORMS.carry_out(request, sender, db, settings, rejected, done="rejected")


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
    chosen: Status = "PENDING",
    offset: int = 0,
) -> HTMLResponse:
    wanted = commerce.AwardFilter(commerce.AwardStatus(chosen) if chosen else None, SHOWN, offset)
    found, total = await db.read(lambda tx: commerce.list_awards(tx, wanted))
    return administration_page(
        request,
        "awards.html",
        person,
        form,
        status=status,
        awards=[commerce.AwardOut.of(one) for one in found],
        total=total,
        offset=offset,
        chosen=chosen,
        currency=settings.settlement_currency,
    )


FORMS = FormsPage("/administration/awards", _page)
