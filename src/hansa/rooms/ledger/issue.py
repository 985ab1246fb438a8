"""How units come into being, and how the treasury gives them out.

Issuing holds the treasury's lock while the supply is summed, so that no two pass the limit together.
"""

from collections.abc import Sequence

from hansa.foundation.events import TokensIssued
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal

from . import crossings_store, orders, rules, store
from .book import Book
from .engine import apply
from .errors import InsufficientBalance, IssuanceRefused
from .treasury import SupplyChange, lock_treasury, require_unused

GENESIS_REF = "genesis"


async def initialize_ledger(tx: Tx, book: Book, supply: Minor) -> bool:
    """Open the registry's own accounts and issue the genesis supply, once in the life of the database.

    Returns whether it was issued now. Several processes may call it at once: they take turns at the treasury.
    """
    await store.open_accounts(tx, [book.treasury, book.fee_collector, book.shortfall], kind="system")
    if supply == 0:
        return False
    await lock_treasury(tx, book)
    if await store.is_reference_used(tx, "issue", GENESIS_REF):
        return False
    await issue(tx, amount=supply, ref=GENESIS_REF, book=book)
    return True


async def mint(tx: Tx, *, amount: Minor, ref: str, amount_max: Minor, book: Book) -> SupplyChange:
    """Issue units to the treasury at the operator's word, once for each `ref`.

    Raises: IssuanceRefused, MintTooLarge, ReferenceInvalid, ReferenceUsed, SupplyExhausted, AccountUnknown.
    """
    rules.require_issuing(issues=book.issues)
    rules.require_mintable(amount, amount_max)
    rules.require_reference(ref)
    await lock_treasury(tx, book)
    await require_unused(tx, "issue", ref)
    tx_id = await issue(tx, amount=amount, ref=ref, book=book)
    return SupplyChange(tx_id, amount, await store.sum_supply(tx))


async def require_issuable(
    tx: Tx, amount: Minor, *, amount_max: Minor, parties: Sequence[str], book: Book
) -> None:
    """Units may be issued to an account by an order of this transaction; the accounts of `parties` are locked as well.

    Raises: MintTooLarge, SupplyExhausted.
    """
    rules.require_mintable(amount, amount_max)
    # All in one order: issuing locks the treasury after the accounts of agents.
    await store.lock_accounts(tx, [*parties, book.treasury])
    await _require_within_supply(tx, amount)


async def require_backed(tx: Tx, book: Book) -> None:
    """Require that an operator registry issued no more units than were destroyed here or at the peer that confirmed it.

    A compensation replaces units of the defendant. Beyond them it would be an issue of the operator's own. `require_issuable` comes before.

    Raises: IssuanceRefused.
    """
    if not book.issues and await store.sum_supply(tx) > await crossings_store.compensated_of_all(tx):
        raise IssuanceRefused(
            "An operator registry issues no units: a compensation is at most what was slashed here."
        )


async def issue(tx: Tx, *, amount: Minor, ref: str, book: Book) -> int:
    """Issue units to the treasury; returns the transaction's id.

    Raises: IssuanceRefused, SupplyExhausted, AccountUnknown, asyncpg.UniqueViolationError when `ref` was issued before.
    """
    rules.require_issuing(issues=book.issues)
    await lock_treasury(tx, book)
    await _require_within_supply(tx, amount)
    (result,) = await apply(tx, [orders.issue(book.treasury, amount, ref)], book)
    assert result.tx_id is not None
    issued = TokensIssued(
        tx_id=result.tx_id, to=book.treasury, amount=format_amount(amount), currency=book.currency, ref=ref
    )
    await journal.append(tx, issued)
    return result.tx_id


async def _require_within_supply(tx: Tx, amount: Minor) -> None:
    """Require that the supply allows the amount; units from other registries, and those to come, are part of it. Raises: SupplyExhausted."""
    supply = await store.sum_supply(tx) + await crossings_store.net_in_of_all(tx)
    rules.require_within_supply(Minor(supply), amount)


async def grant(tx: Tx, *, payee: str, amount: Minor, ref: str, book: Book) -> bool:
    """Pay `amount` from the treasury without a fee; False, and nothing written, when the treasury cannot cover it."""
    try:
        await apply(tx, [orders.grant(book.treasury, payee, amount, ref)], book)
    except InsufficientBalance:
        return False
    return True
