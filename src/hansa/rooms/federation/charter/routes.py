"""The registry's keys over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized

from .registry_keys import all_keys, published_keys, rotate_as_administrator
from .schemas import RegistryJwks, RegistryKeyHistory, RegistryKeyRotationIn, RotatedKey

CACHED = "public, max-age=300, stale-while-revalidate=600"

router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
root_router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
admin_router = APIRouter(tags=["administrators"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_platform")]


@root_router.get(
    "/.well-known/registry-jwks.json",
    response_model_exclude_none=True,
    responses=problems(TooManyRequests),
)
async def read_registry_jwks(_: Public, response: Response, db: Db) -> RegistryJwks:
    """The signing keys of the registry: the current one, and those retired in the last seven days."""
    keys = await db.query(published_keys)
    response.headers["Cache-Control"] = CACHED
    return RegistryJwks.of(keys)


@root_router.get("/.well-known/registry-jwks-history.json", responses=problems(TooManyRequests))
async def read_registry_key_history(_: Public, response: Response, db: Db) -> RegistryKeyHistory:
    """All signing keys of the registry with their validity, to verify old signatures."""
    keys = await db.query(all_keys)
    response.headers["Cache-Control"] = CACHED
    return RegistryKeyHistory.of(keys)


@router.get("/public/registry-keys", responses=problems(TooManyRequests))
async def read_registry_keys(_: Public, response: Response, db: Db) -> RegistryKeyHistory:
    """The keys of `/.well-known/registry-jwks.json` with their validity; older keys are in the history."""
    keys = await db.query(published_keys)
    response.headers["Cache-Control"] = CACHED
    return RegistryKeyHistory.of(keys)


@admin_router.post(
    "/admin/registry-signing-key/rotate",
    responses=problems(Unauthorized, Invalid, BodyInvalid),
)
async def rotate_registry_signing_key(
    administrator: Administrator,
    db: Db,
    settings: Config,
    seal: Sealing,
    body: RegistryKeyRotationIn | None = None,
) -> RotatedKey:
    """Sign with a new key from now on, in every process. The former key stays in the key set for seven days."""
    reason = body.reason if body else None
    key = await db.transaction(
        lambda tx: rotate_as_administrator(tx, administrator, settings, seal, reason=reason)
    )
    return RotatedKey.of(key)
