"""Rights of developers at cards: those at the agent of a card, which the room above states, or of the owner of a listing card."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.rights import Right

from .records import Card

RightAt: TypeAlias = Callable[[Tx, int, str], Awaitable[Right | None]]
"""The right of the developer of that id at the agent of that DID; None for none."""

AGENT_RIGHT: Slot[RightAt] = Slot("catalogue: right at an agent")
HELD_RIGHT: Slot[RightAt] = Slot("catalogue: right at an agent until the transaction ends")


class CardReader(msgspec.Struct, frozen=True):
    """Developer who reads or changes cards."""

    developer_id: int
    right_at: RightAt

    async def right(self, tx: Tx, card: Card) -> Right | None:
        """Return the right of the developer at the card; None for none."""
        held = card.owner.right_of(self.developer_id) if card.owner else None
        if held is None and card.did is not None:
            held = await self.right_at(tx, self.developer_id, card.did)
        return held


def owned_by(developer: str, card: str = "") -> str:
    """Return the condition that a card belongs to the developer of this parameter or column; `card` is the prefix of its columns."""
    return f"{card}developer_id = {developer} AND {card}organization_id IS NULL"
