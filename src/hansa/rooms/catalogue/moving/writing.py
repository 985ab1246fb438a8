"""Write another address to a card, where it is still of the version that was read."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.rooms.catalogue.changed_format import with_changed_format
from hansa.rooms.catalogue.errors import CardUnknown
from hansa.rooms.catalogue.replace import replace_document
from hansa.rooms.catalogue.versions import store as documents

from . import store
from .address import AddressMissing, main_interface_of


class CardChanged(Conflict):
    """The card has another version than the one that was read; nothing was changed."""

    code = "CARD_CHANGED"
    sentence = "The card was changed meanwhile; nothing of it was overwritten."
    remedy = "Read the card, then send the request again if it is still wanted."


async def move_card(tx: Tx, did: str, version: int, url: str) -> str:
    """Replace the address of the main interface, and of others at the same address; returns the former address.

    The card is from now on looked for at this address, no longer at a host that its owner named.

    Raises: CardUnknown, CardChanged, AddressMissing, and as replace_document.
    """
    card_id = await store.number_of(tx, did)
    stored = None if card_id is None else await documents.lock_document(tx, card_id)
    if stored is None:
        raise CardUnknown
    if stored.version != version:
        raise CardChanged
    main = main_interface_of(stored.card_data)
    if main is None:
        raise AddressMissing
    if main.url != url:
        moved = [
            {**one, "url": url} if one["url"] == main.url else one
            for one in stored.card_data["supportedInterfaces"]
        ]
        written = with_changed_format({**stored.card_data, "supportedInterfaces": moved}, stored.card_data)
        await replace_document(tx, stored.card_id, written, source="owner")
        await store.forget_host(tx, stored.card_id)
    return main.url
