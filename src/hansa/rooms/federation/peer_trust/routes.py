"""Peer trust over HTTP: for everyone, for the peer itself, and for administrators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests, Unauthorized

from .declared_trust import declared_trust
from .recording import peer_verdict, peer_verdicts
from .verdicts import AdminTrustReport, PeerTrust, PeerTrustReport, TrustInYou

router = APIRouter(tags=["administrators"], route_class=GuardedRoute)
public_trust_router = APIRouter(tags=["public"], route_class=GuardedRoute)
peer_router = APIRouter(tags=["federation"], route_class=GuardedRoute)

SHORTLY_CACHED = "public, max-age=5"


@router.get("/admin/federation/peer-trust", responses=problems(Unauthorized))
async def read_peer_trust(
    _: Annotated[Developer, admin_holding("admin_platform")], db: Db, settings: parameters.InForce
) -> AdminTrustReport:
    """The verdict on each peer with its evidence, the number of peers by state, and what peers state about this registry."""
    report = PeerTrustReport.of(settings, await db.read(peer_verdicts))
    return AdminTrustReport(**report.model_dump(), own=await db.read(declared_trust))


@public_trust_router.get(
    "/federation/peer-trust",
    responses=problems(TooManyRequests),
    dependencies=[Depends(within_read_limit)],
)
async def read_public_peer_trust(
    _: Public, response: Response, db: Db, settings: parameters.InForce
) -> PeerTrustReport:
    """The declared posture, and the verdict on each peer with its evidence and the reason."""
    response.headers.update({"Cache-Control": SHORTLY_CACHED, "Access-Control-Allow-Origin": "*"})
    return PeerTrustReport.of(settings, await db.read(peer_verdicts))


@peer_router.get("/federation/peer-trust/mine", responses=problems(CertificateMissing, NotAPeer))
async def read_trust_in_caller(caller: CurrentPeer, db: Db, settings: parameters.InForce) -> TrustInYou:
    """The verdict on the registry that asks."""
    verdict = await db.read(lambda tx: peer_verdict(tx, caller.id))
    return TrustInYou(mode=settings.peer_trust_mode, trust=PeerTrust.of(verdict, settings))
