"""Reading servers: a page of the list, the versions of one, and one of them."""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.rules import like_pattern

from . import served, store
from .errors import ServerUnknown
from .records import Wanted
from .schemas import ListMetadata, ServerList, ServerResponse, ServersQuery


async def list_page(tx: Tx, query: ServersQuery, settings: Settings) -> ServerList:
    """Return a page of servers; a version in another form than `1.0.<n>` is one of no server. Raises: CursorInvalid."""
    is_any = query.version in {None, served.LATEST}
    version = None if query.version is None else served.document_version(query.version)
    if version is None and not is_any:
        return ServerList(servers=[], metadata=ListMetadata(count=0))
    wanted = Wanted(
        limit=query.limit + 1,
        after=served.decode_cursor(query.cursor) if query.cursor else 0,
        updated_since=query.updated_since,
        pattern=like_pattern(query.search) if query.search else None,
        version=version,
        with_deleted=query.include_deleted or query.updated_since is not None,
    )
    found = await store.list_servers(tx, wanted, f"{served.namespace_of(settings.trust_domain)}/")
    page = found[: query.limit]
    goes_on = len(found) > len(page)
    metadata = ListMetadata(
        count=len(page), nextCursor=served.encode_cursor(page[-1].card_id) if goes_on else None
    )
    servers = [served.response_of(one, settings.trust_domain, settings.base_url) for one in page]
    return ServerList(servers=servers, metadata=metadata)


async def versions_of(
    tx: Tx, server_name: str, settings: Settings, *, with_deleted: bool, version: int | None = None
) -> list[ServerResponse]:
    """Return the stored versions of a server, the newest first, or that of one document. Raises: ServerUnknown."""
    namespace, _, name = server_name.partition("/")
    if namespace != served.namespace_of(settings.trust_domain):
        raise ServerUnknown
    found = await store.versions_of_server(tx, name, version, with_deleted=with_deleted)
    if not found:
        raise ServerUnknown
    return [served.response_of(one, settings.trust_domain, settings.base_url) for one in found]


async def version_of(
    tx: Tx, server_name: str, version: str, settings: Settings, *, with_deleted: bool
) -> ServerResponse:
    """Return one version of a server; `latest` is the newest. Raises: ServerUnknown."""
    number = served.document_version(version)
    if number is None and version != served.LATEST:
        raise ServerUnknown
    found = await versions_of(tx, server_name, settings, with_deleted=with_deleted, version=number)
    return found[0]
