"""The registry card over HTTP: public, also for the pages of other hosts; written by administrators of the platform."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path
from fastapi.responses import JSONResponse, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized

from .card_content import SCHEMA_AT
from .card_editing import CardEditor, edit_card, read_editable, read_editable_version
from .card_reading import LAST_AUDIT, ReadLastAudit, has_card, read_card, read_card_version
from .card_schema import published_schema
from .errors import (
    CardBlockLocked,
    CardMemberInvalid,
    CardUnsigned,
    CardVersionUnknown,
    KeyDoesNotOpen,
)
from .routes import CACHED
from .schemas import RegistryCard, RegistryCardEdited, RegistryCardIn, RegistryCardSchema

CARD_AT = "/.well-known/registry-card.json"
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
NEVER_CHANGES = "public, max-age=31536000, immutable"
VERSION_MAX = 2**63 - 1

card_root_router = APIRouter(
    tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)
card_router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
card_admin_router = APIRouter(tags=["administrators"], route_class=GuardedRoute)

PlatformAdministrator = Annotated[Developer, admin_holding("admin_platform")]
LastAuditOf = Annotated[ReadLastAudit, Depends(LAST_AUDIT.given)]


class SchemaResponse(JSONResponse):
    """A JSON Schema."""

    media_type = "application/schema+json"


@card_root_router.get(
    CARD_AT,
    response_model=RegistryCard,
    responses={
        304: {"description": "If-None-Match names this card."},
        **problems(CardUnsigned, TooManyRequests),
    },
)
async def read_registry_card(
    _: Public,
    db: Db,
    settings: Config,
    last_audit: LastAuditOf,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The registry card 0.6. Its entity tag covers what the operator writes and what is signed, not the live figures."""
    served = await db.read_replicated(lambda tx: read_card(tx, settings.settlement_currency, last_audit))
    headers = {"ETag": f'"{served.etag}"', "Cache-Control": CACHED, **ANY_ORIGIN}
    if has_card(if_none_match, served.etag):
        return Response(status_code=304, headers=headers)
    return JSONResponse(served.card, headers=headers)


@card_root_router.get(
    SCHEMA_AT,
    response_class=SchemaResponse,
    response_model=RegistryCardSchema,
    responses=problems(TooManyRequests),
)
async def read_registry_card_schema(_: Public, settings: Config) -> Response:
    """The strict JSON Schema (draft 2020-12) of the registry card; `x-signed` marks what every signature covers."""
    schema = published_schema(settings.base_url + SCHEMA_AT)
    headers = {"Cache-Control": CACHED, **ANY_ORIGIN}
    return SchemaResponse(schema, headers=headers)


@card_router.get(
    "/public/registry-card/versions/{version}",
    response_model=RegistryCard,
    responses=problems(CardVersionUnknown, Invalid, TooManyRequests),
)
async def read_registry_card_version(
    _: Public, db: Db, version: Annotated[int, Path(ge=1, le=VERSION_MAX)]
) -> Response:
    """A signed version of the card, byte for byte what its leaf in the log proves (kind `registry_card`)."""
    found = await db.read_replicated(lambda tx: read_card_version(tx, version))
    headers = {"Cache-Control": NEVER_CHANGES, **ANY_ORIGIN}
    return Response(found.document, media_type="application/json", headers=headers)


@card_admin_router.get("/admin/registry-card", responses=problems(Unauthorized, CardUnsigned))
async def read_editable_registry_card(_: PlatformAdministrator, db: Db) -> RegistryCardEdited:
    """What the operator wrote of the card, and the published version."""

    async def read(tx: Tx) -> RegistryCardEdited:
        return RegistryCardEdited.of(*await read_editable_version(tx))

    return await db.read(read)


@card_admin_router.put(
    "/admin/registry-card",
    responses=problems(
        Unauthorized,
        BodyInvalid,
        CardBlockLocked,
        CardMemberInvalid,
        KeyDoesNotOpen,
    ),
)
async def write_registry_card(
    administrator: PlatformAdministrator, db: Db, settings: Config, seal: Sealing, body: RegistryCardIn
) -> RegistryCardEdited:
    """Replace the blocks that the body has; null removes one. All others are derived and cannot be written."""
    given: dict[str, Any] = body.model_dump(exclude_unset=True)
    editor = CardEditor(administrator, settings, seal)

    async def edit(tx: Tx) -> RegistryCardEdited:
        version = await edit_card(tx, editor, given)
        return RegistryCardEdited.of(await read_editable(tx), version)

    return await db.transaction(edit)
