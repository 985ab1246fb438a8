"""Reputation over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms import agents

from .reading import export, reputation_of, track_record_of
from .records import ExportCursor
from .schemas import ReputationExport, ReputationOut, TrackRecordOut

SIGNAL_MAX = 2**63 - 1
EXPORT_DEFAULT = 500
EXPORT_MAX = 5000

router = APIRouter(tags=["reputation"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
REFUSALS = problems(agents.AgentUnknown, Invalid, TooManyRequests)


@router.get("/agents/{did}/reputation", responses=REFUSALS)
async def read_reputation(did: Did, db: Db, _: Public) -> ReputationOut:
    """The score of an agent of this registry, from 0 to 1000, with its components.

    It is computed once a day, by a public formula and from public events.
    """
    return ReputationOut.of(await db.query(lambda tx: reputation_of(tx, did)))


@router.get("/agents/{did}/track-record", responses=REFUSALS)
async def read_track_record(did: Did, db: Db, _: Public) -> TrackRecordOut:
    """What an agent of this registry has been paid for, up to now."""
    return TrackRecordOut.of(did, await db.query(lambda tx: track_record_of(tx, did)))


@router.get("/reputation/export", responses=problems(Invalid, TooManyRequests))
async def export_reputation(
    db: Db,
    _: Public,
    after_signal: Annotated[int, Query(ge=0, le=SIGNAL_MAX)] = 0,
    after_agent: Annotated[str, Query(max_length=DID_MAX_CHARACTERS)] = "",
    limit: Annotated[int, Query(ge=1, le=EXPORT_MAX)] = EXPORT_DEFAULT,
) -> ReputationExport:
    """The events from which the newest scores were computed, and the scores, so that anyone can recompute them."""
    after = ExportCursor(after_signal, after_agent)
    return ReputationExport.of(await db.read(lambda tx: export(tx, after, limit)))
