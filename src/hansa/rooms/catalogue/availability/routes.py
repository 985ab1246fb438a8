"""Availability of agents over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms import federation
from hansa.rooms.catalogue.errors import CardUnknown

from .exchange import receive_statements
from .reading import availability_of
from .schemas import AvailabilityOut, PeerStatementsIn, PeerStatementsOut

router = APIRouter(
    prefix="/agents",
    tags=["agents"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
)


peer_router = APIRouter(prefix="/federation", tags=["federation"], route_class=GuardedRoute)


@peer_router.post(
    "/availability", responses=problems(CertificateMissing, NotAPeer, PeerClosed, Invalid, BodyInvalid)
)
async def receive_availability_of_peer(
    caller: CurrentPeer, body: PeerStatementsIn, db: Db, request: Request
) -> PeerStatementsOut:
    """Return nothing but the number of days stored: the peer states the availability of agents of this registry that it measured."""
    caller.require_open()
    known = await db.query(lambda tx: federation.peer_by_id(tx, caller.id))
    peer = await federation.with_present_keys(runtime_of(request), known, body.messages)
    stored = await db.transaction(lambda tx: receive_statements(tx, peer, body.messages))
    return PeerStatementsOut(messages=[], stored=stored)


@router.get("/{did}/availability", responses=problems(CardUnknown, Invalid, TooManyRequests))
async def read_availability(
    did: Annotated[str, Path(max_length=DID_MAX_CHARACTERS)],
    _: Public,
    db: Db,
    config: Config,
    *,
    request: Request,
) -> AvailabilityOut:
    """The availability of an agent in the last 90 days, each day with the proof that this registry signed it and logged it then."""
    runtime = runtime_of(request)
    return AvailabilityOut.of(
        await db.read_replicated(lambda tx: availability_of(tx, runtime, did)), config.ledger_id
    )
