"""Checks of credentials, which the rooms that own developers, agents and federation fill."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from uuid import UUID

from cryptography.x509 import Certificate

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Forbidden, Refused, Unauthorized
from hansa.foundation.values.money import Minor
from hansa.foundation.values.scopes import EVERY_SCOPE

from .callers import Agent, AgentSession, Developer, PasswordSetter

DEVELOPER_CHECK: Slot[Callable[[Runtime, str], Awaitable[Developer]]] = Slot("callers: check of a developer")
AGENT_CHECK: Slot[Callable[[Runtime, str], Awaitable[Agent]]] = Slot("callers: check of an agent")
LAST_READ_AGENT: Slot[Callable[[Runtime, str], Agent | None]] = Slot("callers: agent as last read")
"""The agent of a token as this process read it last, with its version; None where it has to be read."""
PASSWORD_SETTER_CHECK: Slot[Callable[[Runtime, str], Awaitable[PasswordSetter]]] = Slot(
    "callers: check of a password setter"
)
LICENCE_CHECK: Slot[Callable[[Runtime, str], Awaitable[None]]] = Slot("callers: check of a licence")
SERVICE_CHECK: Slot[Callable[[Runtime, Certificate], Awaitable[None]]] = Slot("callers: check of a service")
"""Each check raises Unauthorized or Forbidden."""

AGENT_SIGN_IN: Slot[Callable[[Tx, str, str], Awaitable[AgentSession]]] = Slot("callers: sign-in of an agent")
"""Exchange of an agent's client id and secret for the right to a token. Raises: Unauthorized, Forbidden."""

AGENT_REFUSED: Slot[Callable[[Runtime, str, Refused], None]] = Slot("callers: refused credential of an agent")
"""Notes the refusal of a credential of the agent with this DID or client id; it returns at once."""

SpentUnderGrants: TypeAlias = Callable[[Tx, Sequence[UUID]], Awaitable[dict[UUID, Minor]]]
SPENT_UNDER_GRANTS: Slot[SpentUnderGrants] = Slot("callers: spent under grants")
"""The amounts that agents paid today (UTC) under grants of connected clients."""

IS_DEVELOPER_SUSPENDED: Slot[Callable[[Tx, int], Awaitable[bool]]] = Slot("callers: is a developer suspended")
"""Check that a developer is suspended, or the account closed; neither begins before the transaction ends."""


async def sign_in_agent(runtime: Runtime, client_id: str, client_secret: str) -> AgentSession:
    """Exchange an agent's client id and secret for the right to a token. Raises: Unauthorized, Forbidden."""
    sign_in = AGENT_SIGN_IN.of(runtime)
    try:
        return await runtime.database.transaction(lambda tx: sign_in(tx, client_id, client_secret))
    except (Unauthorized, Forbidden) as refusal:
        AGENT_REFUSED.of(runtime)(runtime, client_id, refusal)
        raise


async def check_developer_or_agent(
    runtime: Runtime, token: str, scope: str = EVERY_SCOPE
) -> Developer | Agent:
    """The agent of a token, or the developer of one that has `scope`. Raises: Unauthorized, ScopeMissing, as the check of an agent."""
    try:
        return await AGENT_CHECK.of(runtime)(runtime, token)
    except Unauthorized:
        developer = await DEVELOPER_CHECK.of(runtime)(runtime, token)
    developer.require(scope)
    return developer
