"""The end of a card: its agent is revoked."""

from hansa.foundation.plumbing.database import Tx

from . import store


async def retire_card(tx: Tx, did: str) -> None:
    """The card leaves listings and discovery for good; by its key it stays readable and says `revoked`."""
    await store.retire(tx, did)
