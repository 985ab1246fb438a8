"""Answers about one's own agents."""

from datetime import datetime
from typing import Any, ClassVar

from hansa_client.credentials import AgentCredentials

from .record import Record


class BootstrapToken(Record, frozen=True):
    """The permission to create one agent within `expires_in` seconds."""

    secrets: ClassVar = frozenset({"bootstrap_token"})

    bootstrap_token: str
    expires_in: int
    expires_at: datetime


class NewAgent(Record, frozen=True):
    """A new agent. `client_secret` and `private_key_pem` are returned this once.

    `private_key_pem` is the Ed25519 key in PKCS#8, None when the request brought a public key.
    """

    secrets: ClassVar = frozenset({"client_secret", "private_key_pem"})

    agent_did: str
    client_id: str
    client_secret: str
    account_status: str
    initial_funding_status: str
    agent_card_id: str
    agent_card_name: str
    requires_well_known_fetch: bool
    private_key_pem: str | None = None

    @property
    def credentials(self) -> AgentCredentials:
        """Credentials that the agent logs in with."""
        return AgentCredentials(self.client_id, self.client_secret)


class NewSecret(Record, frozen=True):
    """The new secret of an agent, returned this once; the one before it works no more."""

    secrets: ClassVar = frozenset({"client_secret"})

    agent_did: str
    client_id: str
    client_secret: str

    @property
    def credentials(self) -> AgentCredentials:
        """Credentials that the agent logs in with."""
        return AgentCredentials(self.client_id, self.client_secret)


class MyAgent(Record, frozen=True):
    """An agent as its owner lists it."""

    did: str
    client_id: str
    name: str
    status: str
    roles: list[str]
    created_at: datetime
    last_active_at: datetime | None
    secret_version: str | None = None


class AgentSelf(Record, frozen=True):
    """An agent as it reads itself; the answer proves that it is active at this moment."""

    did: str
    client_id: str
    status: str
    name: str
    roles: list[str]
    created_at: datetime
    last_active_at: datetime | None
    public_key_jwk: dict[str, Any]


class RevokedAgent(Record, frozen=True):
    """An agent that was revoked by its owner, for good."""

    agent_did: str
    status: str
