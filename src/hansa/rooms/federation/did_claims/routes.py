"""Routes by which operator registries claim and look up DIDs at their frame."""

from fastapi import APIRouter

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid
from hansa.rooms.federation.peers import count_refusal

from . import holding
from .errors import DidClaimed, DidQuotaReached, NotInThisFrame
from .schemas import DidClaimsOut, DidDigestsIn, DidHolder, DidHoldersOut

peer_router = APIRouter(prefix="/federation/did-claims", tags=["federation"], route_class=GuardedRoute)

REFUSALS = (CertificateMissing, NotAPeer, PeerClosed, NotInThisFrame, Invalid)


@peer_router.post("", responses=problems(*REFUSALS, DidQuotaReached, DidClaimed))
async def claim_dids(body: DidDigestsIn, caller: CurrentPeer, db: Db, settings: Config) -> DidClaimsOut:
    """Claim DIDs for the operator registry that asks, all of them or none; repeating a claim changes nothing."""
    caller.require_open()
    holding.require_operator(caller, settings)
    digests = body.values
    try:
        await db.transaction(lambda tx: holding.claim_dids(tx, caller, digests, settings))
    except DidClaimed as refused:
        times = len((refused.context or {})["digests"])
        await db.transaction(lambda tx: count_refusal(tx, caller.id, holding.CLAIMED_BY_ANOTHER, times))
        raise
    except DidQuotaReached:
        await db.transaction(lambda tx: count_refusal(tx, caller.id, holding.QUOTA_REACHED))
        raise
    return DidClaimsOut(held=len(digests))


@peer_router.post("/lookup", responses=problems(*REFUSALS))
async def look_up_did_claims(
    body: DidDigestsIn, caller: CurrentPeer, db: Db, settings: Config
) -> DidHoldersOut:
    """Which registries of this trust domain hold the DIDs; a DID that nobody claimed is left out."""
    caller.require_open()
    holding.require_operator(caller, settings)
    found = await db.read(lambda tx: holding.holders_of(tx, body.values, settings))
    return DidHoldersOut(claims=[DidHolder(digest=digest.hex(), registry=holder) for digest, holder in found])
