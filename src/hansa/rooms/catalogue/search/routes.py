"""HTTP doors of search."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    Developer,
    Public,
    maybe_developer_holding,
)
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems

from .errors import SearchNotReady
from .query import Discovery, SearchQuery
from .response_cache import SEARCH_ANSWERS, Answers
from .schemas import Discovered, DiscoveredPage, DiscoverQuery, PlainQuery
from .searcher import SEARCHER, Searcher

router = APIRouter(tags=["discovery"], route_class=DirectRoute, dependencies=[Depends(within_read_limit)])


MaybeReader = Annotated[Developer | None, maybe_developer_holding("cards:read")]
Search = Annotated[Searcher, Depends(SEARCHER.given)]
SearchAnswers = Annotated[Answers, Depends(SEARCH_ANSWERS.given)]


@router.get("/discover", response_model=Discovered, responses=problems(SearchNotReady))
async def discover_agents(
    _: Public, answers: SearchAnswers, query: Annotated[PlainQuery, Query()]
) -> Response:
    """Search agents, local and mirrored, by text in name, tags, skills, description or DID."""
    return _json(await answers.answer(query.search_query(), _plain))


@router.get(
    "/agent-cards/discover",
    response_model=DiscoveredPage,
    openapi_extra=CREDENTIAL_OPTIONAL,
    responses=problems(SearchNotReady),
)
async def discover_cards(
    reader: MaybeReader, answers: SearchAnswers, query: Annotated[DiscoverQuery, Query()]
) -> Response:
    """Search the catalogue, with counts per origin, pricing and tag over all results."""
    by_administrator = reader is not None and bool(reader.areas_in_reach)
    return _json(await answers.answer(query.search_query(by_administrator=by_administrator), _faceted))


async def _plain(found: Discovery, search_query: SearchQuery, _: Searcher) -> bytes:
    return Discovered.of(found, search_query).model_dump_json().encode()


async def _faceted(found: Discovery, search_query: SearchQuery, _: Searcher) -> bytes:
    return DiscoveredPage.of(found, search_query).model_dump_json().encode()


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
