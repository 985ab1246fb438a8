"""Disputes of a party: timeline, evidence, the signed facts and the outcome that they give."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    FormRefused,
    SentForm,
    SignedInPerson,
    see_other,
    whole_number,
)
from hansa.doors.console.contract_pages import BIGINT_MAX
from hansa.doors.console.own_agents.pages import SHOWN, Offset, as_reader
from hansa.doors.console.own_agents.picker import Suggestions, suggestions, with_dids
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import catalogue, commerce, federation
from hansa.rooms.organizations import Role

from .parties import Party, act_of_both, page_of_both, party_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

TOKENS_OFFERED = 25

Payment: TypeAlias = tuple[commerce.Token, str, str | None]
"""A settled token with the other party and its name, where that is known."""
DisputeId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Signing = Annotated[federation.Signatory, Depends(federation.SIGNATORY.given)]


@page_of_both(router, "/disputes")
async def show_disputes(
    person: SignedInPerson, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """The disputes of a party, newest first."""
    party = await party_of(request, person, db)
    query = commerce.DisputeFilter(party.did, party.did, None, None, SHOWN, offset)
    found, total = await db.read(lambda tx: commerce.list_disputes(tx, query))
    return party.page(
        "disputes.html",
        disputes=[commerce.DisputeOut.of(one) for one in found],
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
    )


@page_of_both(router, "/disputes/new")
async def show_complaint(person: SignedInPerson, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Show the form of a complaint; the address fills in its subject."""
    party = await party_of(request, person, db, Role.ADMIN)
    names = ("defendant_did", "contract_id", "token_id", "transaction_id")
    form = SentForm([(name, request.query_params.get(name, "")) for name in names])
    return await _complaint_page(party, form, db=db, settings=settings)


@act_of_both(router, "/disputes")
async def file_dispute(sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """File a dispute."""
    party, sender = await party_of(request, sender.person, db), await with_dids(db, sender, "defendant_did")
    body = _complaint(sender.form)
    try:
        answer = await party.act(sender, _filing(party, body), body)
    except FormRefused as refusal:
        form = sender.form.refused(refusal)
        return await _complaint_page(party, form, db=db, settings=settings, status=refusal.status)
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _complaint_page(party, refused, db=db, settings=settings, status=answer.status)
    return see_other(f"{party.base}/disputes/{answer.document['id']}?done=filed")


@page_of_both(router, "/disputes/{dispute_id:int}")
async def show_dispute(
    dispute_id: DisputeId, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """Show a dispute of a party, with its evidence and the outcome that the facts give."""
    party = await party_of(request, person, db)
    return await _dispute_page(party, dispute_id, SentForm(), db=db, settings=settings)


@act_of_both(router, "/disputes/{dispute_id:int}/evidence")
async def add_evidence(
    dispute_id: DisputeId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Add a piece of evidence, or cite attestations."""
    party, form = await party_of(request, sender.person, db), sender.form
    body: dict[str, Any] = {
        name: form.value(name).strip() for name in ("uri", "sha256", "note") if form.value(name).strip()
    }
    if cited := form.value("attestation_ids").split():
        body["attestation_ids"] = cited
    answer = await party.act(sender, f"/disputes/{dispute_id}/evidence", body)
    if answer.is_refused:
        refused = answer.on(form)
        return await _dispute_page(party, dispute_id, refused, db=db, settings=settings, status=answer.status)
    return see_other(f"{party.base}/disputes/{dispute_id}?done=added")


@page_of_both(router, "/disputes/{dispute_id:int}/bundle.json")
async def download_bundle(
    dispute_id: DisputeId,
    person: SignedInPerson,
    request: Request,
    signatory: Signing,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """The facts of a dispute, signed by the registry."""
    party = await party_of(request, person, db)
    dispute = await db.read(lambda tx: _read(tx, party, dispute_id))
    bundle = commerce.BundleOut.model_validate(await commerce.signed_bundle(db, signatory, dispute, settings))
    return Response(
        bundle.model_dump_json(),
        media_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="dispute-{dispute_id}.json"',
            "Cache-Control": "no-store",
            "Vary": "Cookie",
        },
    )


async def _complaint_page(
    party: Party,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Suggestions, Sequence[Payment]]:
        if party.is_treasury:
            return await suggestions(tx, party.person, party.did), ()
        return await read_together(
            tx,
            lambda tx: suggestions(tx, party.person, party.did),
            lambda tx: _settled_payments(tx, party.did),
        )

    suggested, payments = await db.read(reading)
    return party.page(
        "complain.html",
        form,
        status=status,
        suggested=suggested,
        currency=settings.settlement_currency,
        payments=payments,
    )


def _settled_by(did: str, *, is_payee: bool) -> Callable[[Tx], Awaitable[Sequence[commerce.Token]]]:
    """A reading of the newest settled tokens of one side."""
    return lambda tx: commerce.list_tokens(tx, did, is_payee=is_payee, status="settled", limit=TOKENS_OFFERED)


async def _settled_payments(tx: Tx, did: str) -> list[Payment]:
    """The newest settled tokens that an agent authorized or was paid by, each with the other party and its name, where that is known."""
    sides = await read_together(tx, *(_settled_by(did, is_payee=is_payee) for is_payee in (False, True)))
    tokens = [token for side in sides for token in side]
    tokens.sort(key=lambda token: token.created_at, reverse=True)
    others = [token.payee if token.caller == did else token.caller for token in tokens]
    names = await catalogue.names_by_did(tx, list(dict.fromkeys(others))) if others else {}
    return [(token, other, names.get(other)) for token, other in zip(tokens, others, strict=True)]


def _filing(party: Party, body: dict[str, Any]) -> str:
    """Path of the act that files a dispute; one of a treasury is about a contract. Raises: FormRefused."""
    if not party.is_treasury:
        return "/disputes/"
    contract = body.get("contract_id")
    if not isinstance(contract, int):
        raise FormRefused({"contract_id": "Enter the number of the contract."})
    return f"/contracts/{contract}/dispute"


def _complaint(form: SentForm) -> dict[str, Any]:
    optional = ("token_id", "transaction_id", "claimed_amount")
    body: dict[str, Any] = {
        "defendant_did": form.value("defendant_did").strip(),
        "reason_code": form.value("reason_code"),
        "description": form.value("description"),
        **{name: form.value(name).strip() for name in optional if form.value(name).strip()},
    }
    if contract := form.value("contract_id").strip():
        body["contract_id"] = whole_number(contract)
    return body


async def _dispute_page(
    party: Party,
    dispute_id: int,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> commerce.DisputeOut:
        dispute = await _read(tx, party, dispute_id)
        return commerce.DisputeOut.of(dispute, await commerce.proposal_for(tx, dispute, settings))

    shown = await db.read(reading)
    return party.page("dispute.html", form, status=status, shown=shown, currency=settings.settlement_currency)


async def _read(tx: Tx, party: Party, dispute_id: int) -> commerce.Dispute:
    """Raises: DisputeUnknown."""
    return await commerce.read_dispute(tx, as_reader(party.did, party.person), dispute_id)
