"""Agents: who they are, how they come to be, how they prove it, how they end."""

from hansa.rooms.agents.acting import ACT_TOKENS, act_token
from hansa.rooms.agents.capabilities import (
    CapabilityBudgetSpent,
    CapabilityEnded,
    CapabilityUnknown,
    CaveatViolated,
    DelegatorMayNot,
)
from hansa.rooms.agents.check import active_agent
from hansa.rooms.agents.descriptor import ROOM
from hansa.rooms.agents.ending import REQUIRE_UNBOUND
from hansa.rooms.agents.errors import AgentUnknown
from hansa.rooms.agents.keys import keys_of
from hansa.rooms.agents.mtls import identities_ended, restore_mtls, revoke_mtls
from hansa.rooms.agents.payment import (
    HeldBudget,
    Payment,
    clear_payment,
    hold_budget,
    pays_plainly,
    preview_payment,
    return_budget,
)
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
    request_approval,
)
from hansa.rooms.agents.status import (
    find_agents,
    lock_owner_and_status,
    of_developer,
    owned_agent,
    owner_of,
    owners_of,
    page_of_developer,
    reinstate,
    revoke,
    statuses_of,
    suspend,
)
from hansa.rooms.agents.wallets import Wallet, find_wallet, payee_of_address, receive_address

__all__ = [
    "ACT_TOKENS",
    "REQUIRE_UNBOUND",
    "ROOM",
    "AgentUnknown",
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
    "HeldBudget",
    "OverDayLimit",
    "OverPaymentLimit",
    "OwnedAgent",
    "PayeeNotAllowed",
    "Payment",
    "Wallet",
    "act_token",
    "active_agent",
    "clear_payment",
    "find_agents",
    "find_wallet",
    "hold_budget",
    "identities_ended",
    "keys_of",
    "lock_owner_and_status",
    "of_developer",
    "owned_agent",
    "owner_of",
    "owners_of",
    "page_of_developer",
    "payee_of_address",
    "pays_plainly",
    "preview_payment",
    "receive_address",
    "reinstate",
    "request_approval",
    "restore_mtls",
    "return_budget",
    "revoke",
    "revoke_mtls",
    "statuses_of",
    "suspend",
]
