"""The registry's keys over HTTP."""

from fastapi import APIRouter, Depends, Response

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Db
from hansa.foundation.words.errors import TooManyRequests

from .reading import all_keys, published_keys
from .schemas import RegistryJwks, RegistryKeyHistory

CACHED = "public, max-age=300, stale-while-revalidate=600"

router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
root_router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


@root_router.get("/.well-known/registry-jwks.json", responses=problems(TooManyRequests))
async def read_registry_jwks(_: Public, response: Response, db: Db) -> RegistryJwks:
    """The keys of the registry's signatures: the present one, and those retired within the last seven days."""
    keys = await db.look(published_keys)
    response.headers["Cache-Control"] = CACHED
    return RegistryJwks.of(keys)


@router.get("/public/registry-keys", responses=problems(TooManyRequests))
async def read_registry_keys(_: Public, response: Response, db: Db) -> RegistryKeyHistory:
    """Every key that the registry ever signed with and its times, to verify what was signed long ago."""
    keys = await db.look(all_keys)
    response.headers["Cache-Control"] = CACHED
    return RegistryKeyHistory.of(keys)
