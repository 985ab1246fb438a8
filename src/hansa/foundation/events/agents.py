"""Facts of the agents room."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent


class AgentOnboarded(AgentEvent, frozen=True, omit_defaults=True):
    """An agent got its identity, its card and its account; a child also names the parent that spawned it."""

    card_id: str
    first_agent: bool
    initial_funding_status: str
    parent_did: str | None = None


class AgentSpawned(AgentEvent, frozen=True):
    """An agent spawned a child, which ends at `expires_at`, and paid the units of its purse."""

    is_private: ClassVar[bool] = True

    child_did: str
    root_did: str
    depth: int
    funding: str
    fee: str
    currency: str
    tx_id: int
    expires_at: str


class AgentActTokenIssued(AgentEvent, frozen=True):
    """An agent's owner may act as the agent until `expires_at`."""

    is_private: ClassVar[bool] = True

    actor: str
    expires_at: str


class AgentStatusChanged(AgentEvent, frozen=True):
    """An agent went from one of `active`, `suspended` and `revoked` to another."""

    previous_status: str
    status: str


class AgentRevoked(AgentEvent, frozen=True):
    """An agent ended for good, by the word of `agent`, `owner`, `administrator` or `account_deletion`, or because its life as a child was over (`spawn_end`)."""

    by: str


class AgentKeyRotated(AgentEvent, frozen=True):
    """An agent took a new signing key; the one before ended at the same moment. `kid` is the new key's thumbprint."""

    number: int
    kid: str


class AgentSecretRotated(AgentEvent, frozen=True):
    """An agent's owner replaced its client secret; tokens bought with the old one ended."""


class _WorkloadIdentityEvent(AgentEvent, frozen=True):
    spiffe_id: str


class AgentMtlsEnrolled(_WorkloadIdentityEvent, frozen=True):
    """An agent has a workload identity: for the first time, again, or back after a suspension."""


class AgentMtlsRevoked(_WorkloadIdentityEvent, frozen=True):
    """An agent's workload identity is trusted no longer, whatever certificates of it are still unexpired."""


class _WalletEvent(AgentEvent, frozen=True):
    is_private: ClassVar[bool] = True

    address: str


class AgentWalletBound(_WalletEvent, frozen=True):
    """A wallet signs payments of an agent from now on."""


class AgentWalletUnbound(_WalletEvent, frozen=True):
    """A wallet signs payments of an agent no longer."""


class SpendApprovalRequested(AgentEvent, frozen=True):
    """An agent asks for a payment that its owner has to approve; the owner can decide until `expires_at`."""

    is_private: ClassVar[bool] = True

    approval_id: str
    receiver: str
    amount: str
    currency: str
    expires_at: str
