"""Views of the newest epoch over HTTP (specification 8, section 12)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms import agents
from hansa.rooms.reputation.scores import reputation_of

from .reading import frames_of, graph_of, ranked_trust_of, volume_of
from .schemas import (
    ForeignFrameOut,
    ForeignFramesOut,
    TrustGraphOut,
    TrustOut,
    TrustScoreOut,
    VolumeProfileOut,
)

EDGES_MAX = 200
DAYS_MAX = 365

router = APIRouter(
    prefix="/reputation/{did}",
    tags=["reputation"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
    responses=problems(agents.AgentUnknown, Invalid, TooManyRequests),
)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]


@router.get("")
async def read_trust(did: Did, db: Db, _: Public) -> TrustOut:
    """Trust in an agent of this registry, from 0 to 1, by the newest scores."""
    return TrustOut.of(await db.query(lambda tx: reputation_of(tx, did)))


@router.get("/trust-score")
async def read_trust_score(did: Did, db: Db, _: Public) -> TrustScoreOut:
    """Trust in an agent with the parts of its score, and its place among the agents with a score."""
    return TrustScoreOut.ranked(*await db.query(lambda tx: ranked_trust_of(tx, did)))


@router.get("/trust-graph")
async def read_trust_graph(
    did: Did,
    db: Db,
    _: Public,
    depth: Annotated[int, Query(ge=1, le=2)] = 1,
    limit: Annotated[int, Query(ge=1, le=EDGES_MAX)] = 50,
) -> TrustGraphOut:
    """Agents that paid an agent or were paid by it; at a depth of 2 also those around them."""
    return TrustGraphOut.of(await db.read(lambda tx: graph_of(tx, did, depth, limit)))


@router.get("/volume-profile")
async def read_volume_profile(
    did: Did, db: Db, _: Public, days: Annotated[int, Query(ge=1, le=DAYS_MAX)] = 30
) -> VolumeProfileOut:
    """Settled payments of an agent in the days before the newest epoch."""
    return VolumeProfileOut.of(await db.read(lambda tx: volume_of(tx, did, days)))


@router.get("/cross-frame")
async def read_cross_frame(did: Did, db: Db, config: Config, _: Public) -> ForeignFramesOut:
    """Jobs of an agent for agents of other frames, and the disputes that it lost against them."""
    frames = await db.read(lambda tx: frames_of(tx, did, config.trust_domain))
    return ForeignFramesOut(frames=[ForeignFrameOut.of(frame) for frame in frames])
