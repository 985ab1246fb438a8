"""The audit across registries over HTTP."""

from typing import Annotated, ClassVar

from fastapi import APIRouter, Request
from pydantic import Field, StringConstraints

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import InternalCaller, LicenceSuspended
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized, Unavailable
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import federation, ledger

from .exchange import own_id, own_totals, state_totals
from .pairs import CrossFrameAudit, cross_frame_audit
from .statements import STATEMENT_MAX_CHARACTERS, StatementRefused, read_statement

router = APIRouter(tags=["auditor"], route_class=GuardedRoute)
peer_router = APIRouter(tags=["federation"], route_class=GuardedRoute)

MESSAGES_MAX = 500

Statement = Annotated[str, StringConstraints(min_length=1, max_length=STATEMENT_MAX_CHARACTERS)]


class TotalsRefused(Invalid):
    """The message is no statement of totals that this peer signed for this registry."""

    code: ClassVar[str] = "TOTALS_REFUSED"
    sentence = "The message is no statement of totals that this peer signed for this registry."


class TotalsIn(RequestBody):
    """Statements of totals, each a compact JWS of typ `fed-totals+jws`."""

    messages: list[Statement] = Field(min_length=1, max_length=MESSAGES_MAX)


class TotalsOut(LazyModel):
    """For each statement the totals of this registry for the same corridor, with the nonce of the asker."""

    messages: list[str]


@router.get("/projections/cross-frame-audit", responses=problems(Unauthorized, LicenceSuspended, Unavailable))
async def read_cross_frame_audit(_: InternalCaller, db: Db, config: Config) -> CrossFrameAudit:
    """What crossed to and from each other registry in each currency, what is in transit, and whether both sides agree."""
    return await db.read_replicated(lambda tx: cross_frame_audit(tx, config.settlement_currency))


@peer_router.post(
    "/federation/totals",
    responses=problems(CertificateMissing, NotAPeer, BodyInvalid, TotalsRefused, Unavailable),
)
async def exchange_totals(body: TotalsIn, caller: CurrentPeer, request: Request) -> TotalsOut:
    """State the totals of the corridor with the peer that asks, as they are now."""
    runtime = runtime_of(request)
    known = await runtime.database.query(lambda tx: federation.peer_by_id(tx, caller.id))
    peer = await federation.with_present_keys(runtime, known, body.messages)
    try:
        nonces = [read_statement(text, peer, reader=own_id(runtime))[1] for text in body.messages]
    except StatementRefused as refused:
        raise TotalsRefused(f"The message is refused: {refused}.") from None
    book = ledger.Book.of(runtime.settings)
    own = await runtime.database.read_replicated(
        lambda tx: own_totals(tx, caller.spiffe_id, caller.ledger_id, book)
    )
    return TotalsOut(messages=await state_totals(runtime, peer, own, nonces))
