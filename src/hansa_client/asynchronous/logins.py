"""Tokens of developers and agents, obtained when they are first needed and renewed before they end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hansa_client.calls import Call
from hansa_client.credentials import AgentCredentials, ApiKey, DeveloperTokens
from hansa_client.errors import CredentialMissing
from hansa_client.primitives import AsyncLock
from hansa_client.records.accounts import IssuedToken, IssuedTokens

from .transport import AsyncTransport

# A token that ends while the request is being sent costs a request more.
EARLIER = timedelta(seconds=30)

Keep = Callable[[DeveloperTokens], None]


class AsyncAgentLogin:
    """The token of an agent; it is asked for again with the secret."""

    def __init__(self, transport: AsyncTransport, credentials: AgentCredentials) -> None:
        self._transport = transport
        self._credentials = credentials
        self._lock = AsyncLock()
        self._issued: tuple[str, datetime] | None = None

    async def token(self) -> str:
        """A token that is valid now. Raises: Unauthorized, Forbidden."""
        issued = self._issued
        if issued is not None and datetime.now(UTC) < issued[1]:
            return issued[0]
        async with self._lock:
            if self._issued is None or self._issued[1] <= datetime.now(UTC):
                self._issued = await self._ask()
            return self._issued[0]

    async def renew(self, rejected: str) -> None:
        """Drop a token that the registry did not accept."""
        async with self._lock:
            if self._issued is not None and self._issued[0] == rejected:
                self._issued = None

    async def _ask(self) -> tuple[str, datetime]:
        form = {"username": self._credentials.client_id, "password": self._credentials.client_secret}
        call = Call("POST", "/api/v1/auth/agent/token", form=form, is_without_effect=True)
        issued = await self._transport.answer(call, IssuedToken)
        return issued.access_token, datetime.now(UTC) + timedelta(seconds=issued.expires_in) - EARLIER


class AsyncDeveloperLogin:
    """The tokens of a developer's session, or an API key.

    `keep` is called with each new pair before it is used: the refresh token of the pair before it works no more.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        credentials: ApiKey | DeveloperTokens | None,
        keep: Keep | None = None,
    ) -> None:
        self._transport = transport
        self._lock = AsyncLock()
        self._keep = keep
        self._credentials = credentials

    async def token(self) -> str:
        """A token that is valid now. Raises: CredentialMissing, Unauthorized."""
        async with self._lock:
            if self._credentials is None:
                raise CredentialMissing("This call needs a developer: log in, or pass an API key.")
            if isinstance(self._credentials, ApiKey):
                return self._credentials.key
            if self._credentials.expires_at - EARLIER <= datetime.now(UTC):
                self._credentials = await self._refreshed(self._credentials)
            return self._credentials.access_token

    async def renew(self, rejected: str) -> None:
        """Refresh the pair whose access token the registry did not accept. Raises: Unauthorized."""
        async with self._lock:
            held = self._credentials
            if isinstance(held, DeveloperTokens) and held.access_token == rejected:
                self._credentials = await self._refreshed(held)

    async def take(self, tokens: DeveloperTokens) -> None:
        """Use these tokens from now on."""
        async with self._lock:
            self._credentials = tokens
            if self._keep is not None:
                self._keep(tokens)

    async def drop(self) -> None:
        """Use no credential from now on."""
        async with self._lock:
            self._credentials = None

    async def _refreshed(self, held: DeveloperTokens) -> DeveloperTokens:
        # Not repeated after a lost answer: a refresh token that comes twice ends the session.
        call = Call("POST", "/api/v1/auth/refresh", json={"refresh_token": held.refresh_token})
        issued = await self._transport.answer(call, IssuedTokens)
        tokens = DeveloperTokens.issued(issued.access_token, issued.refresh_token, issued.expires_in)
        if self._keep is not None:
            self._keep(tokens)
        return tokens
