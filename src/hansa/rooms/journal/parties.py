"""Parties of an event: the agents and system accounts that take part in it."""

from collections.abc import Mapping
from typing import Any

from hansa.foundation.events import LedgerBalanceChanged

PARTIES = (
    "did",
    "account",
    "payer",
    "from",
    "to",
    "collector",
    "caller",
    "buyer",
    "seller",
    "payee",
    "contractor_did",
    "provider_did",
    "complainant_did",
    "defendant_did",
)
"""Members of an event that name an agent. Texts that somebody chose, such as a message, are none of them."""


def parties_of(event_type: str, aggregate_id: str, data: Mapping[str, Any]) -> list[str]:
    """The agents and system accounts that take part in an event, the one it is filed under first."""
    named = [data[member] for member in PARTIES if isinstance(data.get(member), str)]
    return list(dict.fromkeys([aggregate_id, *named, *accounts_moved(event_type, data)]))


def accounts_moved(event_type: str, data: Mapping[str, Any]) -> list[str]:
    """The accounts whose balances an event moves."""
    if event_type != LedgerBalanceChanged.__name__:
        return []
    return list(dict.fromkeys(entry["account"] for entry in data.get("entries", ())))
