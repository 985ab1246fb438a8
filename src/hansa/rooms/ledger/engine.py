"""The interface of the book for Python: orders in, results or refusals out. The database decides (`sql/apply.sql`)."""

from collections.abc import Callable, Sequence
from datetime import datetime

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, postings_total
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal

from . import rules, store
from .book import Book
from .errors import (
    AccountUnknown,
    CrossingDecided,
    CrossingDiffers,
    CrossingUnknown,
    HoldEnded,
    HoldExceeded,
    HoldExpired,
    HoldNotDue,
    HoldUnknown,
    OrderRefused,
    PeerLimitReached,
    SelfTransfer,
    SupplyExhausted,
    TransitLimitReached,
)
from .extensions import ClaimRefused, refused_claim
from .orders import Order

UNDECIDED = "UE001"
CARRIED_OUT = ("posted", "recorded", "repeated", "nothing")
TRANSACTION_TYPES = (
    "transfer",
    "issue",
    "destroy",
    "pool",
    "grant",
    "correction",
    "stake",
    "unstake",
    "reward",
    "compound",
    "hold",
    "capture",
    "release",
    "expire",
    "out",
    "in",
    "return",
    "swap",
    "trade",
    "launch",
    "levy",
    "distribution",
)

begin(postings_total, TRANSACTION_TYPES)


class Result(msgspec.Struct, frozen=True):
    """Result of an order; amounts in minor units. Without a transaction there was nothing to move.

    `balance` is the balance of the debited bucket afterwards (of a hold that ends, the payer's liquid balance), `credited` that of
    the credited one; of units that are issued both are the latter.
    """

    tx_id: int | None
    moved: Minor
    fee: Minor
    balance: Minor
    credited: Minor | None
    hold_id: int | None
    recorded_at: datetime
    extension: str | None = None
    is_repeated: bool = False
    """Whether this step of a crossing was done before; `tx_id` is then that of the movement it made, if any."""


async def apply(
    tx: Tx,
    orders: Sequence[Order],
    book: Book,
    *,
    dry: bool = False,
    uncovered: Callable[[int, int], Refused] = rules.uncovered,
) -> list[Result]:
    """Carry out the orders, all of them, as the last money statement of a use case that holds its own rows locked.

    With `dry` nothing is locked or written. `uncovered` makes the refusal from the available and the required amount.

    Raises: the refusal of the first order that cannot be carried out, which is ClaimRefused where its extension refused
    it; the transaction is then to be rolled back.
    """
    try:
        return await apply_in_order(tx, orders, book, dry=dry, uncovered=uncovered)
    except OrderRefused as refused:
        raise refused.refusal from None


async def apply_in_order(
    tx: Tx,
    orders: Sequence[Order],
    book: Book,
    *,
    dry: bool = False,
    uncovered: Callable[[int, int], Refused] = rules.uncovered,
) -> list[Result]:
    """Carry out the orders as `apply` does. Raises: OrderRefused, which names the first order that cannot be carried out, ClaimRefused."""
    lines = [msgspec.json.encode(order) for order in orders]
    extended = any(order.is_extended for order in orders)
    rows = await decide(tx, lines, book, extended=extended, dry=dry)
    for index, (order, row) in enumerate(zip(orders, rows, strict=True)):
        if row["outcome"] not in (*CARRIED_OUT, "undone"):
            refusal = refusal_of(order, row, uncovered)
            raise refusal if isinstance(refusal, ClaimRefused) else OrderRefused(index, refusal)
    return [_result(order, row, counted=not dry) for order, row in zip(orders, rows, strict=True)]


async def refusals_of(tx: Tx, orders: Sequence[Order], book: Book) -> list[Refused | None]:
    """Why each of these orders would be refused after the ones before it, None where it would not; nothing is written.

    None of them has an extension or a key.
    """
    lines = [msgspec.json.encode(order) for order in orders]
    rows = await decide(tx, lines, book, extended=False, dry=True)
    found = [
        None if row["outcome"] in CARRIED_OUT else refusal_of(order, row)
        for order, row in zip(orders, rows, strict=True)
    ]
    return [None if refusal is None or isinstance(refusal, ClaimRefused) else refusal for refusal in found]


async def decide(
    tx: Tx,
    lines: Sequence[bytes],
    book: Book,
    *,
    extended: bool,
    dry: bool = False,
) -> list[asyncpg.Record]:
    """Decide and write encoded orders in one statement; a row for each, in order.

    `extended` says whether some of them have an extension.

    Raises: EmissionUndecided.
    """
    try:
        return await store.apply(tx, book, lines, extended=extended, dry=dry)
    except asyncpg.PostgresError as error:
        if error.sqlstate != UNDECIDED:
            raise
        undecided = str(error.detail).split(",")
        raise journal.EmissionUndecided(
            f"No emission policy covers {', '.join(undecided)}.",
            context={"event_types": undecided},
        ) from None


def refusal_of(
    order: Order, row: asyncpg.Record, uncovered: Callable[[int, int], Refused] = rules.uncovered
) -> Refused | ClaimRefused:
    """Why an order was refused."""
    match row["outcome"]:
        case "claim_refused":
            return refused_claim(row["answer"])
        case "uncovered":
            return uncovered(row["balance"], order.amount + row["fee"])
        case "hold_exceeded":
            left = format_amount(row["balance"])
            return HoldExceeded(
                f"{format_amount(order.amount)} is more than the {left} that the hold still has.",
                context={"available": left},
            )
        case outcome:
            return _REFUSALS[outcome](order)


_REFUSALS: dict[str, Callable[[Order], Refused]] = {
    "debit_unknown": lambda order: AccountUnknown(context={"did": order.debit}),
    "credit_unknown": lambda order: AccountUnknown(context={"did": order.credit}),
    "payee_unknown": lambda order: AccountUnknown(context={"did": order.more.hold.payee}),  # type: ignore[union-attr]
    "same_party": lambda _: SelfTransfer(),
    "debit_suspended": lambda order: rules.suspended(order.debit or ""),
    "credit_suspended": lambda order: rules.suspended(order.credit or ""),
    "key_reused": lambda _: KeyReused(),
    "key_in_progress": lambda _: KeyInProgress(),
    "hold_unknown": lambda _: HoldUnknown(),
    "hold_ended": lambda _: HoldEnded(),
    "hold_expired": lambda _: HoldExpired(),
    "hold_not_due": lambda _: HoldNotDue(),
    "beyond_limit": lambda _: TransitLimitReached(),
    "crossing_unknown": lambda _: CrossingUnknown(),
    "crossing_decided": lambda _: CrossingDecided(),
    "crossing_differs": lambda _: CrossingDiffers(),
    "beyond_net_in": lambda _: PeerLimitReached(),
    "beyond_supply": lambda _: SupplyExhausted("The total supply would exceed its limit."),
}


def _result(order: Order, row: asyncpg.Record, *, counted: bool) -> Result:
    is_repeated = row["outcome"] == "repeated"
    if counted and row["tx_id"] is not None and not is_repeated:
        postings_total.labels(order.more.tx_type if order.more else "transfer").inc()
    return Result(
        row["tx_id"],
        Minor(row["moved"] or 0),
        Minor(row["fee"] or 0),
        Minor(row["balance"] or 0),
        row["credited"],
        row["hold_id"],
        row["recorded_at"],
        row["answer"],
        is_repeated,
    )
