"""HTTP doors of Agentic Resource Discovery: the manifest at the root, the rest under the API."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.entity_tags import TAGGED
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests
from hansa.rooms.catalogue.publication.cacheable_response import (
    KEEP_FOR_MINUTES,
    REVALIDATE_EACH_TIME,
    document,
)
from hansa.rooms.catalogue.rules import BIGINT_MAX
from hansa.rooms.catalogue.search import Search, SearchNotReady

from .errors import ArgumentInvalid, EntryUnknown, ResourceDiscoveryRoute
from .expression import read_filter, read_order
from .identifiers import read_identifier
from .listing import EntryListRequest, catalogue_after, entry_called, list_entries
from .manifest import manifest_of
from .schemas import Entry, ExploreIn, ExploreOut, ListOut, ListQuery, Manifest, SearchIn, SearchOut
from .searching import SearchContext, explore, search

READS = [Depends(within_read_limit)]

root_router = APIRouter(
    tags=["discovery protocols"],
    route_class=GuardedRoute,
    dependencies=READS,
    responses=problems(TooManyRequests),
)
api_router = APIRouter(
    prefix="/ard",
    tags=["discovery protocols"],
    route_class=ResourceDiscoveryRoute,
    dependencies=READS,
    responses=problems(ArgumentInvalid, TooManyRequests),
)


@root_router.get("/.well-known/ard.json", response_model=Manifest, responses=TAGGED)
@root_router.get(
    "/.well-known/ai-catalog.json",
    response_model=Manifest,
    responses=TAGGED,
    operation_id="read_manifest_at_former_path",
)
async def read_manifest(request: Request, settings: Config, _: Public) -> Response:
    """The resources of this domain: the search, the card of the registry, and every agent."""
    return document(request, manifest_of(settings), keep=KEEP_FOR_MINUTES)


@api_router.post("/search", response_model_exclude_none=True, responses=problems(SearchNotReady))
async def search_entries(body: SearchIn, searcher: Search, db: Db, settings: Config, _: Public) -> SearchOut:
    """Search agents, own and mirrored, best match first."""
    return await search(SearchContext(searcher, db, settings), body)


@api_router.post("/explore", response_model_exclude_none=True, responses=problems(SearchNotReady))
async def explore_entries(
    body: ExploreIn, searcher: Search, db: Db, settings: Config, _: Public
) -> ExploreOut:
    """Count the agents that a search would find, by type, publisher, tags or origin."""
    return await explore(SearchContext(searcher, db, settings), body)


@api_router.get("/catalogue", response_model=Manifest, responses=TAGGED)
async def read_catalogue(
    request: Request,
    db: Db,
    settings: Config,
    _: Public,
    after: Annotated[int, Query(ge=0, le=BIGINT_MAX, description="As in the link to the next page.")] = 0,
) -> Response:
    """A hundred entries of this registry's agents, and a link to the next hundred."""
    catalogue = await db.read(lambda tx: catalogue_after(tx, after, settings))
    return document(request, catalogue, keep=REVALIDATE_EACH_TIME)


@api_router.get("/agents", response_model=ListOut, responses=TAGGED)
async def list_agents(
    request: Request, query: Annotated[ListQuery, Query()], db: Db, settings: Config, _: Public
) -> Response:
    """List entries of agents, this registry's own and mirrored ones, without ranking."""
    criteria = EntryListRequest(
        read_filter(query.filter), read_order(query.order_by), query.page_size, query.page_token
    )
    page = await db.read(lambda tx: list_entries(tx, criteria, settings))
    return document(request, page, keep=REVALIDATE_EACH_TIME)


@api_router.get(
    "/agents/{identifier:path}",
    response_model=Entry,
    responses={**TAGGED, **problems(EntryUnknown)},
)
async def read_entry(
    request: Request,
    db: Db,
    settings: Config,
    _: Public,
    identifier: Annotated[str, Path(description="The whole identifier, percent-encoded once.")],
) -> Response:
    """Read the entry with exactly this identifier."""
    criteria = read_identifier(identifier)
    entry = await db.query(lambda tx: entry_called(tx, criteria, settings))
    return document(request, entry, keep=REVALIDATE_EACH_TIME)
