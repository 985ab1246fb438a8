"""Calls over HTTP that pay for themselves: `AsyncPayingClient`, `PayingClient`, and the payments that were interrupted."""

from .asynchronous.pending import AsyncPendingPayments
from .budget import Budget
from .clients import AsyncPayingClient, AsyncPayingTransport, PayingClient, PayingTransport
from .errors import (
    BudgetExceeded,
    OfferDeclined,
    PaymentFailed,
    PaymentInProgress,
    PaymentRefused,
    PaymentUnresolved,
)
from .journal import Entry, Journal, Progress
from .options import paying
from .synchronous.pending import PendingPayments

__all__ = [
    "AsyncPayingClient",
    "AsyncPayingTransport",
    "AsyncPendingPayments",
    "Budget",
    "BudgetExceeded",
    "Entry",
    "Journal",
    "OfferDeclined",
    "PayingClient",
    "PayingTransport",
    "PaymentFailed",
    "PaymentInProgress",
    "PaymentRefused",
    "PaymentUnresolved",
    "PendingPayments",
    "Progress",
    "paying",
]
