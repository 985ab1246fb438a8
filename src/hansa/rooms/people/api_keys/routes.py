"""HTTP doors of API keys."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized

from . import make
from .errors import KeyUnknown, ScopeBroader, TooManyKeys
from .schemas import BIGINT_MAX, ApiKeyIn, ApiKeyInfo, ApiKeysPage, ApiKeysQuery, KeyName, MadeKeyOut

router = APIRouter(prefix="/auth/api-keys", tags=["API keys"], route_class=GuardedRoute)

ManagingDeveloper = Annotated[Developer, developer_holding("keys:manage")]
MakingDeveloper = Annotated[Developer, developer_acting("keys:manage")]
ReadingDeveloper = Annotated[Developer, developer_holding("keys:read")]


@router.post("", responses=problems(Unauthorized, ScopeBroader, TooManyKeys, Invalid, BodyInvalid))
async def make_api_key(
    body: ApiKeyIn | KeyName, developer: MakingDeveloper, db: Db, config: Config
) -> MadeKeyOut:
    """Create an API key. The plain key is shown only once."""
    asked = ApiKeyIn.of(body)
    days = config.api_key_default_ttl_days if asked.expires_in_days is None else asked.expires_in_days
    made = await db.transaction(
        lambda tx: make.make_key(tx, developer, name=asked.key_name, scopes=asked.scopes, ttl_days=days)
    )
    return MadeKeyOut.of(made)


@router.get("", responses=problems(Unauthorized, Invalid))
async def list_api_keys(
    developer: ReadingDeveloper, query: Annotated[ApiKeysQuery, Query()], db: Db
) -> ApiKeysPage:
    """Own API keys, newest first."""
    keys, total = await db.read(
        lambda tx: make.list_keys(tx, developer, limit=query.limit, offset=query.offset)
    )
    return ApiKeysPage.of(keys, total, query)


@router.delete("/{key_id}", responses=problems(Unauthorized, KeyUnknown, Invalid))
async def revoke_api_key(
    key_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)], developer: ManagingDeveloper, db: Db
) -> ApiKeyInfo:
    """Revoke an own API key, with effect from the next request."""
    return ApiKeyInfo.of(await db.transaction(lambda tx: make.revoke_key(tx, developer, key_id)))
