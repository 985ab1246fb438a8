"""The end of an account: only an empty one is closed, so that no unit reaches it any more.

Units for an account that was closed meanwhile: an operator pays them to another account of their owner.

The units of a transaction are paid whole and once: `ledger_paid_claim` has a row for each transaction that was paid.
"""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.money import ZERO, Minor, format_amount

from . import crossings_store, orders, rules, store
from .accounts import Balance, balance_of
from .book import Book
from .engine import apply
from .errors import AccountUnknown, ClaimUnknown
from .orders import TransferOrder
from .payments import PaymentOrder, payment_line
from .posting import fee_of

LISTED_MAX = 1000
# A credit of the account for unclaimed units is a commit from another registry, the return of an aborted transfer to it, or a distribution
# of a listing, whose reference is the agent that was revoked.
_UNCLAIMED = """
SELECT p.tx_id, p.delta AS amount, t.recorded_at, coalesce(closed.did, t.ref) AS closed_did,
  CASE t.tx_type WHEN 'distribution' THEN payer.did ELSE c.counterparty END AS counterparty, c.transfer_id::text
FROM ledger_account a JOIN ledger_posting p ON p.account_id = a.id
JOIN ledger_transaction t ON t.id = p.tx_id JOIN ledger_account payer ON payer.id = t.payer_id
LEFT JOIN (
  ledger_account transit JOIN ledger_crossing c ON transit.kind = 'system' AND transit.unit = '' AND c.transit_id = transit.id
  JOIN ledger_account closed ON closed.id = c.agent_id
) ON c.direction IN ('out', 'in', 'swap_out', 'swap_in') AND p.tx_id IN (c.tx_id, c.return_tx_id)
  AND c.transfer_id = CASE WHEN t.tx_type <> 'distribution' THEN t.ref::uuid END
WHERE a.did = $1 AND a.unit = '' AND p.delta > 0 AND (t.tx_type = 'distribution' OR c.transfer_id IS NOT NULL)
  AND NOT EXISTS (SELECT FROM ledger_paid_claim k WHERE k.tx_id = p.tx_id) AND ($2::bigint IS NULL OR p.tx_id = $2)
ORDER BY p.tx_id LIMIT $3
"""
_CLAIM = "INSERT INTO ledger_paid_claim (tx_id, paid_tx_id) VALUES ($1, $2)"


class AccountHoldsUnits(Conflict):
    """The account still holds liquid or staked units, which would be lost."""

    code = "ACCOUNT_HOLDS_UNITS"
    sentence = "The account still holds units; transfer them and release its stakes first."


class CrossingPending(Conflict):
    """A transfer from or to another registry is undecided, which may still credit the account."""

    code = "CROSSING_PENDING"
    sentence = "A transfer from or to another registry is undecided, which may still credit this account."
    remedy = "Retry once the transfer is completed or aborted."


async def close_account(tx: Tx, did: str, *, waits_for_crossings: bool = True) -> None:
    """Let nothing in or out of an empty account any more; one that is closed already stays so.

    With `waits_for_crossings` an account is not closed while a transfer from or to another registry is undecided. Without, units
    that such a transfer brings later go to the registry's account for unclaimed units.

    Raises: AccountHoldsUnits, CrossingPending, AccountUnknown. The transaction is then to be rolled back.
    """
    if await store.close_if_empty(tx, did):
        # Read under the lock of the account, which every order on its crossings takes.
        if waits_for_crossings and await crossings_store.is_any_pending(tx, did):
            raise CrossingPending
        return
    raise _holding(await balance_of(tx, did))


async def require_empty(tx: Tx, did: str) -> None:
    """Require that the account holds nothing and awaits nothing; it is locked.

    Raises: AccountHoldsUnits, CrossingPending, AccountUnknown.
    """
    if did not in await store.lock_accounts(tx, [did]):
        raise AccountUnknown
    holds = await balance_of(tx, did)
    if holds.liquid or holds.staked or holds.escrow:
        raise _holding(holds)
    if await crossings_store.is_any_pending(tx, did):
        raise CrossingPending


def _holding(holds: Balance) -> AccountHoldsUnits:
    return AccountHoldsUnits(
        context={
            "liquid_balance": format_amount(holds.liquid),
            "staked_balance": format_amount(holds.staked),
            **({"escrow_balance": format_amount(holds.escrow)} if holds.escrow else {}),
        }
    )


class Swept(msgspec.Struct, frozen=True):
    """Payment that empties an account; amounts in minor units."""

    amount: Minor
    fee: Minor


async def sweep_account(tx: Tx, did: str, payee: str, *, ref: str, memo: str, book: Book) -> Swept:
    """Pay all liquid units of an account, less the fee, to another agent; nothing where there are none.

    The fee is that of a transfer now; it takes one smallest unit more where no amount and its fee make up the balance.

    Raises: AccountUnknown, AccountSuspended; asyncpg.UniqueViolationError when a payment with this reference was made.
    """
    accounts = await store.lock_accounts(tx, [did, payee])
    if did not in accounts:
        raise AccountUnknown
    liquid = accounts[did].liquid
    if liquid == 0:
        return Swept(ZERO, ZERO)
    amount = await _largest_covered(tx, did, payee, liquid, book)
    fee = Minor(liquid - amount)
    await apply(tx, [payment_line(PaymentOrder(did, payee, amount, ref, memo=memo, fee=fee))], book)
    return Swept(amount, fee)


async def _largest_covered(tx: Tx, payer: str, payee: str, liquid: Minor, book: Book) -> Minor:
    """The largest amount that a locked balance covers with its fee."""

    async def fee_on(amount: int) -> Minor:
        return await fee_of(tx, TransferOrder(payer, payee, Minor(amount)), book)

    # The rate does not depend on the amount; only the rounding is to be tried.
    amount = liquid * liquid // (liquid + await fee_on(liquid))
    while amount + await fee_on(amount) > liquid:
        amount -= 1
    while amount < liquid and amount + 1 + await fee_on(amount + 1) <= liquid:
        amount += 1
    return Minor(amount)


async def awaits_crossing(tx: Tx, did: str) -> bool:
    """Return whether a transfer from or to another registry is undecided, which may still credit the account."""
    return await crossings_store.is_any_pending(tx, did)


async def open_unclaimed(tx: Tx, book: Book) -> None:
    """Open the account for unclaimed units, unless it is there."""
    await store.open_accounts(tx, [book.unclaimed], kind="system")


class UnclaimedUnits(msgspec.Struct, frozen=True):
    """Units that one transaction brought for an agent that has ended; `amount` in minor units. `transfer_id` is that from another registry."""

    tx_id: int
    amount: Minor
    recorded_at: datetime
    closed_did: str
    counterparty: str | None
    transfer_id: str | None


async def unclaimed_units(tx: Tx, book: Book) -> list[UnclaimedUnits]:
    """Return the units that were not paid yet, the oldest first, at most 1,000."""
    return await _unclaimed(tx, book, None)


async def claim_unclaimed(tx: Tx, *, tx_id: int, payee: str, ref: str, book: Book) -> UnclaimedUnits:
    """Pay the units of this transaction to an account of its owner, whole and without a fee; the act is in the audit log.

    Raises: ReferenceInvalid, AccountUnknown, ClaimUnknown.
    """
    rules.require_reference(ref)
    # Read under the locks that the payment needs: of two claims the second one finds nothing.
    if payee not in await store.lock_accounts(tx, [payee, book.unclaimed]):
        raise AccountUnknown
    found = await _unclaimed(tx, book, tx_id)
    if not found:
        raise ClaimUnknown
    (paid,) = await apply(tx, [orders.grant(book.unclaimed, payee, found[0].amount, ref)], book)
    await tx.execute(_CLAIM, tx_id, paid.tx_id)
    await record_operator_act(tx, act="units.claim", subject=payee, reason=ref)
    return found[0]


async def _unclaimed(tx: Tx, book: Book, tx_id: int | None) -> list[UnclaimedUnits]:
    rows = await tx.fetch(_UNCLAIMED, book.unclaimed, tx_id, LISTED_MAX)
    return [UnclaimedUnits(**{**row, "amount": Minor(row["amount"])}) for row in rows]
