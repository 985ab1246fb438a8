"""How units come into being, and how the treasury gives them out.

Whoever issues holds the treasury's lock while the supply is summed, so that no two pass the limit together.
"""

from dataclasses import dataclass

from hansa.foundation.events import TokensIssued, TokensTransferred
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import postings_total
from hansa.foundation.words.money import Minor, format_amount
from hansa.rooms import journal

from . import rules, store
from .book import Book
from .errors import AccountUnknown, ReferenceUsed
from .posting import balance_changed

GENESIS_REF = "genesis"


@dataclass(frozen=True)
class Minted:
    """Units that came into being, and the whole supply with them; both in minor units."""

    tx_id: int
    amount: Minor
    supply: Minor


async def found_book(tx: Tx, book: Book, supply: Minor) -> bool:
    """Open the registry's own accounts and issue the genesis supply, once in the life of the database.

    Returns whether it was issued now. Several processes may call it at once: they take turns at the treasury.
    """
    await store.open_accounts(tx, [book.treasury, book.fee_collector], kind="system")
    if supply == 0:
        return False
    await _lock_treasury(tx, book)
    if await store.is_issued(tx, GENESIS_REF):
        return False
    await issue(tx, amount=supply, ref=GENESIS_REF, book=book)
    return True


async def mint(tx: Tx, *, amount: Minor, ref: str, amount_max: Minor, book: Book) -> Minted:
    """Issue units to the treasury at the operator's word, once for each `ref`.

    Raises: MintTooLarge, ReferenceInvalid, ReferenceUsed, SupplyExhausted, AccountUnknown.
    """
    rules.require_mintable(amount, amount_max)
    rules.require_reference(ref)
    await _lock_treasury(tx, book)
    if await store.is_issued(tx, ref):
        raise ReferenceUsed
    tx_id = await issue(tx, amount=amount, ref=ref, book=book)
    return Minted(tx_id, amount, await store.sum_issued(tx))


async def issue(tx: Tx, *, amount: Minor, ref: str, book: Book) -> int:
    """Issue units to the treasury; returns the transaction's id.

    Raises: SupplyExhausted, AccountUnknown, asyncpg.UniqueViolationError when `ref` was issued before.
    """
    treasury = await _lock_treasury(tx, book)
    rules.require_within_supply(await store.sum_issued(tx), amount)
    posted = await store.post(
        tx,
        store.Posting(
            tx_type="issue",
            payer_id=None,
            payee_id=treasury.id,
            amount=amount,
            ref=ref,
            own_movements=[(book.treasury, amount)],
        ),
    )
    issued = TokensIssued(
        tx_id=posted.tx_id, to=book.treasury, amount=format_amount(amount), currency=book.currency, ref=ref
    )
    await journal.append(tx, balance_changed(posted, "issue", book), issued)
    postings_total.labels("issue").inc()
    return posted.tx_id


async def grant(tx: Tx, *, payee: str, amount: Minor, ref: str, book: Book) -> bool:
    """Pay `amount` from the treasury without a fee; False, and nothing written, when the treasury cannot cover it."""
    payee_account = (await store.lock_accounts(tx, [payee]))[payee]
    treasury = (await store.lock_accounts(tx, [book.treasury]))[book.treasury]
    if treasury.liquid < amount:
        return False
    posted = await store.post(
        tx,
        store.Posting(
            tx_type="grant",
            payer_id=treasury.id,
            payee_id=payee_account.id,
            amount=amount,
            ref=ref,
            movements=[(payee, amount)],
            own_movements=[(book.treasury, -amount)],
        ),
    )
    transferred = TokensTransferred(
        tx_id=posted.tx_id,
        from_=book.treasury,
        to=payee,
        amount=format_amount(amount),
        fee="0",
        currency=book.currency,
        message=ref,
    )
    await journal.append(tx, balance_changed(posted, "grant", book, memo=ref), transferred)
    postings_total.labels("grant").inc()
    return True


async def _lock_treasury(tx: Tx, book: Book) -> rules.Account:
    treasury = (await store.lock_accounts(tx, [book.treasury])).get(book.treasury)
    if treasury is None:
        raise AccountUnknown(
            f"There is no account {book.treasury}; a registry with this DID_METHOD has never started here."
        )
    return treasury
