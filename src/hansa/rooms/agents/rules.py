"""Decisions of the agents room, without I/O."""

import hmac
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from hansa.foundation.values.errors import OrgRoleRequired
from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Right

from .errors import (
    AgentRevoked,
    AgentSuspended,
    AgentUnknown,
    BootstrapTokenRefused,
    BootstrapTokenUsed,
    CredentialsWrong,
    DeveloperUnverified,
    DidMethodUnsupported,
    NotTheOwner,
)

NO_SECRET = bytes(32)


class FundingStatus(StrEnum):
    """The result of the genesis grant when an agent was created."""

    COMPLETED = "completed"
    NOT_FIRST_AGENT = "not_first_agent"
    TREASURY_EMPTY = "treasury_empty"
    DUE_LATER = "due_later"
    DISABLED = "disabled"


class BootstrapToken(msgspec.Struct, frozen=True):
    """A bootstrap token as it stands at this moment of the database's clock."""

    developer_id: int
    organization_id: UUID | None
    is_used: bool
    is_expired: bool


class Credentials(msgspec.Struct, frozen=True):
    """Credentials of a client id, as the token route reads them."""

    did: str
    client_id: str
    client_secret_sha256: bytes
    secret_number: int
    status: str


class HeldAgent(msgspec.Struct, frozen=True):
    """Right of a developer at an agent, None for none, the roles of the agent, and whether an organization owns it."""

    right: Right | None
    roles: tuple[str, ...]
    is_collective: bool


class OwnedAgent(msgspec.Struct, frozen=True):
    """An agent as its owner and administrators list it; `held_right` is that of the developer who asks for one agent."""

    did: str
    client_id: str
    name: str
    status: str
    roles: tuple[str, ...]
    created_at: datetime
    last_active_at: datetime | None
    secret_version: str
    held_right: Right = Right.END
    organization_id: UUID | None = None
    is_treasury: bool = False


def require_verified(*, is_verified: bool) -> None:
    """Raises: DeveloperUnverified."""
    if not is_verified:
        raise DeveloperUnverified


def require_own_method(asked: str, own: str) -> None:
    """Raises: DidMethodUnsupported."""
    if asked != own:
        raise DidMethodUnsupported(
            f"This registry creates only did:{own} identifiers.", field="agent_did_method"
        )


def require_usable(token: BootstrapToken | None) -> BootstrapToken:
    """A used token stays used after its end: 409 before 401. Raises: BootstrapTokenRefused, BootstrapTokenUsed."""
    if token is None:
        raise BootstrapTokenRefused
    if token.is_used:
        raise BootstrapTokenUsed
    if token.is_expired:
        raise BootstrapTokenRefused("The bootstrap token has expired; request a new one.")
    return token


def require_secret(found: Credentials | None, secret_sha256: bytes) -> Credentials:
    """An unknown client id costs the same comparison and gets the same words. Raises: CredentialsWrong."""
    expected = found.client_secret_sha256 if found else NO_SECRET
    if not hmac.compare_digest(expected, secret_sha256) or found is None:
        raise CredentialsWrong
    return found


def session_of(client_id: str, secret_number: int) -> str:
    """Return the session that ties a token to the secret that bought it."""
    return f"{client_id}.{secret_number}"


def require_active(status: str) -> None:
    """Raises: AgentSuspended, AgentRevoked."""
    if status == "suspended":
        raise AgentSuspended
    if status == "revoked":
        raise AgentRevoked


def require_right(found: HeldAgent | None, right: Right) -> HeldAgent:
    """Return an agent at which the developer has the right. Raises: AgentUnknown, NotTheOwner, OrgRoleRequired."""
    if found is None:
        raise AgentUnknown
    if found.right is None:
        raise NotTheOwner
    return _with(found.right, right, found)


def require_seen(found: HeldAgent | None, right: Right) -> HeldAgent:
    """Return an agent at which the developer has the right; an unknown one and one without any right have the same answer.

    Raises: AgentUnknown, OrgRoleRequired.
    """
    if found is None or found.right is None:
        raise AgentUnknown
    return _with(found.right, right, found)


def _with(held: Right, right: Right, found: HeldAgent) -> HeldAgent:
    if held < right:
        raise OrgRoleRequired
    return found


def funding_without_grant(*, is_first: bool, grant: Minor) -> FundingStatus | None:
    """Why this agent gets no grant, or None when the treasury is to pay it."""
    if grant == 0:
        return FundingStatus.DISABLED
    return None if is_first else FundingStatus.NOT_FIRST_AGENT
