"""Facts of the agents room."""

from typing import ClassVar

from hansa.foundation.events.base import Event


class AgentOnboarded(Event, frozen=True):
    """An agent got its identity, its card and its account."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    card_id: str
    first_agent: bool
    initial_funding_status: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentActTokenIssued(Event, frozen=True):
    """An agent's owner may act as the agent until `expires_at`."""

    aggregate_type: ClassVar[str] = "agent"
    is_private: ClassVar[bool] = True

    did: str
    actor: str
    expires_at: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentStatusChanged(Event, frozen=True):
    """An agent went from one of `active`, `suspended` and `revoked` to another."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    previous_status: str
    status: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentRevoked(Event, frozen=True):
    """An agent ended for good, by the word of `agent`, `owner`, `administrator` or `account_deletion`."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    by: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentKeyRotated(Event, frozen=True):
    """An agent took a new signing key; the one before ended at the same moment. `kid` is the new key's thumbprint."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    number: int
    kid: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentSecretRotated(Event, frozen=True):
    """An agent's owner replaced its client secret; tokens bought with the old one ended."""

    aggregate_type: ClassVar[str] = "agent"

    did: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentMtlsEnrolled(Event, frozen=True):
    """An agent has a workload identity: for the first time, again, or back after a suspension."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    spiffe_id: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentMtlsRevoked(Event, frozen=True):
    """An agent's workload identity is trusted no longer, whatever certificates of it are still unexpired."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    spiffe_id: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class SpendApprovalRequested(Event, frozen=True):
    """An agent asks for a payment that its owner has to approve; the owner can decide until `expires_at`."""

    aggregate_type: ClassVar[str] = "agent"
    is_private: ClassVar[bool] = True

    did: str
    approval_id: str
    receiver: str
    amount: str
    currency: str
    expires_at: str

    @property
    def aggregate_id(self) -> str:
        return self.did
