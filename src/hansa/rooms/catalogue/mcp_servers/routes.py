"""HTTP routes of the MCP registry API: the servers of this registry, readable from any origin."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms.catalogue.errors import CursorInvalid

from .errors import ANY_ORIGIN, ServerUnknown
from .listing import list_page, version_of, versions_of
from .schemas import VERSION_MAX_CHARACTERS, ListMetadata, ServerList, ServerResponse, ServersQuery


async def _for_any_origin(response: Response) -> None:
    response.headers.update(ANY_ORIGIN)


servers_router = APIRouter(
    prefix="/v0.1/servers",
    tags=["discovery protocols"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit), Depends(_for_any_origin)],
    responses=problems(TooManyRequests),
)

Name = Annotated[str, Path(max_length=400, description="The name of a server; its slash may be encoded.")]
WithDeleted = Annotated[
    bool, Query(description="Also a server that left the listing in the last 30 days, without its text.")
]


@servers_router.get("", response_model_exclude_none=True, responses=problems(CursorInvalid, Invalid))
async def list_mcp_servers(
    _: Public, db: Db, settings: Config, query: Annotated[ServersQuery, Query()]
) -> ServerList:
    """The agents and the imported MCP servers of this registry, the oldest first."""
    return await db.read(lambda tx: list_page(tx, query, settings))


@servers_router.get(
    "/{server_name:path}/versions", response_model_exclude_none=True, responses=problems(ServerUnknown)
)
async def list_versions_of_mcp_server(
    _: Public, db: Db, settings: Config, server_name: Name, *, include_deleted: WithDeleted = False
) -> ServerList:
    """The versions of a server that are stored, the newest first."""
    found = await db.read(lambda tx: versions_of(tx, server_name, settings, with_deleted=include_deleted))
    return ServerList(servers=found, metadata=ListMetadata(count=len(found)))


@servers_router.get(
    "/{server_name:path}/versions/{version}",
    response_model_exclude_none=True,
    responses=problems(ServerUnknown),
)
async def read_version_of_mcp_server(
    _: Public,
    db: Db,
    settings: Config,
    server_name: Name,
    version: Annotated[str, Path(max_length=VERSION_MAX_CHARACTERS, description="`1.0.<n>`, or `latest`.")],
    *,
    include_deleted: WithDeleted = False,
) -> ServerResponse:
    """One version of a server; `latest` is the newest."""
    return await db.read(
        lambda tx: version_of(tx, server_name, version, settings, with_deleted=include_deleted)
    )
