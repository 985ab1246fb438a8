"""Developers: registration, login, API keys."""

from collections.abc import Sequence

from hansa_client.calls import Call
from hansa_client.credentials import DeveloperTokens
from hansa_client.errors import SecondFactorNeeded
from hansa_client.records.accounts import (
    ApiKeyInfo,
    IssuedTokens,
    Message,
    NewApiKey,
    Profile,
    Registered,
)
from hansa_client.records.record import Page

from .logins import AsyncDeveloperLogin
from .transport import AsyncTransport


class AsyncAccounts:
    """The account of a developer. A login is used by this client from then on."""

    def __init__(self, transport: AsyncTransport, login: AsyncDeveloperLogin) -> None:
        self._transport = transport
        self._login = login

    async def register(
        self,
        name: str,
        email: str,
        password: str,
        *,
        accept_terms: bool,
        is_of_age: bool,
        invite_code: str | None = None,
    ) -> Registered:
        """Register a developer."""
        body = {
            "name": name,
            "email": email,
            "password": password,
            "tos_accepted": accept_terms,
            "age_confirmed": is_of_age,
            "invite_code": invite_code,
        }
        return await self._transport.answer(Call("POST", "/api/v1/auth/register", json=body), Registered)

    async def login(self, email: str, password: str, *, code: str | None = None) -> DeveloperTokens:
        """Log in; `code` is one of the two-factor app or a backup code.

        An account whose logins are approved on a phone needs a code here, or an API key (401 `PUSH_APPROVAL_REQUIRED`).

        Raises: SecondFactorNeeded, Unauthorized.
        """
        form = {"username": email, "password": password, "grant_type": "password", "totp_code": code}
        issued = await self._transport.answer(Call("POST", "/api/v1/auth/login", form=form), IssuedTokens)
        if issued.requires_2fa:
            raise SecondFactorNeeded(issued.partial_token or "")
        return await self._take(issued)

    async def complete_login(self, partial_token: str, code: str) -> DeveloperTokens:
        """Complete a login with the second factor. Raises: Unauthorized."""
        body = {"partial_token": partial_token, "code": code}
        return await self._take(
            await self._transport.answer(Call("POST", "/api/v1/auth/2fa/validate", json=body), IssuedTokens)
        )

    async def logout(self) -> Message:
        """End the session; its tokens work no more."""
        ended = await self._transport.answer(
            Call("POST", "/api/v1/auth/logout", json={}), Message, self._login
        )
        await self._login.drop()
        return ended

    async def profile(self) -> Profile:
        """The developer who is logged in."""
        return await self._transport.answer(Call("GET", "/api/v1/auth/profile"), Profile, self._login)

    async def accept_terms(self, tos_version: str) -> Profile:
        """Accept the terms of this version, which must be the present one. Raises: Conflict."""
        body = {"tos_version": tos_version}
        call = Call("POST", "/api/v1/auth/accept-terms", json=body, is_idempotent=True)
        return await self._transport.answer(call, Profile, self._login)

    async def create_api_key(
        self, name: str, *, scopes: Sequence[str] | None = None, expires_in_days: int | None = None
    ) -> NewApiKey:
        """Create an API key; 0 days: it does not expire."""
        body = {
            "key_name": name,
            "scopes": None if scopes is None else list(scopes),
            "expires_in_days": expires_in_days,
        }
        return await self._transport.answer(
            Call("POST", "/api/v1/auth/api-keys", json=body), NewApiKey, self._login
        )

    async def api_keys(self, *, limit: int = 50, offset: int = 0) -> Page[ApiKeyInfo]:
        """The developer's API keys."""
        query = {"limit": limit, "offset": offset}
        return await self._transport.answer(
            Call("GET", "/api/v1/auth/api-keys", query=query), Page[ApiKeyInfo], self._login
        )

    async def revoke_api_key(self, key_id: int) -> None:
        """Revoke an API key."""
        await self._transport.response(Call("DELETE", f"/api/v1/auth/api-keys/{key_id}"), self._login)

    async def _take(self, issued: IssuedTokens) -> DeveloperTokens:
        tokens = DeveloperTokens.issued(issued.access_token, issued.refresh_token, issued.expires_in)
        await self._login.take(tokens)
        return tokens
