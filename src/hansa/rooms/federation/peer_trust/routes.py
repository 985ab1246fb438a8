"""Peer trust over HTTP."""

from typing import Annotated

from fastapi import APIRouter

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import AreaMissing, Developer, ScopeMissing, admin_holding
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.values.errors import Unauthorized

from .recording import peer_verdicts
from .verdicts import PeerTrustReport

router = APIRouter(tags=["administrators"], route_class=GuardedRoute)


@router.get("/admin/federation/peer-trust", responses=problems(Unauthorized, AreaMissing, ScopeMissing))
async def read_peer_trust(
    _: Annotated[Developer, admin_holding("admin_platform")], db: Db, settings: Config
) -> PeerTrustReport:
    """The declared posture, the verdict on each peer with its evidence, and the number of peers by state."""
    return PeerTrustReport.of(settings, await db.read(peer_verdicts))
