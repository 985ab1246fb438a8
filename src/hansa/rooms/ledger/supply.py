"""Supply: units are issued, granted out of the treasury, and destroyed in it by the operator.

- Issuing and destroying lock the treasury first, and a reference is good for one of each.
- Issuing holds that lock while the supply is summed, so that no two pass the limit together. Destroying holds it, so that the
  units are still there when they are taken.
- Each act of a treasury administrator is in the audit log, with its reference as the reason.

Units issued to a complainant because another registry confirmed that it destroyed units of the defendant.

They count toward `net_in_limit` of that registry, as units that it brings in: its word makes units here.
"""

from collections.abc import Sequence

import msgspec

from hansa.foundation.events import TokensDestroyed, TokensIssued
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal

from . import crossings_store, orders, rules, store
from .accounts import balance_of
from .book import Book
from .engine import Result, apply
from .errors import (
    AccountUnknown,
    InsufficientBalance,
    IssuanceRefused,
    PeerLimitReached,
    ReferenceUsed,
    TreasuryInsufficient,
)

GENESIS_REF = "genesis"

_OPEN = """
INSERT INTO ledger_corridor (transit_id) SELECT id FROM ledger_account WHERE did = $1 AND unit = ''
ON CONFLICT DO NOTHING
"""
_COUNT = """
UPDATE ledger_corridor k SET compensated = k.compensated + $2 FROM ledger_account a
WHERE a.did = $1 AND a.unit = '' AND k.transit_id = a.id
  AND ($3::bigint IS NULL OR ledger_net_in(a.id) + $2 <= $3) RETURNING 1
"""


async def initialize_ledger(tx: Tx, book: Book, supply: Minor) -> bool:
    """Open the registry's own accounts and issue the genesis supply, once in the life of the database.

    Returns whether it was issued now. Several processes may call it at once: they take turns at the treasury.
    """
    own = [book.treasury, *await store.collectors_of(tx, book), book.shortfall]
    await store.open_accounts(tx, own, kind="system")
    if supply == 0:
        return False
    await lock_treasury(tx, book)
    if await store.is_reference_used(tx, "issue", GENESIS_REF):
        return False
    await issue(tx, amount=supply, ref=GENESIS_REF, book=book)
    return True


class SupplyChange(msgspec.Struct, frozen=True):
    """Units that came into being or ceased to be, and the whole supply since then; both in minor units."""

    tx_id: int
    amount: Minor
    supply: Minor


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


async def lock_treasury(tx: Tx, book: Book) -> rules.Account:
    """The treasury, locked until the transaction ends. Raises: AccountUnknown."""
    treasury = (await store.lock_accounts(tx, [book.treasury])).get(book.treasury)
    if treasury is None:
        raise AccountUnknown(
            f"There is no account {book.treasury}; a registry with this DID_METHOD has never started here."
        )
    return treasury


async def require_unused(tx: Tx, act: store.ReferencedAct, ref: str) -> None:
    """Judged under the treasury's lock. Raises: ReferenceUsed."""
    if await store.is_reference_used(tx, act, ref):
        done = {"issue": "issued", "destroy": "destroyed", "correction": "corrected"}[act]
        raise ReferenceUsed(f"Units were {done} under this reference before; nothing was changed.")


async def destroy(tx: Tx, *, amount: Minor, ref: str, book: Book) -> SupplyChange:
    """Destroy units of the treasury at the operator's word, once for each `ref`.

    Raises: ReferenceInvalid, ReferenceUsed, TreasuryInsufficient, AccountUnknown.
    """
    rules.require_reference(ref)
    await lock_treasury(tx, book)
    await require_unused(tx, "destroy", ref)
    order = orders.destroy(book.treasury, amount, ref)
    (result,) = await apply(tx, [order], book, uncovered=rules.not_in_treasury)
    assert result.tx_id is not None
    destroyed = TokensDestroyed(
        tx_id=result.tx_id, from_=book.treasury, amount=format_amount(amount), currency=book.currency, ref=ref
    )
    await journal.append(tx, destroyed)
    return SupplyChange(result.tx_id, amount, await store.sum_supply(tx))


async def issue_by_administrator(
    tx: Tx, administrator: Developer, *, amount: Minor, ref: str, amount_max: Minor, book: Book
) -> SupplyChange:
    """Issue units to the treasury, once for each `ref`.

    Raises: IssuanceRefused, MintTooLarge, ReferenceInvalid, ReferenceUsed, SupplyExhausted.
    """
    change = await mint(tx, amount=amount, ref=ref, amount_max=amount_max, book=book)
    await record_admin_act(tx, administrator, act="units.mint", subject=f"tx-{change.tx_id}", reason=ref)
    return change


async def destroy_by_administrator(
    tx: Tx, administrator: Developer, *, amount: Minor, ref: str, book: Book
) -> SupplyChange:
    """Destroy units of the treasury, once for each `ref`. Raises: ReferenceInvalid, ReferenceUsed, TreasuryInsufficient."""
    change = await destroy(tx, amount=amount, ref=ref, book=book)
    await record_admin_act(tx, administrator, act="units.burn", subject=f"tx-{change.tx_id}", reason=ref)
    return change


async def grant_by_administrator(
    tx: Tx, administrator: Developer, *, payee: str, amount: Minor, ref: str, book: Book
) -> None:
    """Pay an agent from the treasury without a fee. Raises: ReferenceInvalid, AccountUnknown, TreasuryInsufficient."""
    rules.require_reference(ref)
    await balance_of(tx, payee)
    if not await grant(tx, payee=payee, amount=amount, ref=ref, book=book):
        raise TreasuryInsufficient("The treasury does not hold enough units; nothing was moved.")
    await store.note_treasury_grant(tx, payee, amount)
    await record_admin_act(tx, administrator, act="units.grant", subject=payee, reason=ref)


async def treasury_grants_after(tx: Tx, after: int, most: int) -> list[store.TreasuryGrant]:
    """Return the grants of administrators in commit order: at most `most`, with ids greater than `after`."""
    return await store.treasury_grants_after(tx, after, most)


class Compensation(msgspec.Struct, frozen=True):
    """Units to issue, and their limits: the most of one issue, and the net_in_limit of the registry that confirmed the slash."""

    complainant: str
    amount: Minor
    frame: str
    ref: str
    amount_max: Minor
    net_in_limit: Minor | None


async def compensate(tx: Tx, asked: Compensation, book: Book) -> Result:
    """Issue units to the account of a complainant, once for each reference.

    Raises: PeerLimitReached, MintTooLarge, SupplyExhausted, AccountUnknown.
    """
    transit, amount = book.transit(asked.frame), asked.amount
    await store.open_accounts(tx, [transit], kind="system")
    await require_issuable(
        tx, amount, amount_max=asked.amount_max, parties=[asked.complainant, transit], book=book
    )
    await tx.execute(_OPEN, transit)
    if await tx.fetchval(_COUNT, transit, amount, asked.net_in_limit) is None:
        raise PeerLimitReached
    return (await apply(tx, [orders.issue(asked.complainant, amount, asked.ref)], book))[0]
