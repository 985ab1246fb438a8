"""Reputation bond of an agent on its card: its state and its amount."""

from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount

from . import store
from .records import Bond, Card

REPUTATION_BOND = "/extensions/v1/reputation/bond"


async def show_bond(tx: Tx, did: str, bond: Bond) -> None:
    """Let the card of an own agent show this bond, in listings, searches and its signed form."""
    await store.set_bond(tx, did, bond)


def is_stated_bonded(card_data: dict[str, Any]) -> bool:
    """Return whether a card that another registry signed states an active bond of its agent."""
    written = card_data.get("extensions")
    extensions = written if isinstance(written, list) else []
    return any(_is_active_bond(extension) for extension in extensions)


def _is_active_bond(extension: Any) -> bool:
    if not isinstance(extension, dict):
        return False
    uri, params = extension.get("uri"), extension.get("params")
    is_bond = isinstance(uri, str) and uri.endswith(REPUTATION_BOND)
    return is_bond and isinstance(params, dict) and params.get("bonded") is True


def with_bond(card: Card, extension_base: str) -> Card:
    """The card with its document stating the agent's bond, if there is one."""
    if card.card_data is None or card.bond_state is None or card.bond_amount is None:
        return card
    extension: dict[str, Any] = {
        "uri": extension_base + REPUTATION_BOND,
        "description": "The units that this agent has deposited as a bond, which a ruling can take.",
        "required": False,
        "params": {
            "state": card.bond_state,
            "bonded": card.bonded,
            "amount": format_amount(card.bond_amount),
            "currency": card.settlement_currency,
        },
    }
    written = card.card_data.get("extensions", [])
    return replace(card, card_data={**card.card_data, "extensions": [*written, extension]})
