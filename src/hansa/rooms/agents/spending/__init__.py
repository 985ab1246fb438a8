"""Spend policies of owners for their agents, and the payments that an owner decides on itself."""

from hansa.rooms.agents.spending.approvals import Approval, forget_approvals, request_approval
from hansa.rooms.agents.spending.errors import (
    ApprovalDecided,
    ApprovalForAnother,
    ApprovalInBrowser,
    ApprovalsPending,
    ApprovalUnknown,
    ApprovalUnusable,
    OverDayLimit,
    OverPaymentLimit,
    PayeeNotAllowed,
)
from hansa.rooms.agents.spending.policy import (
    clear_spending,
    policy_of,
    preview_spending,
    put_policy,
    return_grant_spending,
    return_spending,
    spent_under_grants,
)
from hansa.rooms.agents.spending.routes import router
from hansa.rooms.agents.spending.rules import Clearance, Spending, SpendPolicy, widens
from hansa.rooms.agents.spending.schemas import SpendPolicyIn, SpendPolicyOut

__all__ = [
    "Approval",
    "ApprovalDecided",
    "ApprovalForAnother",
    "ApprovalInBrowser",
    "ApprovalUnknown",
    "ApprovalUnusable",
    "ApprovalsPending",
    "Clearance",
    "OverDayLimit",
    "OverPaymentLimit",
    "PayeeNotAllowed",
    "SpendPolicy",
    "SpendPolicyIn",
    "SpendPolicyOut",
    "Spending",
    "clear_spending",
    "forget_approvals",
    "policy_of",
    "preview_spending",
    "put_policy",
    "request_approval",
    "return_grant_spending",
    "return_spending",
    "router",
    "spent_under_grants",
    "widens",
]
