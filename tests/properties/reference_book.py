"""The judge of the engine: transfers decided in Python and written row by row, one at a time, in the plainest manner.

The fee: 0.5 % of the amount, on top. An agent that turns its funds over more than once an hour pays more: with
v = the amount it sent in the last hour (this transfer excluded) over the largest balance it held in that hour, the rate is
0.5 % while v <= 1 and rises in a straight line to 5 % at v = 10.
"""

from datetime import datetime
from fractions import Fraction

import msgspec

from hansa.foundation.events import Entry, LedgerBalanceChanged, TokensTransferred, TransactionFeeCollected
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.money import Minor, format_amount, share
from hansa.rooms import journal, ledger
from hansa.rooms.ledger import rules
from hansa.rooms.ledger.rules import FeePolicy

WINDOW_MINUTES = 60
SENT_MAX = 2**63 - 1


class Account(msgspec.Struct, frozen=True):
    """A locked account. `pace` holds (minute, sent, largest balance before sending) for recent minutes."""

    id: int
    did: str
    is_active: bool
    liquid: Minor
    pace: tuple[tuple[int, int, int], ...]
    minute: int


def fee_on(amount: Minor, payer: Account, policy: FeePolicy) -> Minor:
    """The fee added on top of `amount`, rounded half to even to the smallest unit."""
    sent, most_held = turnover(payer)
    # Nearly every transfer stands here; exact fractions are for the few that pay more.
    if sent <= most_held * policy.velocity_base.numerator // policy.velocity_base.denominator:
        return share(amount, policy.rate_base)
    return share(amount, fee_rate(velocity(payer), policy))


def velocity(payer: Account) -> Fraction:
    """How often the payer turned its funds over in the last hour."""
    sent, most_held = turnover(payer)
    return Fraction(sent, most_held) if most_held else Fraction(0)


def turnover(payer: Account) -> tuple[int, int]:
    """Return the amount that the payer sent in the last hour, and the largest balance it held in it."""
    recent = recent_pace(payer)
    if not recent:
        return 0, payer.liquid
    return sum(sent for _, sent, _ in recent), max(payer.liquid, *(held for _, _, held in recent))


def fee_rate(turnovers: Fraction, policy: FeePolicy) -> Fraction:
    """The rate at a velocity: the base up to `velocity_base`, the maximum from `velocity_max` on."""
    heat = (turnovers - policy.velocity_base) / (policy.velocity_max - policy.velocity_base)
    return policy.rate_base + min(max(heat, Fraction(0)), Fraction(1)) * (policy.rate_max - policy.rate_base)


def recent_pace(payer: Account) -> tuple[tuple[int, int, int], ...]:
    """The minutes that still count."""
    return tuple(entry for entry in payer.pace if entry[0] > payer.minute - WINDOW_MINUTES)


def pace_after_sending(payer: Account, amount: Minor) -> tuple[tuple[int, int, int], ...]:
    """The payer's pace once `amount` is sent; minutes that no longer count are dropped."""
    past = recent_pace(payer)
    minute, sent, held = past[-1] if past else (0, 0, 0)
    # A large share of the supply that goes round and round passes 64 bits: the minute then gets another entry.
    if minute == payer.minute and sent + amount <= SENT_MAX:
        return (*past[:-1], (minute, sent + amount, max(held, payer.liquid)))
    return (*past, (payer.minute, amount, payer.liquid))


async def transfer_alone(
    tx: Tx, order: ledger.TransferOrder, request: Repeatable | None, book: ledger.Book
) -> tuple[ledger.Receipt, bool]:
    """One transfer under its key; returns its receipt, and whether it is a repetition.

    Raises: SelfTransfer, SystemAccountRefused, AccountUnknown, AccountSuspended, InsufficientBalance, KeyReused,
    KeyInProgress.
    """
    if request and (kept := await idempotency.recall(tx, request)) is not None:
        return ledger.Receipt.of_text(kept, order.amount), True
    rules.require_ordinary_parties(order.payer, order.payee)
    parties = await _locked(tx, [order.payer, order.payee])
    payer, payee = [_found(parties, did) for did in (order.payer, order.payee)]
    for account in (payer, payee):
        if not account.is_active:
            raise rules.suspended(account.did)
    fee = fee_on(order.amount, payer, FeePolicy())
    if payer.liquid < order.amount + fee:
        raise rules.uncovered(payer.liquid, order.amount + fee)
    receipt = await _written(tx, order, (payer, payee), fee, book)
    if request:
        await idempotency.remember(tx, request, receipt.as_text())
    return receipt, False


async def _locked(tx: Tx, dids: list[str]) -> dict[str, Account]:
    rows = await tx.fetch(
        "SELECT id, did, status = 'active' AS is_active, liquid, pace, (extract(epoch FROM now()) / 60)::int AS minute"
        " FROM ledger_account WHERE did = ANY($1) ORDER BY id FOR NO KEY UPDATE",
        dids,
    )
    return {
        row["did"]: Account(**{**row, "pace": tuple(zip(*[iter(row["pace"])] * 3, strict=True))})
        for row in rows
    }


def _found(parties: dict[str, Account], did: str) -> Account:
    if did not in parties:
        raise ledger.AccountUnknown(context={"did": did})
    return parties[did]


async def _written(
    tx: Tx, order: ledger.TransferOrder, parties: tuple[Account, Account], fee: Minor, book: ledger.Book
) -> ledger.Receipt:
    payer, payee = parties
    pace = [value for entry in pace_after_sending(payer, order.amount) for value in entry]
    await tx.execute("UPDATE ledger_account SET pace = $2 WHERE id = $1", payer.id, pace)
    moves = [(payer.did, -(order.amount + fee)), (payee.did, order.amount)]
    if fee:
        moves.append((book.fee_collector, fee))
    changed = [
        await tx.fetchrow(
            "UPDATE ledger_account SET liquid = liquid + $2 WHERE did = $1 RETURNING id, liquid", did, delta
        )
        for did, delta in moves
    ]
    written = await tx.fetchrow(
        "INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount, fee, message)"
        " VALUES ('transfer', $1, $2, $3, $4, $5) RETURNING id, recorded_at",
        payer.id,
        payee.id,
        order.amount,
        fee,
        order.message,
    )
    assert written is not None
    tx_id: int = written["id"]
    recorded_at: datetime = written["recorded_at"]
    await tx.execute(
        "INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)"
        " SELECT $1, p.id, 'liquid', p.delta, p.balance"
        " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS p (id, delta, balance)",
        tx_id,
        [row["id"] for row in changed],
        [delta for _, delta in moves],
        [row["liquid"] for row in changed],
    )
    entries = [(did, delta, row["liquid"]) for (did, delta), row in zip(moves, changed, strict=True)]
    await journal.append(tx, *_events(tx_id, order, fee, book, entries))
    return ledger.Receipt(tx_id, order.amount, fee, Minor(entries[0][2]), recorded_at)


def _events(
    tx_id: int,
    order: ledger.TransferOrder,
    fee: Minor,
    book: ledger.Book,
    entries: list[tuple[str, int, int]],
) -> list[LedgerBalanceChanged | TokensTransferred | TransactionFeeCollected]:
    mover = LedgerBalanceChanged(
        frame=book.frame,
        tx_id=tx_id,
        tx_type="transfer",
        currency=book.currency,
        entries=[
            Entry(did, "liquid", format_amount(Minor(delta)), format_amount(Minor(after)))
            for did, delta, after in entries
        ],
        fee=format_amount(fee),
        memo=order.message,
    )
    transferred = TokensTransferred(
        tx_id=tx_id,
        from_=order.payer,
        to=order.payee,
        amount=format_amount(order.amount),
        fee=format_amount(fee),
        currency=book.currency,
        message=order.message,
    )
    collected = TransactionFeeCollected(
        tx_id=tx_id,
        payer=order.payer,
        collector=book.fee_collector,
        fee=format_amount(fee),
        currency=book.currency,
    )
    return [mover, transferred, collected] if fee else [mover, transferred]
