"""Proposals on which agents vote: the list, each by itself with its votes and its timeline, and the settings that votes may change."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.rendering import page
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import governance

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

SHOWN, VOTES_SHOWN = 20, 50
Offset = Annotated[int, Query(ge=0, le=10**9)]


@router.get("/governance")
async def show_proposals(
    _: Public, request: Request, db: Db, settings: Config, *, closed: bool = False, offset: Offset = 0
) -> HTMLResponse:
    """The open proposals, the newest first, or all."""
    found, total = await db.read(
        lambda tx: governance.read_proposals(tx, with_closed=closed, limit=SHOWN, offset=offset)
    )
    return page(
        request,
        "governance/proposals.html",
        proposals=found,
        total=total,
        closed=closed,
        offset=offset,
        shown_at_most=SHOWN,
        currency=settings.settlement_currency,
    )


@router.get("/governance/parameters")
async def show_parameters(_: Public, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """The settings that votes may change."""
    found = await db.read(lambda tx: parameters.current(tx, settings))
    return page(request, "governance/parameters.html", parameters=found)


@router.get("/governance/{proposal_id:int}")
async def show_proposal(
    _: Public,
    proposal_id: Annotated[int, Path(ge=1, le=2**63 - 1)],
    request: Request,
    db: Db,
    settings: Config,
) -> HTMLResponse:
    """One proposal with its newest votes. Raises: ProposalUnknown."""
    proposal, (votes, _total) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: governance.read_proposal(tx, proposal_id),
            lambda tx: governance.read_votes(tx, proposal_id, limit=VOTES_SHOWN, offset=0),
        )
    )
    return page(
        request,
        "governance/proposal.html",
        proposal=proposal,
        votes=votes,
        votes_shown=VOTES_SHOWN,
        currency=settings.settlement_currency,
    )
