"""Read a transfer between two registries, for one of its parties.

Transfers whose outcome is not known here, for operators. Only the protocol decides them.
"""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from asyncpg import Record
from msgspec.structs import replace

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.federation import PeerRecord

from . import received_store, sent_store, store
from .errors import TransferUnknown
from .records import CrossingView

DOUBT_SECONDS = 60
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


async def find_crossing(tx: Tx, transfer_id: UUID, did: str, book: ledger.Book) -> CrossingView:
    """The transfer that this agent sent or receives. Raises: TransferUnknown."""
    sent = await sent_store.sent_row(tx, transfer_id)
    if sent is not None and sent["sender_did"] == did:
        return view_of_sent(sent)
    received = await received_store.received_of(tx, transfer_id, did)
    if received is None:
        raise TransferUnknown
    return _view_of_received(received, book.frame, await clock.seconds(tx))


async def transactions_of(tx: Tx, transfer_id: UUID, book: ledger.Book) -> list[int]:
    """The transactions of the ledger by which the units of transfers with this id left or came."""
    sent = await sent_store.sent_row(tx, transfer_id)
    received = await received_store.received_with(tx, transfer_id, LISTED_MAX)
    found = [
        await ledger.crossing(
            tx, row["frame"], "swap_in" if row["currency_received"] else "in", transfer_id, book
        )
        for row in received
    ]
    if sent is not None:
        direction: Literal["swap_out", "out"] = "swap_out" if sent["currency_received"] else "out"
        found.append(await ledger.crossing(tx, sent["frame"], direction, transfer_id, book))
    return [one.tx_id for one in found if one is not None and one.tx_id is not None]


def view_of_sent(row: Record) -> CrossingView:
    """Return the view of its sender."""
    balance = row["balance_after"]
    return CrossingView(
        state=row["state"],
        backend=row["backend"],
        receiver_registry=row["frame"],
        **_received_of(row),
        balance_after=None if balance is None else Minor(balance),
        credited_at=row["credited_at"],
        **_shared(row),
    )


def view_of_answer(row: Record) -> CrossingView:
    """Return the view in the answer to its sender, first and whenever the request is repeated: at the COMMIT, or of `async` at the reserve."""
    view = view_of_sent(row)
    if row["backend"] == "async":
        amounts = _expected_of(row)
        return replace(view, state="reserved", code=None, decided_at=None, credited_at=None, **amounts)
    return replace(view, credited_at=None)


def _received_of(row: Record) -> dict[str, Any]:
    """Return the amount that the receiver gets and the fee; of a swap that is not priced yet, the least that it may be."""
    if row["currency_received"] is None:
        fee = row["expected_fee"]
        return {"net": Minor(row["amount"] - fee), "fee": Minor(fee)}
    prepared = sent_store.promise_of(row)
    if prepared is not None:
        return {"net": Minor(prepared.net or 0), "fee": Minor(prepared.fee or 0)}
    return _expected_of(row)


def _expected_of(row: Record) -> dict[str, Any]:
    """Return the amount that the receiver gets and the fee, as far as it is known when the units are reserved."""
    if row["currency_received"] is None:
        return _received_of(row)
    return {"net": Minor(row["amount_out"] or row["min_amount_out"]), "fee": Minor(row["expected_fee"])}


def _view_of_received(row: Record, own_frame: str, now: float) -> CrossingView:
    waits = row["state"] == "prepared" and now - row["created_at"].timestamp() > DOUBT_SECONDS
    return CrossingView(
        state="in_doubt" if waits else "aborted" if row["state"] == "refused" else row["state"],
        backend="2pc",
        receiver_registry=own_frame,
        net=Minor(row["amount"] - row["fee"] if row["currency_received"] is None else row["net"]),
        fee=Minor(row["fee"]),
        balance_after=None,
        credited_at=row["decided_at"] if row["state"] == "committed" else None,
        **_shared(row),
    )


SHARED = ("transfer_id", "code", "sender_did", "receiver_did", "currency", "created_at", "decided_at", "memo")


def _shared(row: Record) -> dict[str, Any]:
    received = row["currency_received"] or row["currency"]
    members = {name: row[name] for name in SHARED}
    return {"amount": Minor(row["amount"]), "currency_received": received, **members}


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
