"""Calls over HTTP that pay for themselves: `AsyncPayingClient`, `PayingClient`, and the payments that were interrupted."""

from .asynchronous.pending import AsyncPendingPayments
from .asynchronous.receipts import AsyncDeliveryReceipts
from .budget import Budget
from .clients import AsyncPayingClient, AsyncPayingTransport, PayingClient, PayingTransport
from .errors import (
    AnswerLost,
    BudgetExceeded,
    OfferDeclined,
    PaymentFailed,
    PaymentInProgress,
    PaymentRefused,
    PaymentUnresolved,
)
from .evidence import Evidence
from .journal import Entry, Journal, Progress
from .options import paying
from .synchronous.pending import PendingPayments
from .synchronous.receipts import DeliveryReceipts
from .wallet import WalletSigner

__all__ = [
    "AnswerLost",
    "AsyncDeliveryReceipts",
    "AsyncPayingClient",
    "AsyncPayingTransport",
    "AsyncPendingPayments",
    "Budget",
    "BudgetExceeded",
    "DeliveryReceipts",
    "Entry",
    "Evidence",
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
    "WalletSigner",
    "paying",
]
