"""Tokens of a grant: a code is exchanged once, refresh tokens rotate, and the second use of either ends the grant.

Each function works in one transaction that commits whatever it finds: an end that a second use caused must not be undone. The
route refuses after the commit.
"""

from dataclasses import dataclass, field
from datetime import datetime

from hansa.foundation.plumbing.keys.access_tokens import (
    LIFETIME,
    AccessClaims,
    issue_access,
    scope_text,
    verify_access,
)
from hansa.foundation.plumbing.keys.tokens import TokenIssuer
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store
from .ending import end_grant
from .records import ConnectionRow

REFRESH_PREFIX = "hrt_"


@dataclass(frozen=True)
class Issued:
    """Right to an access token of a grant, with the refresh token that continues it, shown once."""

    developer_id: int
    connection: ConnectionRow
    scopes: frozenset[str]
    now: datetime
    refresh_token: str = field(repr=False)

    def access_token(self, tokens: TokenIssuer, base_url: str) -> str:
        """An access token of the grant, which ends with it at the latest."""
        ends_at = min(self.now + LIFETIME, self.connection.ends_at)
        claims = AccessClaims(
            str(self.developer_id),
            self.connection.client_id,
            self.scopes,
            int(ends_at.timestamp()),
            self.connection.id,
        )
        return issue_access(tokens, base_url, claims, now=self.now)

    @property
    def expires_in(self) -> int:
        """Seconds until the access token ends."""
        return int(min(LIFETIME, self.connection.ends_at - self.now).total_seconds())

    @property
    def scope(self) -> str:
        """The scopes, as RFC 6749 writes them."""
        return scope_text(self.scopes)


async def exchange_code(
    tx: Tx, code: str, *, client_id: str, redirect_uri: str, verifier: str
) -> Issued | None:
    """Exchange a code for the first tokens of its grant; None where it is not good."""
    code_hash = fingerprint(code)
    found = await store.lock_code(tx, code_hash)
    if found is None:
        return None
    grant = found.connection
    if found.is_used:
        await end_grant(tx, grant.id, "code_reused")
        return None
    is_bound = grant.client_id == client_id and found.redirect_uri == redirect_uri
    if not is_bound or not rules.proves(verifier, found.challenge):
        return None
    if found.is_past or not found.lives:
        return None
    await store.use_code(tx, code_hash)
    return await _issued(tx, found, frozenset(grant.scopes))


async def refresh(tx: Tx, refresh_token: str, *, client_id: str, scope: str | None) -> Issued | None:
    """Exchange a refresh token for the next tokens; None where it is not good.

    A token that was used more than ten seconds ago ends its grant; within them it may be a repeated request of the client.

    Raises: OAuthFault, for more scopes than the grant has.
    """
    token_hash = fingerprint(refresh_token)
    found = await store.lock_token(tx, token_hash)
    if found is None or found.connection.client_id != client_id:
        return None
    if found.is_used:
        if found.is_past:
            await end_grant(tx, found.connection.id, "refresh_token_reused")
        return None
    if not found.lives:
        return None
    scopes = rules.narrowed(scope, found.connection.scopes)
    await store.use_token(tx, token_hash)
    return await _issued(tx, found, scopes)


async def revoke_token(tx: Tx, runtime: Runtime, token: str, client_id: str) -> None:
    """End the grant of a refresh or access token of this client; any other token changes nothing (RFC 7009, 2.2)."""
    found = await store.lock_token(tx, fingerprint(token))
    if found is not None:
        if found.connection.client_id == client_id:
            await end_grant(tx, found.connection.id, "revoked")
        return
    try:
        claims = verify_access(runtime.tokens, runtime.settings.base_url, token)
    except Unauthorized:
        return
    if claims.grant_id is not None and claims.client_id == client_id:
        await end_grant(tx, claims.grant_id, "revoked")


async def _issued(tx: Tx, found: store.LockedCode | store.LockedToken, scopes: frozenset[str]) -> Issued:
    refresh_token = new_hex(REFRESH_PREFIX)
    await store.add_token(tx, fingerprint(refresh_token), found.connection.id)
    return Issued(found.developer_id, found.connection, scopes, found.now, refresh_token)
