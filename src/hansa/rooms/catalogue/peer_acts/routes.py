"""Hints and receipts between peers, and the receipts of an agent for everyone."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms import federation
from hansa.rooms.catalogue.errors import CardUnknown

from .hints import receive_hint
from .reading import notices_of_agent
from .receipts import receive_receipts
from .schemas import EnforcementReceiptsOut, HintIn, HintOut, ReceiptsIn, ReceiptsOut

REFUSALS = (CertificateMissing, NotAPeer, PeerClosed, Invalid, BodyInvalid)

peer_router = APIRouter(prefix="/federation", tags=["federation"], route_class=GuardedRoute)
router = APIRouter(tags=["agent cards"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


@peer_router.post("/hint", responses=problems(*REFUSALS))
async def receive_hint_of_peer(peer: CurrentPeer, body: HintIn, db: Db, request: Request) -> HintOut:
    """Notify this registry that something is new at the peer: acts of enforcement, documents, licences. It is read at once."""

    async def receive(tx: Tx) -> bool:
        is_new = await federation.take_hint(
            tx,
            runtime_of(request),
            peer.id,
            documents=body.documents,
            lists=body.licence_lists,
            auditor_kids=body.auditor_kids,
        )
        return await receive_hint(tx, peer, body.next) or is_new

    peer.require_open()
    return HintOut(accepted=await db.transaction(receive))


@peer_router.post("/enforcement/receipts", responses=problems(*REFUSALS))
async def receive_receipts_of_peer(
    caller: CurrentPeer, body: ReceiptsIn, db: Db, request: Request
) -> ReceiptsOut:
    """Return receipts of the acts of this registry that the peer applied."""
    caller.require_open()
    known = await db.query(lambda tx: federation.peer_by_id(tx, caller.id))
    peer = await federation.with_present_keys(runtime_of(request), known, body.receipts)
    return ReceiptsOut(stored=await db.transaction(lambda tx: receive_receipts(tx, peer, body.receipts)))


@router.get(
    "/agents/{agent_did}/enforcement-receipts", responses=problems(CardUnknown, Invalid, TooManyRequests)
)
async def read_enforcement_receipts(
    agent_did: Annotated[str, Path(max_length=512)],
    _: Public,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> EnforcementReceiptsOut:
    """Which peers have applied a suspension, reinstatement or revocation of an agent, with their signed receipts."""
    page = await db.read(lambda tx: notices_of_agent(tx, agent_did, limit, offset))
    return EnforcementReceiptsOut.of(agent_did, page, limit=limit, offset=offset)
