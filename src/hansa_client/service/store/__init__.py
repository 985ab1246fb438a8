"""Store in which the processes of a paid service agree on who works, and which keeps the answers of paid work for a day."""

from .entry import (
    DUE,
    KEPT_SECONDS,
    Answer,
    Claim,
    Entry,
    Payment,
    Receipt,
    State,
    Store,
    StoreUnavailable,
    Work,
)
from .opening import open_store

__all__ = [
    "DUE",
    "KEPT_SECONDS",
    "Answer",
    "Claim",
    "Entry",
    "Payment",
    "Receipt",
    "State",
    "Store",
    "StoreUnavailable",
    "Work",
    "open_store",
]
