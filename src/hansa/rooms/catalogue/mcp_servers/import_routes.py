"""HTTP route of imports of MCP servers."""

import json

from fastapi import APIRouter, Request, Response

from hansa.foundation.plumbing.process.runtime import Config, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.entity_tags import tagged
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import DeveloperSuspended, QuotaReached, TooManyRequests, Unauthorized
from hansa.rooms.catalogue.errors import (
    AgentNotActive,
    AgentNotHere,
    AgentNotYours,
    CardInvalid,
    HumanReadableIdTaken,
    ListingCardsTooMany,
)
from hansa.rooms.catalogue.namespaces import domain_of, why_unprovable
from hansa.rooms.catalogue.owning.ownership import Owners
from hansa.rooms.catalogue.owning.routes import Writer
from hansa.rooms.catalogue.schemas import CardOut
from hansa.rooms.catalogue.search import CardWrites
from hansa.rooms.catalogue.shown import shown

from .errors import ServerJsonInvalid
from .importing import ImportOrder, import_server, preview_import, read_server
from .schemas import ImportIn, ImportPreviewOut

import_router = APIRouter(tags=["agent cards"], route_class=GuardedRoute)


@import_router.post(
    "/agent-cards/import-mcp",
    status_code=201,
    response_model=CardOut,
    responses={
        200: {"model": ImportPreviewOut, "description": "With `dry_run`: nothing was stored."},
        **problems(
            Unauthorized,
            DeveloperSuspended,
            AgentNotYours,
            AgentNotHere,
            AgentNotActive,
            HumanReadableIdTaken,
            ListingCardsTooMany,
            ServerJsonInvalid,
            CardInvalid,
            BodyInvalid,
            TooManyRequests,
            QuotaReached,
        ),
    },
)
@takes_cards
async def import_mcp_server(
    request: Request,
    *,
    body: ImportIn,
    developer: Writer,
    writes: WriteLimit,
    db: CardWrites,
    settings: Config,
    owners: Owners,
) -> Response:
    """Import an MCP server: as a listing card, or as an interface of an own agent's card."""
    await writes.admit(f"developer:{developer.id}")
    server = await read_server(body.source(), runtime_of(request).outgoing, settings)
    order = ImportOrder(server, body.agent_did, developer.id)
    if body.dry_run:
        database = runtime_of(request).database
        card = await preview_import(database, order, settings, owners)
        preview = ImportPreviewOut(
            name=server.name,
            card_data=card.card_data or {},
            called=list(server.called),
            unverifiable=why_unprovable(domain_of(server.name), server.called),
        )
        text = json.dumps(preview.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
        return Response(text, media_type="application/json")
    card = await db.transaction(lambda tx: import_server(tx, order, settings, owners))
    answer = tagged(request, CardOut.of(shown(card, settings.extension_base)).body(), state=card.state)
    answer.headers["Location"] = f"/api/v1/agent-cards/{card.id}"
    answer.status_code = 201
    return answer
