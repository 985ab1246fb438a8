"""The end of a card: its agent is revoked, and later its document forgotten.

- A retired card leaves listings and discovery for good; by its key it stays readable and says `revoked`.
- When its tombstone ends, the document is erased with every version of it, and its humanReadableId is free again. With
  its owner's account the document is erased at once: names and texts may be personal. DID and status stay.
"""

from hansa.foundation.plumbing.room import AccountEnd
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .changes import TOMBSTONE_DAYS
from .owning import store as owning
from .versions import store as versions

ERASED_AT_ONCE = 500
"""Of one turn; what is left waits for the next, so that no turn holds locks for long."""


async def retire_card(tx: Tx, did: str) -> None:
    """End the card of an own agent."""
    await store.retire(tx, did)


async def _end_of_account(tx: Tx, developer_id: int) -> None:
    """End the cards of a developer beside those of agents, and erase the documents of all of them."""
    await store.retire_listings(tx, developer_id)
    await owning.forget_importer(tx, developer_id)
    await versions.erase_of_developer(tx, developer_id)


async def erase_old(tx: Tx) -> None:
    """Erase the documents of cards whose tombstones have ended."""
    await versions.erase_hidden_before(tx, days=TOMBSTONE_DAYS, most=ERASED_AT_ONCE)


ACCOUNT_END_OF_CARDS = AccountEnd(end=_end_of_account)
