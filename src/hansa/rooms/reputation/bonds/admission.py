"""Whether an agent may accept a contract of version 2, as the mode of bonds has it."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import unbonded_accepts_total
from hansa.foundation.plumbing.settings import Settings

from . import store
from .bond import State


async def bond_admits(tx: Tx, did: str, settings: Settings) -> bool:
    """Off: always. Observe: always, and counted. Enforce: with an active bond, which stays so in this transaction."""
    if settings.bond_mode == "off" or await store.share_state(tx, did) == State.ACTIVE:
        return True
    unbonded_accepts_total.inc()
    return settings.bond_mode == "observe"
