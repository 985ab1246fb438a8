"""Interface by which a ruling takes from the bond of a defendant: offered here, because bonds belong to a room above."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor


class BondSlash(msgspec.Struct, frozen=True):
    """Destroy up to `amount` of the bond of this agent; `ref` is unique among references of destroyed units."""

    did: str
    amount: Minor
    ref: str


class BondSlashed(msgspec.Struct, frozen=True):
    """Destroyed units of a bond, and the ledger transaction; None when there was nothing."""

    amount: Minor
    tx_id: int | None


SlashBond: TypeAlias = Callable[[Tx, BondSlash, Settings], Awaitable[BondSlashed]]

SLASH_BOND: Slot[SlashBond] = Slot("commerce: slash of a bond")
"""Called within the transaction of a ruling, whose rows are locked by then. It refuses nothing: it takes what is there."""
