"""Agents: who they are, how they come to be, how they prove it, how they end."""

from hansa.rooms.agents.check import check_agent
from hansa.rooms.agents.documents import root_router
from hansa.rooms.agents.mtls import restore_mtls, revoke_mtls
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
    Spending,
    ask_approval,
    clear_spending,
    forget_approvals,
    preview_spending,
)
from hansa.rooms.agents.status import of_developer, owner_of, reinstate, retire, revoke, statuses_of, suspend

__all__ = [
    "Approval",
    "ApprovalForAnother",
    "ApprovalUnknown",
    "ApprovalUnusable",
    "ApprovalsPending",
    "Clearance",
    "OverDayLimit",
    "OverPaymentLimit",
    "OwnedAgent",
    "PayeeNotAllowed",
    "Spending",
    "ask_approval",
    "check_agent",
    "clear_spending",
    "forget_approvals",
    "of_developer",
    "owner_of",
    "preview_spending",
    "reinstate",
    "restore_mtls",
    "retire",
    "revoke",
    "revoke_mtls",
    "root_router",
    "router",
    "statuses_of",
    "suspend",
]
