"""HTTP doors of search."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Db

from .discover import discover
from .errors import SearchNotReady
from .schemas import Discovered, DiscoveredPage, DiscoverQuery, PlainQuery
from .searcher import Searcher
from .wanted import Wanted

router = APIRouter(tags=["discovery"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


async def _searcher_of(request: Request) -> Searcher:
    searcher: Searcher = request.app.state.searcher
    return searcher


Search = Annotated[Searcher, Depends(_searcher_of)]


@router.get("/discover", responses=problems(SearchNotReady))
async def discover_agents(
    _: Public,
    searcher: Search,
    db: Db,
    query: Annotated[PlainQuery, Query(description="Words; plain text, no operators.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Discovered:
    """Find agents, local and mirrored, by words in name, tags, skills, description or DID."""
    wanted = Wanted(q=query.strip(), agents_only=True, limit=limit)
    return Discovered.of(await discover(searcher, db, wanted), limit)


@router.get("/agent-cards/discover", responses=problems(SearchNotReady))
async def discover_cards(
    _: Public, searcher: Search, db: Db, query: Annotated[DiscoverQuery, Query()]
) -> DiscoveredPage:
    """Search the catalogue, with counts per origin, pricing and tag over everything that was found."""
    wanted = query.wanted()
    return DiscoveredPage.of(await discover(searcher, db, wanted), wanted)
