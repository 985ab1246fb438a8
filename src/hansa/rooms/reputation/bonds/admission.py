"""Whether an agent may accept a contract of version 2, as the mode of bonds has it."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import unbonded_accepts_total
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import catalogue, transfers

from . import store
from .bond import State


async def bond_admits(tx: Tx, did: str, settings: Settings) -> bool:
    """Off: always. Observe: always, and counted. Enforce: with an active bond, which stays so in this transaction.

    The bond of an agent of another registry is what the card says that its home signed.
    """
    if settings.bond_mode == "off" or await store.share_state(tx, did) == State.ACTIVE:
        return True
    if await transfers.is_foreign(tx, did, settings) and await catalogue.is_stated_bonded_here(tx, did):
        return True
    unbonded_accepts_total.inc()
    return settings.bond_mode == "observe"
