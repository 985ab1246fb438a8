"""Check of an access token at a call: the token is genuine, and the row of its grant decides."""

from uuid import UUID

from hansa.foundation.plumbing.keys.access_tokens import AccessClaims, verify_access
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.connections import GrantBounds
from hansa.foundation.values.errors import Unauthorized

from . import store
from .errors import AccessTokenRefused
from .records import Connection

SUPPORT = "support:write"
"""Scope of a connection and of an API key."""


async def access_of(runtime: Runtime, token: str) -> Connection:
    """The connection of an access token that was issued under a grant. Raises: AccessTokenRefused."""
    try:
        claims = verify_access(runtime.tokens, runtime.settings.base_url, token)
    except Unauthorized:
        raise AccessTokenRefused from None
    return await connection_of(runtime, claims)


async def connection_of(runtime: Runtime, claims: AccessClaims) -> Connection:
    """The connection of verified claims, as its grant stands now. Raises: AccessTokenRefused."""
    grant_id = claims.grant_id
    if grant_id is None:
        raise AccessTokenRefused
    found = await runtime.database.query(lambda tx: store.accessed(tx, grant_id, claims.expires_at))
    if found is None or str(found.developer_id) != claims.subject:
        raise AccessTokenRefused
    row = found.connection
    if row.client_id != claims.client_id:
        raise AccessTokenRefused
    if found.is_idle:
        await runtime.database.execute(lambda tx: store.note_use(tx, grant_id))
    scopes = claims.scopes & frozenset(row.scopes)
    return Connection(
        grant_id=grant_id,
        developer=_person(found, grant_id, scopes),
        agent_did=row.agent_did,
        scopes=scopes,
        client_id=row.client_id,
        client_host=row.client_host,
        client_name=row.client_name,
        limits=row.limits,
        is_suspended=found.is_suspended,
        read_bounds=read_bounds,
    )


async def read_bounds(tx: Tx, grant_id: UUID, /, *, locked: bool) -> GrantBounds:
    """The limits of a grant, whose row stays locked until the transaction ends with `locked`. Raises: AccessTokenRefused."""
    found = await store.bounds(tx, grant_id, locked=locked)
    if found is None:
        raise AccessTokenRefused
    return found


async def has_grant_ended(tx: Tx, grant_id: UUID) -> bool:
    """Return whether a grant has ended; that of a suspended developer lives."""
    return await store.has_ended(tx, grant_id)


def _person(found: store.Accessed, grant_id: UUID, granted: frozenset[str]) -> Developer:
    """The person whose agents the client reads, and for whom it writes tickets where that was granted."""
    return Developer(
        id=found.developer_id,
        email=found.email,
        session=f"connection:{grant_id}",
        is_verified=found.is_verified,
        areas=frozenset(),
        is_admin=False,
        scopes=frozenset({"agents:read"}) | (granted & {SUPPORT}),
        is_suspended=found.is_suspended,
    )
