"""Developers and agents for tests, made by the rooms themselves: the requests that make them have tests of their own.

Rows, events and returned values are those that the requests would leave, except that nothing counts for a limit. An account
that cannot log in at once, because its address is to be verified or an invitation is needed, is made by requests.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED
from hansa.rooms import agents, people
from hansa.rooms.catalogue.search import SEARCHER
from hansa.rooms.catalogue.search.writes import IndexedWrites
from hansa.rooms.people import recovery_keys
from hansa.rooms.people.check import check_developer
from hansa.rooms.people.register import open_account
from hansa.rooms.people.sessions import Client, OpenSession, opening_for

CLIENT = "tests"


async def register(runtime: Runtime, *, name: str, email: str, password: str, address: str) -> str:
    """Open the account of a developer. Returns the token of a login from this address."""
    asked = people.RegistrationIn(
        name=name, email=email, password=password, tos_accepted=True, age_confirmed=True
    )
    developer = await people.admit_registration(asked, runtime.settings)
    assert developer.is_verified, "the address is to be verified before the first login"

    async def opened(tx: Tx) -> int:
        developer_id = await open_account(tx, developer)
        await recovery_keys.issue(tx, developer_id)
        return developer_id

    return await _logged_in(runtime, opened, address)


async def register_administrator(
    runtime: Runtime, *areas: str, email: str, password: str, address: str
) -> str:
    """Open the account of an administrator of these areas, as the operator does. Returns a token of a login."""
    admitted = await people.admit_administrator(
        name=email.partition("@")[0], email=email, password=password, areas=areas
    )
    return await _logged_in(runtime, lambda tx: people.create_administrator(tx, admitted), address)


async def create_agent(
    runtime: Runtime, developer_token: str, card: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """The answer to the creation of an agent by this developer, and a token of the agent."""
    settings, is_suspended = runtime.settings, IS_DEVELOPER_SUSPENDED.of(runtime)
    organizations = agents.ORGANIZATION_AGENTS.of(runtime)
    developer = await check_developer(runtime, developer_token)
    developer.require("agents:create")
    identity = agents.new_identity(settings, None)

    async def created(tx: Tx) -> agents.CreateAgentOut:
        issued = await agents.issue_bootstrap_token(
            tx,
            developer,
            agent_type_hint=None,
            requested_by=None,
            lifetime_seconds=settings.bootstrap_token_lifetime,
            is_suspended=is_suspended,
            organizations=organizations,
        )
        asked = agents.Onboarding(issued.token, identity, host=None, card=card, site="203.0.113.1")
        return agents.CreateAgentOut.of(
            identity, await agents.create_agent(tx, asked, settings, is_suspended, organizations)
        )

    made = await IndexedWrites(runtime.database, SEARCHER.of(runtime)).transaction(created)
    signed_in = await runtime.database.transaction(
        lambda tx: agents.sign_in(tx, identity.client_id, identity.client_secret)
    )
    token = runtime.tokens.issue(
        TokenKind.AGENT,
        signed_in.did,
        session=signed_in.session,
        now=signed_in.at,
        lifetime=timedelta(minutes=settings.access_token_expire_minutes),
    )
    return made.model_dump(mode="json"), token


async def _logged_in(runtime: Runtime, open_one: Callable[[Tx], Awaitable[int]], address: str) -> str:
    """A token of the account that `open_one` opens."""

    async def opened_session(tx: Tx) -> OpenSession:
        return await opening_for(Client(CLIENT, address))(tx, await open_one(tx), gave_code=False)

    session = await runtime.database.transaction(opened_session)
    return session.access_token(runtime.tokens, runtime.settings.access_token_expire_minutes)
