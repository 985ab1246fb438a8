"""Create a card: for an own agent that has none, or a listing card, which belongs to no agent."""

from typing import Any

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.errors import ListingCardsTooMany
from hansa.rooms.catalogue.publish import publish_card
from hansa.rooms.catalogue.reading import card_numbered
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.signatures import SignaturePolicy, require_genuine

from . import store
from .ownership import Ownership

LISTING_CARDS_MAX = 1000
"""Of one developer: a listing costs its owner nothing, so a flood of them must end somewhere."""


class NewCardRequest(msgspec.Struct, frozen=True):
    """The document, and whose card it is to be: an agent's, or that of no agent."""

    card_data: dict[str, Any]
    agent_did: str | None


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
    )
    return await card_numbered(tx, stored.card_id)
