"""The bridge for an own agent: units locked here and held wrapped elsewhere, wrapped units redeemed at their home, and each saga."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, federation, ledger, transfers

from .acting import act_as, approve_first, awaiting_page
from .approved import Approved, approved_payments, filled_in
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent
from .picker import Suggestions, suggestions, with_dids

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "wallet/bridge"
ROUTE = f"/account/agents/{{did}}/{PAGE}"
SAGAS_SHOWN = 50
STATES_IN_WORDS = {
    "LOCKED": "Locked here",
    "MINT_REQUESTED": "The other registry is asked to mint",
    "BURNED": "Ended here",
    "UNLOCK_REQUESTED": "The home is asked to unlock",
    "TIMED_OUT": "No answer yet; a cancellation is asked for",
    "COMPLETED": "Completed",
    "REFUNDED": "Refunded",
    "FAILED": "Refused; the wrapped units are back",
    "IN_DOUBT": "In doubt: an administrator has to act",
}
ASKED_AGAIN = frozenset({"LOCKED", "MINT_REQUESTED", "BURNED", "UNLOCK_REQUESTED", "TIMED_OUT"})
"""States in which the other registry has not answered."""
# Fields of the two forms, by the members of their requests. Refusals that name no member are about the receiver or the amount.
OF_A_LOCK = {"receiver_did": "receiver", "amount": "amount"}
OF_A_REDEMPTION = {"receiver_did": "home_receiver", "amount": "redeemed"}
MEMBER_OF_CODE = {
    "RECEIVER_IS_LOCAL": "receiver_did",
    "RECEIVER_REGISTRY_UNKNOWN": "receiver_did",
    "RECEIVER_NOT_AT_HOME": "receiver_did",
    "WRAPPED_INSUFFICIENT": "amount",
    "INSUFFICIENT_BALANCE": "amount",
}

SagaId = Annotated[UUID, Path()]


@router.get(ROUTE, dependencies=READS)
async def show_bridge(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The wrapped units of an own agent, its newest sagas, and the forms of both directions, filled in by the `approval` of a payment."""
    return await _page(request, person, did, SentForm(), db, settings=settings)


@router.post(f"{ROUTE}/lock", dependencies=ACTS)
async def lock_units(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Lock units here, so that an agent of another registry holds as many wrapped ones."""
    sender = await with_dids(db, sender, "receiver")
    body = {
        "receiver_did": sender.form.value("receiver").strip(),
        "amount": with_decimal_point(sender.form.value("amount").strip()),
    }
    return await _begun(request, sender, did, "/bridge/transfer", body, db=db, settings=settings)


@router.post(f"{ROUTE}/redeem", dependencies=ACTS)
async def redeem_units(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """End wrapped units here, so that as many are unlocked at their home."""
    sender = await with_dids(db, sender, "home_receiver")
    body = {
        "wrapped_currency": sender.form.value("wrapped_currency"),
        "receiver_did": sender.form.value("home_receiver").strip(),
        "amount": with_decimal_point(sender.form.value("redeemed").strip()),
    }
    return await _begun(request, sender, did, "/bridge/redeem", body, db=db, settings=settings)


@router.get(f"{ROUTE}/{{saga_id:uuid}}", dependencies=READS)
async def show_saga(
    did: MyDid, saga_id: SagaId, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """One saga with the states that it passed. Raises: SagaUnknown."""
    agent = await own_agent(db, person, did)
    return await _saga_page(request, person, agent, saga_id, SentForm(), db=db, settings=settings)


@router.post(f"{ROUTE}/{{saga_id:uuid}}/ask", dependencies=ACTS)
async def ask_again(
    did: MyDid, saga_id: SagaId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Ask the other registry again at once. Raises: SagaUnknown."""
    agent = await own_agent(db, sender.person, did)
    saga = await db.read(lambda tx: transfers.find_bridge_saga(tx, saga_id, did, ledger.Book.of(settings)))
    step = "/bridge/mint-wrapped" if saga.direction == "wrap" else "/bridge/unlock"
    answer = await act_as(request, sender, did, step, {"saga_id": str(saga_id)})
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _saga_page(
            request, sender.person, agent, saga_id, refused, db=db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, f"{PAGE}/{saga_id}", "asked"))


async def _begun(
    request: Request,
    sender: Acting,
    did: str,
    path: str,
    body: dict[str, Any],
    *,
    db: Database,
    settings: Settings,
) -> Response:
    """Begin a saga and lead to its page, or ask the owner."""
    agent = await own_agent(db, sender.person, did)
    fields = OF_A_REDEMPTION if "wrapped_currency" in body else OF_A_LOCK
    if approval := await approve_first(request, sender, did):
        body = {**body, "approval_id": approval}
    answer = await act_as(request, sender, did, path, body)
    if answer.is_refused:
        refused = answer.on(sender.form, **fields)
        if member := MEMBER_OF_CODE.get(answer.code):
            refused = SentForm(
                sender.form.fields, {fields[member]: answer.document["detail"]}, refused.message
            )
        return await _page(request, sender.person, did, refused, db, settings=settings, status=answer.status)
    if answer.awaits_owner:
        kept = (*fields.values(), "wrapped_currency")
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee=body["receiver_did"],
            amount=body["amount"],
            kept=kept,
            verb="lock" if fields is OF_A_LOCK else "redeem",
        )
    return see_other(address_of(did, f"{PAGE}/{answer.document['saga_id']}", "begun"))


async def _saga_page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    saga_id: UUID,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    book = ledger.Book.of(settings)
    saga = await db.read(lambda tx: transfers.find_bridge_saga(tx, saga_id, agent.did, book))
    return agent_page(
        request,
        "wallet/bridge-saga.html",
        person,
        agent,
        form,
        status=status,
        saga=saga,
        words=STATES_IN_WORDS,
        may_ask=saga.sender_did == agent.did and saga.state in ASKED_AGAIN,
    )


async def _page(
    request: Request,
    person: SignedIn,
    did: str,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    book, has_bridge = ledger.Book.of(settings), federation.is_mainframe(settings)

    async def suggested_for_bridge(tx: Tx) -> Suggestions:
        return await suggestions(tx, person, did) if has_bridge else ()

    async def approved_for_bridge(tx: Tx) -> list[Approved]:
        return await approved_payments(tx, did, settings) if has_bridge else []

    agent, held, sagas, suggested, approved = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: transfers.wrapped_units_of(tx, did),
            lambda tx: transfers.bridge_sagas_of(tx, did, book, SAGAS_SHOWN),
            suggested_for_bridge,
            approved_for_bridge,
        )
    )
    for fields in (OF_A_LOCK, OF_A_REDEMPTION):
        form = filled_in(request, form, approved, payee=fields["receiver_did"], amount=fields["amount"])
    return agent_page(
        request,
        "wallet/bridge.html",
        person,
        agent,
        form,
        status=status,
        held=held,
        sagas=sagas,
        words=STATES_IN_WORDS,
        shown_at_most=SAGAS_SHOWN,
        has_bridge=has_bridge,
        suggested=suggested,
        approved=approved,
        currency=settings.settlement_currency,
    )
