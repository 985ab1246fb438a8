"""Intents: previewed payments, each of which is made once."""

from .errors import IntentExpired, IntentPaid, IntentUnknown, IntentUnreadable
from .intent import (
    FORGET_INTENTS,
    ID_PATTERN,
    Intent,
    find_intent,
    open_intent,
    pay_intent,
    wait_for_approval,
)
from .store import NewIntent

__all__ = [
    "FORGET_INTENTS",
    "ID_PATTERN",
    "Intent",
    "IntentExpired",
    "IntentPaid",
    "IntentUnknown",
    "IntentUnreadable",
    "NewIntent",
    "find_intent",
    "open_intent",
    "pay_intent",
    "wait_for_approval",
]
