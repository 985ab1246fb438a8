"""Read what a card said before."""

from hansa.foundation.plumbing.database import Tx
from hansa.rooms.catalogue.errors import CardVersionUnknown
from hansa.rooms.catalogue.reading import card_of

from . import store
from .records import CardVersion


async def history_of(tx: Tx, key: str) -> list[CardVersion]:
    """The versions of the card with that UUID, DID or number, the newest first. Raises: CardUnknown."""
    return await store.history(tx, (await card_of(tx, key)).card_id)


async def version_of(tx: Tx, key: str, version: int) -> CardVersion:
    """One version of that card, with its document. Raises: CardUnknown, CardVersionUnknown."""
    found = await store.one_version(tx, (await card_of(tx, key)).card_id, version)
    if found is None:
        raise CardVersionUnknown
    return found
