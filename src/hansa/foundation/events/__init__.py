"""The vocabulary of past facts: one frozen structure per event type, one file per emitting room.

A member is JSON-ready: amounts are decimal strings, times are ISO 8601.
"""

from hansa.foundation.events.agents import AgentOnboarded
from hansa.foundation.events.base import Event, event_json, event_types
from hansa.foundation.events.ledger import (
    Entry,
    LedgerBalanceChanged,
    PositionDrawn,
    RewardsDistributed,
    TokensIssued,
    TokensStaked,
    TokensTransferred,
    TokensUnstaked,
    TransactionFeeCollected,
)

__all__ = [
    "AgentOnboarded",
    "Entry",
    "Event",
    "LedgerBalanceChanged",
    "PositionDrawn",
    "RewardsDistributed",
    "TokensIssued",
    "TokensStaked",
    "TokensTransferred",
    "TokensUnstaked",
    "TransactionFeeCollected",
    "event_json",
    "event_types",
]
