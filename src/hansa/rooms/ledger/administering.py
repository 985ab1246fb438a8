"""Acts of a treasury administrator on units; each act is in the audit log, with its reference as the reason."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor

from . import rules, store
from .accounts import balance_of
from .book import Book
from .errors import TreasuryInsufficient
from .issue import grant, mint
from .treasury import SupplyChange


async def issue_by_administrator(
    tx: Tx, administrator: Developer, *, amount: Minor, ref: str, amount_max: Minor, book: Book
) -> SupplyChange:
    """Issue units to the treasury, once for each `ref`.

    Raises: IssuanceRefused, MintTooLarge, ReferenceInvalid, ReferenceUsed, SupplyExhausted.
    """
    change = await mint(tx, amount=amount, ref=ref, amount_max=amount_max, book=book)
    await record_admin_act(tx, administrator, act="units.mint", subject=f"tx-{change.tx_id}", reason=ref)
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
