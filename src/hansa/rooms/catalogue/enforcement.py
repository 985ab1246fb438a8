"""Suspension of an agent on its card: that it is suspended, and since which day. The reason is not shown."""

from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .records import Card

ENFORCEMENT = "/extensions/v1/enforcement"


async def suspend_card(tx: Tx, did: str) -> None:
    """The agent's card leaves listings and discovery, and says `suspended` where it is read by its key."""
    await store.set_status(tx, did, "suspended")


async def reinstate_card(tx: Tx, did: str) -> None:
    """The agent's card stands as it did before its suspension."""
    await store.set_status(tx, did, "active")


async def suspend_listings(tx: Tx, developer_id: int) -> None:
    """The developer's cards that belong to no agent leave listings and discovery with those of the agents."""
    await store.set_status_of_listings(tx, developer_id, "suspended")


async def reinstate_listings(tx: Tx, developer_id: int) -> None:
    """The developer's cards that belong to no agent stand as they did before the suspension."""
    await store.set_status_of_listings(tx, developer_id, "active")


def with_enforcement(card: Card, extension_base: str) -> Card:
    """Return the card with the enforcement by the platform against its agent, if any, in its document."""
    if card.card_data is None or card.status_since is None:
        return card
    written = card.card_data.get("extensions", [])
    extension: dict[str, Any] = {
        "uri": extension_base + ENFORCEMENT,
        "description": "What the registry has done to this agent, and since which day.",
        "required": False,
        "params": {"status": card.status, "since": card.status_since.isoformat()},
    }
    return replace(card, card_data={**card.card_data, "extensions": [*written, extension]})
