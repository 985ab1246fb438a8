"""Disputes for administrators of enforcement: the facts, the outcome that they give, and the ruling beside it."""

from typing import Annotated, Literal

import msgspec
from fastapi import Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn, tried
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import commerce, federation, ledger

from .pages import (
    SHOWN,
    EnforcementAct,
    Enforcer,
    Offset,
    RefusedPage,
    administration_page,
    administration_router,
    carry_out,
)

router = administration_router()

DisputeId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Status = Annotated[Literal["OPEN", "VOTING", "CLOSED", ""], Query()]
BondSlasher = Annotated[commerce.SlashBond, Depends(commerce.SLASH_BOND.given)]
Signing = Annotated[federation.Signatory, Depends(federation.SIGNATORY.given)]


@router.get("/administration/disputes")
async def list_disputes(
    person: Enforcer, request: Request, db: Db, *, status: Status = "", offset: Offset = 0
) -> HTMLResponse:
    """Every dispute, newest first."""
    query = commerce.DisputeFilter(None, None, None, status or None, SHOWN, offset)
    found, total = await db.read(lambda tx: commerce.list_disputes(tx, query))
    return administration_page(
        request,
        "disputes.html",
        person,
        disputes=[commerce.DisputeOut.of(one) for one in found],
        total=total,
        offset=offset,
        chosen=status,
    )


@router.get("/administration/disputes/{dispute_id:int}")
async def show_dispute(
    dispute_id: DisputeId, person: Enforcer, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """One dispute. Raises: DisputeUnknown."""
    return await _page(request, person, dispute_id, SentForm(), db, settings=settings)


@router.get("/administration/disputes/{dispute_id:int}/bundle.json")
async def download_bundle(
    dispute_id: DisputeId, person: Enforcer, signatory: Signing, db: Db, settings: Config
) -> Response:
    """The facts of a dispute, signed by the registry."""
    dispute = await db.read(lambda tx: commerce.read_dispute(tx, person.developer, dispute_id))
    bundle = commerce.BundleOut.model_validate(await commerce.signed_bundle(db, signatory, dispute, settings))
    headers = {"Cache-Control": "no-store", "Vary": "Cookie"}
    return Response(bundle.model_dump_json(), media_type="application/json", headers=headers)


@router.post("/administration/disputes/{dispute_id:int}/open-voting")
async def open_voting(
    dispute_id: DisputeId, sender: EnforcementAct, request: Request, db: Db, settings: Config
) -> Response:
    """End the time for evidence."""
    return await carry_out(
        request,
        sender,
        lambda tx: commerce.open_voting(tx, sender.person.developer, dispute_id),
        done=f"/administration/disputes/{dispute_id}?done=voting",
        refused=_refused(request, sender.person, dispute_id, db, settings),
    )


@router.post("/administration/disputes/{dispute_id:int}/ruling/check")
async def preview_ruling(
    dispute_id: DisputeId,
    sender: EnforcementAct,
    request: Request,
    db: Db,
    settings: Config,
    *,
    slash_bond: BondSlasher,
) -> Response:
    """The effects of a ruling, which is carried out in a transaction that is taken back."""

    async def ruled(tx: Tx) -> _Effects:
        body = sender.form.read_as(commerce.RulingIn)
        dispute = await commerce.read_dispute(tx, sender.person.developer, dispute_id)
        parties = (dispute.complainant_did, dispute.defendant_did)
        before = await ledger.balances_of(tx, parties)
        ordered = commerce.Ordered(dispute_id, body.decision())
        after = await commerce.rule(tx, sender.person.developer, ordered, slash_bond, settings)
        held = await ledger.balances_of(tx, parties)
        changes = [_whole(held[did]) - _whole(before[did]) if did in before else None for did in parties]
        return _Effects(commerce.DisputeOut.of(after), changes)

    try:
        effects = await tried(db, ruled)
    except Refused as refusal:
        refused = _refused(request, sender.person, dispute_id, db, settings)
        return await refused(sender.form.refused(refusal), refusal.status)
    roles = ("Complainant", "Defendant")
    parties = (effects.after.complainant_did, effects.after.defendant_did)
    return administration_page(
        request,
        "ruling-confirm.html",
        sender.person,
        sender.form,
        section=f"/administration/disputes/{dispute_id}",
        after=effects.after,
        changes=list(zip(roles, parties, effects.changes, strict=True)),
        currency=settings.settlement_currency,
    )


@router.post("/administration/disputes/{dispute_id:int}/ruling")
async def rule(
    dispute_id: DisputeId,
    sender: EnforcementAct,
    request: Request,
    db: Db,
    settings: Config,
    *,
    slash_bond: BondSlasher,
) -> Response:
    """Rule on the dispute: units, contract and dispute change in one transaction."""

    async def ruled(tx: Tx) -> None:
        body = sender.form.read_as(commerce.RulingIn)
        ordered = commerce.Ordered(dispute_id, body.decision())
        await commerce.rule(tx, sender.person.developer, ordered, slash_bond, settings)

    return await carry_out(
        request,
        sender,
        ruled,
        done=f"/administration/disputes/{dispute_id}?done=ruled",
        refused=_refused(request, sender.person, dispute_id, db, settings),
    )


def _whole(balance: ledger.Balance) -> int:
    return balance.liquid + balance.staked + balance.escrow


class _Effects(msgspec.Struct, frozen=True):
    """The dispute after a ruling; `changes` are those of all units of each party, None for an account of a peer."""

    after: commerce.DisputeOut
    changes: list[int | None]


def _refused(
    request: Request, person: SignedIn, dispute_id: int, db: Database, settings: Settings
) -> RefusedPage:
    return lambda form, status: _page(request, person, dispute_id, form, db, settings=settings, status=status)


async def _page(
    request: Request,
    person: SignedIn,
    dispute_id: int,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> commerce.DisputeOut:
        dispute = await commerce.read_dispute(tx, person.developer, dispute_id)
        return commerce.DisputeOut.of(dispute, await commerce.proposal_for(tx, dispute, settings))

    return administration_page(
        request,
        "dispute.html",
        person,
        form,
        status=status,
        shown=await db.read(reading),
        currency=settings.settlement_currency,
    )
