"""Access tokens of connected clients: JWTs of RFC 9068 for the MCP endpoint alone, with a key of their own.

No other route takes them, and the MCP endpoint takes none of another audience. A token says under which grant it was issued, or by
which secret of an agent; whether that still counts is read from the database at each call.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing.keys.tokens import EXPIRY_MAX, TokenIssuer, TokenKind
from hansa.foundation.values.errors import Unauthorized

TYP: Final = "at+jwt"
LIFETIME = timedelta(minutes=30)


def resource_of(base_url: str) -> str:
    """The audience of access tokens, which is the address of the MCP endpoint."""
    return f"{base_url}/mcp"


class AccessClaims(msgspec.Struct, frozen=True):
    """Claims of a verified access token; `expires_at` is in epoch seconds.

    Under a grant the subject is the id of its developer. With a session it is the DID of an agent, and the session that of its secret.
    """

    subject: str
    client_id: str
    scopes: frozenset[str]
    expires_at: int
    grant_id: UUID | None = None
    session: str | None = None


class _Signed(msgspec.Struct, frozen=True):
    sub: str
    client_id: str
    scope: str
    exp: int
    grant: UUID | None = None
    sid: str | None = None


def issue_access(tokens: TokenIssuer, base_url: str, claims: AccessClaims, *, now: datetime) -> str:
    """An access token with these claims, issued `now` by the database's clock."""
    signed: dict[str, Any] = {
        "iss": base_url,
        "aud": resource_of(base_url),
        "sub": claims.subject,
        "client_id": claims.client_id,
        "scope": scope_text(claims.scopes),
        "iat": int(now.timestamp()),
        "exp": claims.expires_at,
        "jti": str(uuid4()),
    }
    if claims.grant_id is not None:
        signed["grant"] = str(claims.grant_id)
    if claims.session is not None:
        signed["sid"] = claims.session
    return tokens.sign(TokenKind.ACCESS, TYP, signed)


def verify_access(tokens: TokenIssuer, base_url: str, token: str) -> AccessClaims:
    """The claims of a genuine access token; the expiry is for the caller to judge. Raises: Unauthorized."""
    claims = tokens.opened(TokenKind.ACCESS, TYP, token, issuer=base_url, audience=resource_of(base_url))
    try:
        signed = msgspec.convert(claims, _Signed)
    except msgspec.ValidationError:
        raise Unauthorized from None
    if (signed.grant is None) == (signed.sid is None) or not 0 <= signed.exp < EXPIRY_MAX:
        raise Unauthorized
    return AccessClaims(
        signed.sub,
        signed.client_id,
        frozenset(signed.scope.split()),
        signed.exp,
        signed.grant,
        signed.sid,
    )


def scope_text(scopes: Iterable[str]) -> str:
    """Scopes as RFC 6749 writes them."""
    return " ".join(sorted(scopes))
