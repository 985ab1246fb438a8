"""The right to set a new password: a token that does nothing else, once, and dies with any change of the password."""

from datetime import timedelta
from uuid import UUID

from hansa.foundation.plumbing.keys.tokens import TokenIssuer, TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import PasswordSetter
from hansa.foundation.values.errors import Unauthorized

from . import store


async def grant(tx: Tx, tokens: TokenIssuer, developer_id: int, lifetime_seconds: int) -> str:
    """The token that sets the developer's password."""
    granted = await store.add_grant(tx, developer_id, lifetime_seconds)
    return tokens.issue(
        TokenKind.PASSWORD_SET,
        str(granted.developer_id),
        session=str(granted.id),
        now=granted.issued_at,
        lifetime=timedelta(seconds=lifetime_seconds),
    )


async def check_password_setter(runtime: Runtime, token: str) -> PasswordSetter:
    """Return the developer who may set a password with this token. Raises: Unauthorized when it is not genuine, expired or burnt."""
    claims = runtime.tokens.verify(TokenKind.PASSWORD_SET, token)
    setter = PasswordSetter(int(claims.subject), UUID(claims.session))
    is_good = await runtime.database.query(
        lambda tx: store.grant_is_good(tx, setter.developer_id, setter.grant, claims.expires_at)
    )
    if not is_good:
        raise Unauthorized
    return setter


async def forget_ended(tx: Tx) -> None:
    """Delete the rights that were not used in time."""
    await store.forget_ended(tx)
