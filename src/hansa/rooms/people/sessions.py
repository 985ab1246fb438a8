"""Sessions: refreshed by a token that works once, ended by logout or by the second use of such a token."""

from datetime import timedelta
from uuid import UUID

import msgspec
from fastapi import Request

from hansa.foundation.plumbing.keys.tokens import Claims, TokenIssuer, TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.plumbing.web.limits import client_address
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import session_store
from .errors import SessionUnknown
from .login import Open
from .schemas import SessionOut

REFRESH_DAYS = 7
CLIENT_MAX_CHARACTERS = 200


class Client(msgspec.Struct, frozen=True):
    """Client that asked for a session, for its owner to recognise: the program's own word, and the network address."""

    name: str
    address: str

    @classmethod
    def of(cls, request: Request) -> "Client":
        """The person who sent the request."""
        shown = request.headers.get("user-agent", "").encode("ascii", "replace").decode()
        return cls(shown[:CLIENT_MAX_CHARACTERS], client_address(request)[:64])


class OpenSession(msgspec.Struct, frozen=True):
    """A session with the refresh token that continues it, shown once."""

    session: session_store.Session
    refresh_token: str

    def access_token(self, tokens: TokenIssuer, lifetime_minutes: int) -> str:
        """A developer token of this session."""
        return tokens.issue(
            TokenKind.DEVELOPER,
            str(self.session.developer_id),
            session=str(self.session.id),
            now=self.session.now,
            lifetime=timedelta(minutes=lifetime_minutes),
        )


def opening_for(client: Client) -> Open[OpenSession]:
    """Opens a session of a developer for this client, with its first refresh token."""

    async def open_session(tx: Tx, developer_id: int, /, *, gave_code: bool) -> OpenSession:
        session = await session_store.open_session(
            tx, developer_id, client.name, client.address, gave_code=gave_code
        )
        return await continue_session(tx, session)

    return open_session


async def continue_session(tx: Tx, session: session_store.Session) -> OpenSession:
    """Give the session its next refresh token."""
    refresh_token = new_hex("hrt_")
    await session_store.add_refresh_token(tx, session.id, fingerprint(refresh_token), REFRESH_DAYS)
    return OpenSession(session, refresh_token)


async def refresh(tx: Tx, refresh_token: str) -> OpenSession | None:
    """Exchange a refresh token for the next one.

    None when it is not good. The caller refuses after the commit, because a second use has ended the session.
    """
    token_hash = fingerprint(refresh_token)
    session = await session_store.use_refresh_token(tx, token_hash)
    if session is None:
        await session_store.end_session_of_used_token(tx, token_hash)
        return None
    return await continue_session(tx, session)


async def end_all(tx: Tx, developer_id: int) -> None:
    """End every session of the account, with its developer and refresh tokens, and the logins that are half done."""
    await session_store.end_sessions(tx, developer_id)


async def end_one(tx: Tx, developer_id: int, session_id: UUID) -> None:
    """End one session of the account. Raises: SessionUnknown, also for somebody else's and for one that has ended."""
    if not await session_store.end_session(tx, developer_id, session_id):
        raise SessionUnknown


async def end_one_if_open(tx: Tx, developer_id: int, session_id: UUID) -> None:
    """End one session of the account, unless it has ended: a page that is sent twice changes nothing more."""
    await session_store.end_session(tx, developer_id, session_id)


async def open_ones(tx: Tx, developer: Developer, *, limit: int, offset: int) -> tuple[int, list[SessionOut]]:
    """How many sessions are open, and a page of them, the one used last first."""
    found = await session_store.open_sessions(tx, developer.id, REFRESH_DAYS, limit, offset)
    shown = [
        SessionOut(
            id=one.id,
            opened_at=one.opened_at,
            last_used_at=one.continued_at,
            client=one.client,
            address=one.address,
            is_current=str(one.id) == developer.session,
        )
        for one in found
    ]
    return await session_store.count_open_sessions(tx, developer.id, REFRESH_DAYS), shown


async def check_session(runtime: Runtime, claims: Claims) -> Developer:
    """The developer whose token says this.

    Raises: Unauthorized when it has expired by the database's clock, or its session has ended.
    """
    developer = await runtime.database.read(
        lambda tx: session_store.developer_in_session(
            tx, int(claims.subject), UUID(claims.session), claims.expires_at
        )
    )
    if developer is None:
        raise Unauthorized
    return developer
