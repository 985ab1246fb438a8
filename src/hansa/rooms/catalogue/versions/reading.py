"""Read the documents that a card had. The history of a withdrawn card is readable by its owner only."""

from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.card_rights import CardReader
from hansa.rooms.catalogue.errors import CardUnknown, CardVersionUnknown
from hansa.rooms.catalogue.reading import card_of
from hansa.rooms.catalogue.records import Card

from . import store
from .records import CardVersion


async def history_of(tx: Tx, key: str, reader: CardReader | None) -> list[CardVersion]:
    """The versions of the card with that UUID, DID or number, the newest first. Raises: CardUnknown.

    `reader` is the developer asking, or None.
    """
    return await store.history(tx, (await readable_card(tx, key, reader)).card_id)


async def version_of(tx: Tx, key: str, version: int, reader: CardReader | None) -> CardVersion:
    """One version of that card, with its document. Raises: CardUnknown, CardVersionUnknown."""
    return (await version_and_before(tx, key, version, reader))[0]


async def version_and_before(
    tx: Tx, key: str, version: int, reader: CardReader | None
) -> tuple[CardVersion, CardVersion | None]:
    """The same, and the version before it where there is one. Raises: CardUnknown, CardVersionUnknown."""
    card = await readable_card(tx, key, reader)
    found = await store.versions(tx, card.card_id, [version, version - 1])
    if version not in found:
        raise CardVersionUnknown
    return found[version], found.get(version - 1)


async def card_document_at(tx: Tx, did: str, timestamp: datetime) -> CardVersion | None:
    """Return the document that the card of an own agent had at a timestamp; None where it is not kept, or was erased."""
    return await store.version_at(tx, did, timestamp)


async def readable_card(tx: Tx, key: str, reader: CardReader | None) -> Card:
    """The card whose history the reader may read. Raises: CardUnknown."""
    card = await card_of(tx, key)
    if card.is_withdrawn and not (reader and await reader.right(tx, card)):
        raise CardUnknown
    return card
