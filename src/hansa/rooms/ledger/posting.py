"""Transfers between two accounts of this registry, inside a caller's own transaction; alone they gather (`batch.py`)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import ZERO, Minor

from . import orders, rules
from .book import Book
from .engine import Result, apply, apply_in_order
from .errors import OrderRefused
from .orders import TransferOrder


class Receipt(msgspec.Struct, frozen=True):
    """Receipt of an order; amounts in minor units. There is no transaction where no units were moved."""

    tx_id: int | None
    amount: Minor
    fee: Minor
    payer_balance_after: Minor
    recorded_at: datetime
    hold_id: int | None = None
    extension: str | None = None

    @classmethod
    def of(cls, result: Result) -> "Receipt":
        return cls(result.tx_id, result.moved, result.fee, result.balance, result.recorded_at)

    def as_text(self) -> str:
        """Return the stored form of a transfer's receipt: transaction, fee, balance and time."""
        since_1970 = self.recorded_at - datetime.fromtimestamp(0, UTC)
        return f"{self.tx_id} {self.fee} {self.payer_balance_after} {since_1970 // timedelta(microseconds=1)}"

    @classmethod
    def of_text(cls, kept: str, amount: Minor) -> "Receipt":
        """The receipt that was remembered of an order of `amount`."""
        tx_id, fee, balance, microseconds = map(int, kept.split())
        return cls(tx_id, amount, Minor(fee), Minor(balance), _moment(microseconds))


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """Stored form of the receipt of an order that is not a plain transfer alone; amounts in minor units."""

    tx_id: int | None
    moved: int
    fee: int
    balance: int
    hold_id: int | None
    microseconds: int
    extension: msgspec.Raw

    def receipt(self) -> Receipt:
        """The receipt of that order."""
        extension = bytes(self.extension).decode()
        return Receipt(
            self.tx_id,
            Minor(self.moved),
            Minor(self.fee),
            Minor(self.balance),
            _moment(self.microseconds),
            self.hold_id,
            None if extension == "null" else extension,
        )


def is_of_receipts(kept: str) -> bool:
    """Return whether the stored answer consists of receipts of orders that are no plain transfers."""
    return kept.startswith("[")


def stored_receipts(kept: str, amount: Minor = ZERO) -> list[Receipt]:
    """The receipts that were remembered of orders, the first of `amount` where it is a plain transfer."""
    if is_of_receipts(kept):
        return [one.receipt() for one in msgspec.json.decode(kept, type=list[Kept])]
    return [Receipt.of_text(kept, amount)]


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)


class Preview(msgspec.Struct, frozen=True):
    """Cost of a transfer and the balance after it; amounts in minor units."""

    fee: Minor
    payer_balance_after: Minor


async def transfer(tx: Tx, order: TransferOrder, book: Book) -> Receipt:
    """Move units between two agents of this registry; the fee goes to the fee collector on top.

    Raises: SelfTransfer, SystemAccountRefused, AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    rules.require_ordinary_parties(order.payer, order.payee)
    return Receipt.of((await apply(tx, [orders.transfer(order)], book))[0])


async def pay_treasury(tx: Tx, payer: str, amount: Minor, *, ref: str, memo: str, book: Book) -> Receipt:
    """Pay units to the treasury as an ordinary transfer, with this reference, which is used once.

    Raises: AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    return Receipt.of(
        (await apply(tx, [orders.payment(payer, book.treasury, amount, ref, memo=memo)], book))[0]
    )


async def transfer_all(tx: Tx, transfers: Sequence[TransferOrder], book: Book) -> list[Receipt]:
    """Make many transfers as `transfer` does: the fee of each counts those before it.

    After a refusal the transaction is to be rolled back.

    Raises: OrderRefused, with the first order that `transfer` would refuse.
    """
    refusal = None
    for index, order in enumerate(transfers):
        try:
            rules.require_ordinary_parties(order.payer, order.payee)
        except Refused as barred:
            refusal = OrderRefused(index, barred)
            transfers = transfers[:index]
            break
    given = [orders.transfer(order) for order in transfers]
    results = await apply_in_order(tx, given, book) if given else []
    if refusal is not None:
        raise refusal
    return [Receipt.of(result) for result in results]


class _Uncovered(Refused):
    """Carries the amount that a transfer would take out of the payer's account."""

    def __init__(self, required: int) -> None:
        super().__init__()
        self.required = required


async def fee_of(tx: Tx, order: TransferOrder, book: Book) -> Minor:
    """The fee that a transfer would bear now, whether or not the balance covers it.

    Raises: SelfTransfer, SystemAccountRefused, AccountUnknown, AccountSuspended.
    """
    rules.require_ordinary_parties(order.payer, order.payee)
    try:
        (result,) = await apply(
            tx,
            [orders.transfer(order)],
            book,
            dry=True,
            uncovered=lambda _, required: _Uncovered(required),
        )
    except _Uncovered as short:
        return Minor(short.required - order.amount)
    return result.fee


async def fee_to_new(tx: Tx, payer: str, amount: Minor, book: Book) -> Minor:
    """The fee that a transfer to an account that is still to be opened would bear now, whether or not the balance covers it.

    Raises: AccountUnknown, AccountSuspended.
    """
    # A hold bears the fee of a transfer and names no payee.
    held = orders.hold(payer, amount, orders.NewHold("preview", "preview"))
    try:
        (result,) = await apply(
            tx, [held], book, dry=True, uncovered=lambda _, required: _Uncovered(required)
        )
    except _Uncovered as short:
        return Minor(short.required - amount)
    return result.fee


async def preview(tx: Tx, order: TransferOrder, book: Book) -> Preview:
    """The decision on `order` as things stand, without locks and without effect. Raises: as `transfer`."""
    rules.require_ordinary_parties(order.payer, order.payee)
    (result,) = await apply(tx, [orders.transfer(order)], book, dry=True)
    return Preview(result.fee, result.balance)
