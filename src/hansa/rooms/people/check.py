"""Check of a developer's credential: a developer token, or an API key."""

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer

from .api_keys import KEY_PREFIX, check_api_key, check_key_behind_ticket
from .sessions import check_session


async def check_developer(runtime: Runtime, token: str) -> Developer:
    """The developer who holds this token or key, as both stand now. Raises: Unauthorized."""
    if token.startswith(KEY_PREFIX):
        return await check_api_key(runtime, token)
    claims = runtime.tokens.verify(TokenKind.DEVELOPER, token)
    if claims.session.startswith(API_KEY_SESSION):
        # Such a token stands for a key behind the live feed's ticket, and is never shown to anybody.
        return await check_key_behind_ticket(runtime, int(claims.session.removeprefix(API_KEY_SESSION)))
    return await check_session(runtime, claims)
