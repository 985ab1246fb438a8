"""The disputes of an own agent: timeline, evidence, the signed facts and the outcome that they give."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other, whole_number
from hansa.doors.console.contract_pages import BIGINT_MAX
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, catalogue, commerce, federation

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, as_reader, own_agent
from .picker import suggestions, with_dids

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

SHOWN = 50
TOKENS_OFFERED = 25
DISPUTES = "/disputes/"

DisputeId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]
Signing = Annotated[federation.Signatory, Depends(federation.SIGNATORY.given)]


@router.get("/account/agents/{did}/disputes", dependencies=READS)
async def show_disputes(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """The disputes of an own agent, newest first."""
    agent = await own_agent(db, person, did)
    query = commerce.DisputeFilter(did, did, None, None, SHOWN, offset)
    found, total = await db.read(lambda tx: commerce.list_disputes(tx, query))
    return agent_page(
        request,
        "agreements/disputes.html",
        person,
        agent,
        disputes=[commerce.DisputeOut.of(one) for one in found],
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
    )


@router.get("/account/agents/{did}/disputes/new", dependencies=READS)
async def show_complaint(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """Show the form of a complaint; the address fills in its subject."""
    agent = await own_agent(db, person, did)
    names = ("defendant_did", "contract_id", "token_id", "transaction_id")
    form = SentForm([(name, request.query_params.get(name, "")) for name in names])
    return await _complaint_page(request, person, agent, form, db=db, settings=settings)


@router.post("/account/agents/{did}/disputes", dependencies=ACTS)
async def file_dispute(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """File a dispute."""
    agent, sender = await own_agent(db, sender.person, did), await with_dids(db, sender, "defendant_did")
    answer = await act_as(request, sender, did, DISPUTES, _complaint(sender.form))
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _complaint_page(
            request, sender.person, agent, refused, db=db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, f"disputes/{answer.document['id']}", "filed"))


@router.get("/account/agents/{did}/disputes/{dispute_id:int}", dependencies=READS)
async def show_dispute(
    did: MyDid, dispute_id: DisputeId, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """Show a dispute of an own agent, with its evidence and the outcome that the facts give."""
    return await _dispute_page(request, person, did, dispute_id, SentForm(), db=db, settings=settings)


@router.post("/account/agents/{did}/disputes/{dispute_id:int}/evidence", dependencies=ACTS)
async def add_evidence(
    did: MyDid, dispute_id: DisputeId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Add a piece of evidence."""
    await own_agent(db, sender.person, did)
    form = sender.form
    body = {name: form.value(name).strip() for name in ("uri", "sha256", "note") if form.value(name).strip()}
    answer = await act_as(request, sender, did, f"{DISPUTES}{dispute_id}/evidence", body)
    if answer.is_refused:
        refused = answer.on(form)
        return await _dispute_page(
            request,
            sender.person,
            did,
            dispute_id,
            refused,
            db=db,
            settings=settings,
            status=answer.status,
        )
    return see_other(address_of(did, f"disputes/{dispute_id}", "added"))


@router.get("/account/agents/{did}/disputes/{dispute_id:int}/bundle.json", dependencies=READS)
async def download_bundle(
    did: MyDid,
    dispute_id: DisputeId,
    person: SignedInPerson,
    signatory: Signing,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """The facts of a dispute, signed by the registry."""
    await own_agent(db, person, did)
    dispute = await db.read(lambda tx: commerce.read_dispute(tx, as_reader(did, person), dispute_id))
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
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    suggested, payments = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: suggestions(tx, person, agent.did),
            lambda tx: _settled_payments(tx, agent.did),
        )
    )
    return agent_page(
        request,
        "agreements/complain.html",
        person,
        agent,
        form,
        status=status,
        suggested=suggested,
        currency=settings.settlement_currency,
        payments=payments,
    )


def _settled_by(did: str, *, is_payee: bool) -> Callable[[Tx], Awaitable[Sequence[commerce.Token]]]:
    """A reading of the newest settled tokens of one side."""
    return lambda tx: commerce.list_tokens(tx, did, is_payee=is_payee, status="settled", limit=TOKENS_OFFERED)


async def _settled_payments(tx: Tx, did: str) -> list[tuple[commerce.Token, str, str | None]]:
    """The newest settled tokens that an agent authorized or was paid by, each with the other party and its name, where that is known."""
    sides = await read_together(tx, *(_settled_by(did, is_payee=is_payee) for is_payee in (False, True)))
    tokens = [token for side in sides for token in side]
    tokens.sort(key=lambda token: token.created_at, reverse=True)
    others = [token.payee if token.caller == did else token.caller for token in tokens]
    names = await catalogue.names_by_did(tx, list(dict.fromkeys(others))) if others else {}
    return [(token, other, names.get(other)) for token, other in zip(tokens, others, strict=True)]


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
    request: Request,
    person: SignedIn,
    did: str,
    dispute_id: int,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[agents.OwnedAgent, commerce.DisputeOut]:
        agent, dispute = await read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: commerce.read_dispute(tx, as_reader(did, person), dispute_id),
        )
        return agent, commerce.DisputeOut.of(dispute, await commerce.proposal_for(tx, dispute, settings))

    agent, shown = await db.read(reading)
    return agent_page(
        request,
        "agreements/dispute.html",
        person,
        agent,
        form,
        status=status,
        shown=shown,
        currency=settings.settlement_currency,
    )
