"""HTTP doors of acting."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from hansa.foundation.plumbing.process.runtime import Db, Tokens
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import ActingDeveloper
from hansa.foundation.plumbing.web.limits import limited
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.rooms.agents.errors import AgentRevoked, AgentSuspended, AgentUnknown, NotTheOwner

from .act import ACT_TOKENS, LIFETIME, act_token
from .schemas import ActTokenOut

router = APIRouter(prefix="/agents/{did}/act-token", route_class=GuardedRoute)


@router.post(
    "",
    dependencies=[Depends(limited(ACT_TOKENS))],
    responses=problems(
        Unauthorized,
        NotTheOwner,
        AgentSuspended,
        AgentRevoked,
        AgentUnknown,
        Invalid,
        TooManyRequests,
    ),
)
async def issue_act_token(
    did: Annotated[str, Path(max_length=DID_MAX_CHARACTERS)],
    developer: ActingDeveloper,
    db: Db,
    tokens: Tokens,
) -> ActTokenOut:
    """Issue a token with which the owner acts as an own agent for 15 minutes; the journal records it."""
    token, acting = await act_token(db, tokens, developer, did)
    return ActTokenOut(
        access_token=token,
        expires_in=int(LIFETIME.total_seconds()),
        agent_did=did,
        actor=acting.actor,
    )
