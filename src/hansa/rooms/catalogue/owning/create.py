"""Create a card: for an own agent that has none, or a listing card, which belongs to no agent."""

from typing import Any

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import QuotaReached
from hansa.rooms.catalogue.errors import ListingCardsTooMany
from hansa.rooms.catalogue.publish import publish_card
from hansa.rooms.catalogue.reading import card_numbered
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.signatures import SignaturePolicy, require_genuine

from . import store
from .ownership import Ownership

LISTING_CARDS_MAX = 1000
"""Of one developer: a listing costs its owner nothing, so a flood of them must end somewhere."""
UNVERIFIED_SERVERS_MAX = 20
"""Imported MCP servers of one developer whose namespace no proof shows to be theirs."""


class NewCardRequest(msgspec.Struct, frozen=True):
    """The document, and whose card it is to be: an agent's, or that of no agent."""

    card_data: dict[str, Any]
    agent_did: str | None
    stated: dict[str, Any] = {}
    """Members that the platform states."""


async def create_card(
    tx: Tx, request_card: NewCardRequest, developer_id: int, settings: Settings, ownership: Ownership
) -> Card:
    """Store the card and read it back.

    Raises: DeveloperSuspended, AgentNotHere, AgentNotYours, AgentNotActive, ListingCardsTooMany, CardInvalid, CardExists, HumanReadableIdTaken.
    """
    await ownership.require_not_suspended(tx, developer_id)
    if request_card.agent_did is not None:
        await ownership.require_active_agent(tx, request_card.agent_did, developer_id)
    elif await store.count_listing_cards(tx, developer_id) >= LISTING_CARDS_MAX:
        raise ListingCardsTooMany(f"You have {LISTING_CARDS_MAX} listing cards, which is the maximum.")
    policy = SignaturePolicy.of(settings)
    await require_genuine(tx, request_card.agent_did, request_card.card_data, ownership.newest_keys, policy)
    stored = await publish_card(
        tx,
        did=request_card.agent_did,
        developer_id=developer_id,
        card_data=request_card.card_data,
        settings=settings,
        stated=request_card.stated,
    )
    return await card_numbered(tx, stored.card_id)


async def require_room_for_unverified(tx: Tx, developer_id: int, card_id: int | None) -> None:
    """Hold the imported servers of a developer whose namespace is not verified to their maximum; `card_id` is left out of the count.

    Imports of one developer wait for each other until the transaction ends. Raises: QuotaReached.
    """
    await store.lock_importer(tx, developer_id)
    if await store.count_unverified(tx, developer_id, card_id) >= UNVERIFIED_SERVERS_MAX:
        raise QuotaReached(
            f"You have {UNVERIFIED_SERVERS_MAX} MCP servers without a verified namespace; verify or delete one."
        )
