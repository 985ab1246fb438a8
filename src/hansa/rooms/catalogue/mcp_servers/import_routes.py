"""HTTP route of imports of MCP servers."""

import json

from fastapi import APIRouter, Request, Response

from hansa.foundation.plumbing.process.runtime import Config, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    answer_once,
    recall,
    remember,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import (
    DeveloperSuspended,
    OrgRoleRequired,
    QuotaReached,
    TooManyRequests,
    Unauthorized,
)
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

ROUTE = "/agent-cards/import-mcp"

import_router = APIRouter(tags=["agent cards"], route_class=GuardedRoute)


@import_router.post(
    ROUTE,
    status_code=201,
    response_model=CardOut,
    responses={
        200: {"model": ImportPreviewOut, "description": "With `dry_run`: nothing was stored."},
        **problems(
            Unauthorized,
            DeveloperSuspended,
            AgentNotYours,
            OrgRoleRequired,
            AgentNotHere,
            AgentNotActive,
            HumanReadableIdTaken,
            ListingCardsTooMany,
            ServerJsonInvalid,
            CardInvalid,
            BodyInvalid,
            KeyReused,
            KeyInProgress,
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
    key: IdempotencyKey = None,
) -> Response:
    """Import an MCP server: as a listing card, or as an interface of an own agent's card."""
    caller = f"developer:{developer.id}"
    await writes.admit(caller)
    runtime = runtime_of(request)
    repeatable = Repeatable(caller, ROUTE, key, body.model_dump(mode="json")) if key else None
    if repeatable and (known := await runtime.database.transaction(lambda tx: recall(tx, repeatable))):
        return _created(known, replayed=True)
    server = await read_server(body.source(), runtime.outgoing, settings)
    order = ImportOrder(server, body.agent_did, developer.id)
    if body.dry_run:
        card = await preview_import(runtime.database, order, settings, owners)
        preview = ImportPreviewOut(
            name=server.name,
            card_data=card.card_data or {},
            called=list(server.called),
            unverifiable=why_unprovable(domain_of(server.name), server.called),
        )
        text = json.dumps(preview.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
        return Response(text, media_type="application/json")

    async def recalled_or_imported(tx: Tx) -> tuple[str, bool]:
        if repeatable and (known := await recall(tx, repeatable)) is not None:
            return known, True
        card = await import_server(tx, order, settings, owners)
        answer = CardOut.of(shown(card, settings.extension_base)).body().decode()
        if repeatable:
            await remember(tx, repeatable, answer)
        return answer, False

    answer, replayed = await db.transaction(recalled_or_imported)
    return _created(answer, replayed=replayed)


def _created(answer: str, *, replayed: bool) -> Response:
    response = answer_once(answer, replayed=replayed)
    response.headers["Location"] = f"/api/v1/agent-cards/{json.loads(answer)['id']}"
    response.status_code = 201
    return response
