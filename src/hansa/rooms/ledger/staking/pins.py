"""Pins: a part of a stake that a room above keeps from being released."""

from datetime import datetime
from typing import Protocol

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor


class PinnedUntil(Protocol):
    """Reader of the pins of an account, which is locked."""

    async def __call__(self, tx: Tx, did: str, left: Minor, /) -> datetime | None:
        """Return the end of the last pin that is larger than `left`, in minor units; None where there is none."""


STAKE_PINS: Slot[PinnedUntil] = Slot("ledger: pins of stakes")
