"""Agents: who they are, how they come to be, how they prove it, how they end."""

from hansa.rooms.agents.bootstrap import forget_bootstrap_tokens
from hansa.rooms.agents.capabilities import (
    CapabilityBudgetSpent,
    CapabilityEnded,
    CapabilityUnknown,
    CaveatViolated,
    DelegatorMayNot,
    forget_capabilities,
)
from hansa.rooms.agents.check import check_agent
from hansa.rooms.agents.documents import root_router
from hansa.rooms.agents.grants import pay_owed_grants
from hansa.rooms.agents.keys import newest_keys
from hansa.rooms.agents.mtls import identities_ended, restore_mtls, revoke_mtls
from hansa.rooms.agents.payment import Payment, clear_payment, pays_plainly, preview_payment
from hansa.rooms.agents.routes import router
from hansa.rooms.agents.rules import OwnedAgent
from hansa.rooms.agents.spending import (
    Approval,
    ApprovalForAnother,
    ApprovalsPending,
    ApprovalUnknown,
    ApprovalUnusable,
    Clearance,
    OverDayLimit,
    OverPaymentLimit,
    PayeeNotAllowed,
    forget_approvals,
    request_approval,
)
from hansa.rooms.agents.status import (
    lock_owner_and_status,
    of_developer,
    owned_among,
    owner_of,
    reinstate,
    retire,
    revoke,
    statuses_of,
    suspend,
)

__all__ = [
    "Approval",
    "ApprovalForAnother",
    "ApprovalUnknown",
    "ApprovalUnusable",
    "ApprovalsPending",
    "CapabilityBudgetSpent",
    "CapabilityEnded",
    "CapabilityUnknown",
    "CaveatViolated",
    "Clearance",
    "DelegatorMayNot",
    "OverDayLimit",
    "OverPaymentLimit",
    "OwnedAgent",
    "PayeeNotAllowed",
    "Payment",
    "check_agent",
    "clear_payment",
    "forget_approvals",
    "forget_bootstrap_tokens",
    "forget_capabilities",
    "identities_ended",
    "lock_owner_and_status",
    "newest_keys",
    "of_developer",
    "owned_among",
    "owner_of",
    "pay_owed_grants",
    "pays_plainly",
    "preview_payment",
    "reinstate",
    "request_approval",
    "restore_mtls",
    "retire",
    "revoke",
    "revoke_mtls",
    "root_router",
    "router",
    "statuses_of",
    "suspend",
]
