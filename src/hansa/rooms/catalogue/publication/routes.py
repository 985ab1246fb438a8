"""HTTP doors for who knows nothing but the address of the registry: well-known documents and the sitemap."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.entity_tags import TAGGED
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests
from hansa.rooms.catalogue.rules import BIGINT_MAX

from . import crawling
from .cacheable_response import KEEP_FOR_MINUTES, REVALIDATE_EACH_TIME, document
from .descriptions import described_page
from .errors import SitemapPageUnknown
from .registry_agent_card import API, CARD_AT, registry_agent_card
from .schemas import AgentDescriptions, OwnCard

DESCRIPTIONS_AT = "/.well-known/agent-descriptions"
XML = "application/xml"
XML_ANSWER: dict[int | str, dict[str, Any]] = {200: {"content": {XML: {"schema": {"type": "string"}}}}}
TEXT_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}
router = APIRouter(
    tags=["discovery protocols"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
    responses=problems(TooManyRequests),
)


class LinkedData(JSONResponse):
    """A document of linked data."""

    media_type = "application/ld+json"


@router.get(
    DESCRIPTIONS_AT,
    response_class=LinkedData,
    response_model=AgentDescriptions,
    responses=TAGGED,
)
async def read_agent_descriptions(
    request: Request,
    db: Db,
    settings: Config,
    _: Public,
    after: Annotated[int, Query(ge=0, le=BIGINT_MAX, description="The `next` of the previous page.")] = 0,
) -> Response:
    """The agents of this registry, as the Agent Network Protocol discovers them: links to their descriptions."""
    page = await db.query(lambda tx: described_page(tx, after))
    base = settings.base_url
    content = AgentDescriptions.of(page, after=after, here=base + DESCRIPTIONS_AT, api=base + API)
    return document(request, content, media_type=LinkedData.media_type, keep=REVALIDATE_EACH_TIME)


@router.get(CARD_AT, response_model=OwnCard, responses=TAGGED)
async def read_own_card(request: Request, settings: Config, _: Public) -> Response:
    """The A2A card of the registry itself, which describes its HTTP API (not A2A)."""
    return document(request, OwnCard.model_validate(registry_agent_card(settings)), keep=KEEP_FOR_MINUTES)


@router.get("/robots.txt", response_class=Response, responses={**TEXT_ANSWER, **TAGGED})
async def read_robots(request: Request, settings: Config, _: Public) -> Response:
    """robots.txt: what crawlers may read, and the addresses of the sitemap and of the manifest of agents."""
    return document(request, crawling.robots(settings), media_type="text/plain", keep=KEEP_FOR_MINUTES)


@router.get("/sitemap.xml", response_class=Response, responses={**XML_ANSWER, **TAGGED})
async def read_sitemap_index(request: Request, db: Db, settings: Config, _: Public) -> Response:
    """The index of the sitemap."""
    index = await db.query(lambda tx: crawling.sitemap_index(tx, settings))
    return document(request, index, media_type=XML, keep=REVALIDATE_EACH_TIME)


@router.get("/sitemap/pages.xml", response_class=Response, responses={**XML_ANSWER, **TAGGED})
async def read_sitemap_of_pages(request: Request, settings: Config, _: Public) -> Response:
    """The pages that every registry has."""
    content = crawling.sitemap_of_fixed_pages(settings)
    return document(request, content, media_type=XML, keep=KEEP_FOR_MINUTES)


@router.get(
    "/sitemap/agents-{page_number}.xml",
    response_class=StreamingResponse,
    responses={**XML_ANSWER, **problems(SitemapPageUnknown)},
)
async def read_sitemap_of_agents(
    db: Db, settings: Config, _: Public, page_number: Annotated[int, Path(ge=0, le=crawling.RANGE_MAX)]
) -> Response:
    """The pages of up to 50,000 agents, each with the time of its last change."""
    pieces = await crawling.sitemap_of_agents(db, settings, page_number)
    return StreamingResponse(pieces, media_type=XML, headers={"Cache-Control": REVALIDATE_EACH_TIME})
