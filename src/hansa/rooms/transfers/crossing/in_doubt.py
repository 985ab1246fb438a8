"""Transfers whose outcome is not known here, for operators. Only the protocol decides them."""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.federation import PeerRecord

from . import store

LISTED_MAX = 1000

WAITS_FOR_HEADS = (
    "this registry was restored, or may have been, and decides nothing until the other one stated what it has seen;"
    " `hansa peer remove NAME --abandon` aborts it"
)
CAUSES = {
    "reserved": "no answer of the receiver's registry yet; aborted at its deadline",
    "prepared": "the sender's registry did not report its decision yet; it is asked again and again",
    "in_doubt": "committed before this registry was restored; neither the payer nor the account for shortfalls covers it now",
}


class UndecidedTransfer(msgspec.Struct, frozen=True):
    """One of them, with its cause in words. `waits_for_heads`: no deadline aborts it."""

    direction: str
    transfer_id: UUID
    frame: str
    sender_did: str
    receiver_did: str
    amount: Minor
    currency: str
    state: str
    since: datetime
    waits_for_heads: bool = False

    @property
    def cause(self) -> str:
        """Why it is not decided."""
        return WAITS_FOR_HEADS if self.waits_for_heads and self.state == "reserved" else CAUSES[self.state]


async def is_settled_with(tx: Tx, peer: PeerRecord) -> bool:
    """Return whether no transfer with this peer is under way or in doubt."""
    return peer.spiffe_id is None or await store.is_settled(tx, peer.spiffe_id)


async def undecided_transfers(tx: Tx) -> list[UndecidedTransfer]:
    """The oldest of them, at most 1,000."""
    return [
        UndecidedTransfer(
            row["direction"],
            row["transfer_id"],
            row["frame"],
            row["sender_did"],
            row["receiver_did"],
            Minor(row["amount"]),
            row["currency"],
            row["state"],
            row["created_at"],
            row["waits_for_heads"],
        )
        for row in await store.undecided(tx, LISTED_MAX)
    ]
