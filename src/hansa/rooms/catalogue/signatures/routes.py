"""Signed cards over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.entity_tags import TAGGED, tagged
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests
from hansa.rooms.catalogue.errors import CardUnknown
from hansa.rooms.federation import KeyDoesNotOpen

from .export import EXPORT_DESK
from .schemas import SignedCard

router = APIRouter(tags=["agent cards"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


@router.get(
    "/agents/{agent_did}/card-export",
    response_model=SignedCard,
    responses=problems(CardUnknown, TooManyRequests, KeyDoesNotOpen) | TAGGED,
)
async def export_card(
    agent_did: Annotated[str, Path(max_length=512)], request: Request, _: Public
) -> Response:
    """The agent's card, signed by the registry for its own verifiers and for stock A2A clients.

    A suspended agent's card has the enforcement extension. For 30 days after a revocation a tombstone is returned.
    """
    desk = EXPORT_DESK.of(runtime_of(request))
    return tagged(request, await desk.export(agent_did))
