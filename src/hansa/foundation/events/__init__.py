"""The vocabulary of past facts: one frozen structure per event type, one file per emitting room.

A member is JSON-ready: amounts are decimal strings, times are ISO 8601.
"""

from hansa.foundation.events.agents import (
    AgentActTokenIssued,
    AgentKeyRotated,
    AgentMtlsEnrolled,
    AgentMtlsRevoked,
    AgentOnboarded,
    AgentRevoked,
    AgentSecretRotated,
    AgentStatusChanged,
    AgentWalletBound,
    AgentWalletUnbound,
    SpendApprovalRequested,
)
from hansa.foundation.events.auditor import SupplyInvariantBreach
from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event, event_json, event_types
from hansa.foundation.events.catalogue import AgentCardPulled
from hansa.foundation.events.commerce import (
    A2APaymentFailed,
    A2APaymentSettled,
    ContractAccepted,
    ContractCancelled,
    ContractChangesRequested,
    ContractCompleted,
    ContractExpired,
    ContractFailed,
    ContractMilestoneApproved,
    ContractProposed,
    ContractSubmitted,
)
from hansa.foundation.events.enforcement import (
    AgentReinstated,
    AgentSuspended,
    DeveloperReinstated,
    DeveloperSuspended,
)
from hansa.foundation.events.federation import (
    FederationLicenseIssued,
    FederationLicenseReinstated,
    FederationLicenseRevoked,
    FederationLicenseSuspended,
)
from hansa.foundation.events.journal import (
    EmissionRule,
    EventEmissionPolicyUpdated,
    HeldBalance,
    ProjectionSnapshot,
)
from hansa.foundation.events.ledger import (
    Entry,
    LedgerBalanceChanged,
    PositionDrawn,
    RewardsDistributed,
    TokensDestroyed,
    TokensIssued,
    TokensStaked,
    TokensTransferred,
    TokensUnstaked,
    TransactionFeeCollected,
    ledger_key,
)
from hansa.foundation.events.reputation import (
    BondDeposited,
    BondReleased,
    BondReleaseStarted,
    BondSlashed,
)
from hansa.foundation.events.taxonomy import ALWAYS_RECORDED_LATER, NOT_EMITTED_YET

__all__ = [
    "ALWAYS_RECORDED_LATER",
    "NOT_EMITTED_YET",
    "REGISTRY_ACCOUNT",
    "A2APaymentFailed",
    "A2APaymentSettled",
    "AgentActTokenIssued",
    "AgentCardPulled",
    "AgentKeyRotated",
    "AgentMtlsEnrolled",
    "AgentMtlsRevoked",
    "AgentOnboarded",
    "AgentReinstated",
    "AgentRevoked",
    "AgentSecretRotated",
    "AgentStatusChanged",
    "AgentSuspended",
    "AgentWalletBound",
    "AgentWalletUnbound",
    "BondDeposited",
    "BondReleaseStarted",
    "BondReleased",
    "BondSlashed",
    "ContractAccepted",
    "ContractCancelled",
    "ContractChangesRequested",
    "ContractCompleted",
    "ContractExpired",
    "ContractFailed",
    "ContractMilestoneApproved",
    "ContractProposed",
    "ContractSubmitted",
    "DeveloperReinstated",
    "DeveloperSuspended",
    "EmissionRule",
    "Entry",
    "Event",
    "EventEmissionPolicyUpdated",
    "FederationLicenseIssued",
    "FederationLicenseReinstated",
    "FederationLicenseRevoked",
    "FederationLicenseSuspended",
    "HeldBalance",
    "LedgerBalanceChanged",
    "PositionDrawn",
    "ProjectionSnapshot",
    "RewardsDistributed",
    "SpendApprovalRequested",
    "SupplyInvariantBreach",
    "TokensDestroyed",
    "TokensIssued",
    "TokensStaked",
    "TokensTransferred",
    "TokensUnstaked",
    "TransactionFeeCollected",
    "event_json",
    "event_types",
    "ledger_key",
]
