"""Slash requests for administrators of enforcement: settlements with other registries, and the limits of automatic approval."""

from typing import Annotated, Literal

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn, whole_number
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import commerce, federation

from .pages import (
    SHOWN,
    EnforcementAct,
    Enforcer,
    FormsPage,
    Offset,
    administration_page,
    administration_router,
)

router = administration_router()

REQUESTS = "/administration/slash-requests"
BigId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Direction = Annotated[commerce.SettlementDirection | Literal[""], Query()]
Status = Annotated[commerce.SettlementStatus | Literal[""], Query()]


@router.get(REQUESTS)
async def list_slash_requests(
    person: Enforcer,
    request: Request,
    db: Db,
    settings: Config,
    *,
    direction: Direction = "",
    status: Status = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Slashes that are settled with other registries, newest first, and the limits of each peer."""
    wanted = commerce.SettlementFilter(direction or None, status or None, SHOWN, offset)
    return await _page(request, person, db, SentForm(), settings=settings, wanted=wanted)


@router.post(REQUESTS + "/limits/{peer_id:int}")
async def set_limits(
    peer_id: BigId, sender: EnforcementAct, request: Request, db: Db, settings: Config
) -> Response:
    """Set which slashes of a peer are approved without an administrator."""

    async def changed(tx: Tx) -> None:
        form = sender.form
        body = form.read_as(
            commerce.SlashConfigIn,
            auto_slash_enabled=form.value("auto_slash_enabled") == "true",
            auto_slash_max_avt=whole_number(form.value("auto_slash_max_avt")),
        )
        bounds = federation.AutoSlash(body.auto_slash_enabled, body.auto_slash_max_avt)
        await federation.set_auto_slash(tx, sender.person.developer, str(peer_id), bounds)

    return await FORMS.carry_out(request, sender, db, settings, changed, done="limits")


@router.post(REQUESTS + "/{settlement_id:int}/{act}")
async def decide_slash_request(
    settlement_id: BigId,
    act: Literal["approve", "reject", "write-off"],
    sender: EnforcementAct,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Approve or reject a slash that a peer asks for, or ask no more for units that cannot be destroyed again."""

    async def decided(tx: Tx) -> None:
        administrator = sender.person.developer
        if act == "approve":
            await commerce.approve_settlement(tx, administrator, settlement_id)
            return
        reason = sender.form.read_as(commerce.SettlementReasonIn).reason
        decide = commerce.reject_settlement if act == "reject" else commerce.write_off_settlement
        await decide(tx, administrator, settlement_id, reason)

    return await FORMS.carry_out(request, sender, db, settings, decided, done=act)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
    wanted: commerce.SettlementFilter | None = None,
) -> HTMLResponse:
    filters = wanted or commerce.SettlementFilter(None, None, SHOWN, 0)

    async def reading(
        tx: Tx,
    ) -> tuple[list[commerce.SettlementOut], int, list[federation.PeerRecord]]:
        found, total = await commerce.list_settlements(tx, filters)
        return [commerce.SettlementOut.of(one) for one in found], total, await federation.peers(tx)

    settlements, total, peers = await db.read(reading)
    return administration_page(
        request,
        "slash-requests.html",
        person,
        form,
        status=status,
        section=REQUESTS,
        settlements=settlements,
        registries=peers,
        peer_names={peer.ledger_id: peer.name for peer in peers},
        total=total,
        offset=filters.offset,
        chosen=filters,
        currency=settings.settlement_currency,
    )


FORMS = FormsPage(REQUESTS, _page)
