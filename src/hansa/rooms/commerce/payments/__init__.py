"""Payments for calls: single-use tokens, from their authorization to their settlement."""

from hansa.foundation.plumbing.jobs import JobKind, scheduled
from hansa.rooms.commerce.payments.authorize import Authorized, AuthorizeOrder, Presented, authorize
from hansa.rooms.commerce.payments.budget_store import (
    PurchaseBudget,
    find_budgets,
    open_budget,
    raise_budget,
)
from hansa.rooms.commerce.payments.buy_routes import buy_router
from hansa.rooms.commerce.payments.calling import TOOLS_AT_ONCE, ServiceCall, call_service, call_tool
from hansa.rooms.commerce.payments.ending import count_unsettled, expire_due_tokens, release_all
from hansa.rooms.commerce.payments.errors import (
    PayeeNotAdmitted,
    PriceNotPayable,
    PurchaseBudgetExceeded,
    ReceiptUnknown,
    ServiceNotCallable,
    TokenExpired,
)
from hansa.rooms.commerce.payments.overdue_store import HAS_DUE
from hansa.rooms.commerce.payments.purchase import PURCHASE_ENDS, PURCHASES, PurchaseOrder, Purchases
from hansa.rooms.commerce.payments.purchase import ROUTE as BUY_ROUTE
from hansa.rooms.commerce.payments.quote import effective_price
from hansa.rooms.commerce.payments.reading import (
    list_tokens,
    same_work,
    token_of_id,
    token_of_payment,
    token_of_secret,
    tokens_of_ids,
    was_used,
)
from hansa.rooms.commerce.payments.receipt import signed_receipt
from hansa.rooms.commerce.payments.routes import hot_router, router
from hansa.rooms.commerce.payments.rules import (
    OPEN,
    USED_FOR_PART,
    Terms,
    Token,
    VerifyOrder,
    may_be_captured_for,
    use_for_part,
)
from hansa.rooms.commerce.payments.service_call import (
    Interface,
    Outcome,
    ServiceAnswer,
    ServiceRequest,
    interface_of,
    message_for,
    read_answer,
    token_headers,
)
from hansa.rooms.commerce.payments.settle import SettleOrder, settle_within
from hansa.rooms.commerce.payments.settle_request import settle_and_answer
from hansa.rooms.commerce.payments.settlement_worker import (
    HAS_LEFT,
    HAS_OVERDUE,
    SETTLEMENTS,
    Settlements,
    begin_within,
    end_by_decision,
    end_overdue,
    resume_settlements,
)
from hansa.rooms.commerce.payments.store import named as named_tokens
from hansa.rooms.commerce.payments.store import settle_times
from hansa.rooms.commerce.payments.verify import VERIFIER, VerifiedTokenCache, Verifier

JOBS: tuple[JobKind, ...] = (
    scheduled("payments: expire tokens", 60, expire_due_tokens, HAS_DUE),
    scheduled("payments: resume settlements", 5, resume_settlements, HAS_LEFT),
    scheduled("payments: end overdue settlements", 5, end_overdue, HAS_OVERDUE),
    PURCHASE_ENDS,
)

__all__ = [
    "BUY_ROUTE",
    "JOBS",
    "OPEN",
    "PURCHASES",
    "SETTLEMENTS",
    "TOOLS_AT_ONCE",
    "USED_FOR_PART",
    "VERIFIER",
    "AuthorizeOrder",
    "Authorized",
    "Interface",
    "Outcome",
    "PayeeNotAdmitted",
    "Presented",
    "PriceNotPayable",
    "PurchaseBudget",
    "PurchaseBudgetExceeded",
    "PurchaseOrder",
    "Purchases",
    "ReceiptUnknown",
    "ServiceAnswer",
    "ServiceCall",
    "ServiceNotCallable",
    "ServiceRequest",
    "SettleOrder",
    "Settlements",
    "Terms",
    "Token",
    "TokenExpired",
    "VerifiedTokenCache",
    "Verifier",
    "VerifyOrder",
    "authorize",
    "begin_within",
    "buy_router",
    "call_service",
    "call_tool",
    "count_unsettled",
    "effective_price",
    "end_by_decision",
    "find_budgets",
    "hot_router",
    "interface_of",
    "list_tokens",
    "may_be_captured_for",
    "message_for",
    "named_tokens",
    "open_budget",
    "raise_budget",
    "read_answer",
    "release_all",
    "router",
    "same_work",
    "settle_and_answer",
    "settle_times",
    "settle_within",
    "signed_receipt",
    "token_headers",
    "token_of_id",
    "token_of_payment",
    "token_of_secret",
    "tokens_of_ids",
    "use_for_part",
    "was_used",
]
