"""Destroy units of a defendant here: its bond first, then liquid units as far as they reach."""

import msgspec

from hansa.foundation.events import DisputeSlash
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import journal, ledger
from hansa.rooms.commerce.slash_bond import BondSlash, SlashBond

from .records import Kept
from .settlement import Claim


class Slash(msgspec.Struct, frozen=True):
    """How much is destroyed at most; minor units. `reference` is used once in the ledger."""

    claim: Claim
    most: Minor
    reference: str


class Destroyed(msgspec.Struct, frozen=True):
    """Destroyed units; `tx_id` is None where there were none."""

    claim: Claim
    from_bond: Minor
    from_liquid: Minor
    bond_tx_id: int | None
    tx_id: int | None

    @property
    def amount(self) -> Minor:
        """In all."""
        return Minor(self.from_bond + self.from_liquid)


async def destroy(tx: Tx, slash: Slash, slash_bond: SlashBond, settings: Settings) -> Destroyed:
    """Destroy them, once for each reference."""
    did = slash.claim.defendant_did
    bond = await slash_bond(tx, BondSlash(did, slash.most, f"{slash.reference}:bond"), settings)
    liquid, tx_id = ZERO, None
    if rest := Minor(slash.most - bond.amount):
        order = ledger.orders.destroy(did, rest, slash.reference, at_most=True)
        (done,) = await ledger.apply(tx, [order], ledger.Book.of(settings))
        liquid, tx_id = (done.moved, done.tx_id) if done.tx_id is not None else (ZERO, None)
    return Destroyed(slash.claim, bond.amount, liquid, bond.tx_id, bond.tx_id if tx_id is None else tx_id)


async def record_slash(tx: Tx, kept: Kept, done: Destroyed) -> None:
    """Write the event of the units destroyed for a settlement."""
    assert done.tx_id is not None
    slashed = DisputeSlash(
        did=done.claim.defendant_did,
        dispute_id=done.claim.dispute_id,
        amount=format_amount(done.amount),
        from_bond=format_amount(done.from_bond),
        from_liquid=format_amount(done.from_liquid),
        currency=done.claim.currency,
        tx_id=done.tx_id,
        bond_tx_id=done.bond_tx_id,
        settlement_id=kept.settlement_id,
        counterparty_frame=kept.frame,
    )
    await journal.append(tx, slashed)
