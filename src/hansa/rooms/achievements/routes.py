"""Achievements over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, developer_acting
from hansa.foundation.plumbing.web.entity_tags import TAGGED, tagged
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import (
    DeveloperSuspended,
    Forbidden,
    Invalid,
    OrgRoleRequired,
    TooManyRequests,
    Unauthorized,
)
from hansa.rooms import agents, catalogue, federation

from .badge import badge_of, draw
from .earning import DEFINITIONS
from .reading import achievements_of, show_or_hide
from .schemas import AchievementsOut, DefinitionOut, DefinitionsOut, ShownIn, ShownOut

BADGE_SECONDS = 300
BADGE_HEADERS = {
    "Cache-Control": f"public, max-age={BADGE_SECONDS}",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}

router = APIRouter(prefix="/achievements", tags=["achievements"], route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Owner = Annotated[Developer, developer_acting("agents:write")]
LIMITED = [Depends(within_read_limit)]


@router.get("", dependencies=LIMITED, responses=problems(TooManyRequests))
async def list_achievements(_: Public) -> DefinitionsOut:
    """List the achievements that agents can earn: the seven marks by verified jobs, and four others. None is sold."""
    return DefinitionsOut(items=[DefinitionOut.of(one) for one in DEFINITIONS])


@router.get(
    "/agents/{did}",
    dependencies=LIMITED,
    responses=problems(agents.AgentUnknown, federation.KeyDoesNotOpen, Invalid, TooManyRequests),
)
async def read_achievements(
    did: Did, _: Public, db: Db, config: Config, *, request: Request
) -> AchievementsOut:
    """The achievements of an agent of this registry, recomputed from its events, each with a signed statement."""
    found = await db.query(lambda tx: achievements_of(tx, did))
    key = await federation.SIGNATORY.of(runtime_of(request)).present_key()
    return AchievementsOut.of(found, key, config.ledger_id)


@router.patch(
    "/agents/{did}",
    response_model=ShownOut,
    responses=problems(
        Unauthorized,
        Forbidden,
        DeveloperSuspended,
        OrgRoleRequired,
        agents.AgentUnknown,
        KeyReused,
        KeyInProgress,
        Invalid,
        BodyInvalid,
    ),
)
async def show_achievements(
    did: Did, body: ShownIn, owner: Owner, db: Db, *, request: Request, key: IdempotencyKey = None
) -> Response:
    """Show the achievements of an agent, or hide them: with `shown` false its list is empty and its badge has no mark."""
    sent = repeatable(owner, request, key, body)

    async def written(tx: Tx) -> ShownOut:
        found = await show_or_hide(tx, owner, did, is_shown=body.shown)
        return ShownOut(agent_did=did, shown=found.is_shown)

    return await once(db, sent, written)


@router.get(
    "/agents/{did}/badge.svg",
    response_class=Response,
    dependencies=LIMITED,
    responses={
        200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}},
        **TAGGED,
        **problems(agents.AgentUnknown, catalogue.CardUnknown, Invalid, TooManyRequests),
    },
)
async def read_badge(did: Did, _: Public, db: Db, *, request: Request) -> Response:
    """The badge of an agent as SVG: its mark, dashed where it includes work for other registries, and its flares."""
    drawn = draw(await db.query(lambda tx: badge_of(tx, did)))
    return tagged(request, drawn.encode(), media_type="image/svg+xml", headers=BADGE_HEADERS)
