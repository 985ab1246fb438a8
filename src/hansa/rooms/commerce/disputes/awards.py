"""The units that a ruling moves: the hold to the party that it is for, a slash of the defendant, a compensation.

The bond is slashed first, then the hold and the slash of liquid units are one group of orders. A compensation is issued as far
as the slash covers it; the rest is an award, which waits for a second administrator.
"""

import msgspec

from hansa.foundation.events import Event
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, parse_amount
from hansa.rooms import ledger
from hansa.rooms.commerce import contracts, slash_settlements
from hansa.rooms.commerce.slash_bond import BondSlash, BondSlashed, SlashBond

from . import recorded, rules, store
from .cross_registry import Abroad, abroad_of, payment_names
from .dispute import Decision, Dispute, Funds, Outcome
from .funds import funds_of
from .rules import names_so_far

_NOTHING = BondSlashed(ZERO, None)


class Moved(msgspec.Struct, frozen=True):
    """Units that a ruling moved. `paid` is the payment of a contract's hold to its provider."""

    outcome: Outcome
    slash_tx_id: int | None
    paid: ledger.Result | None
    events: tuple[Event, ...]


class Awards(msgspec.Struct, frozen=True):
    """Units that a ruling gives and takes. `hold_id` is the hold of the contract, if it still holds units, which `winner` gets."""

    dispute: Dispute
    decision: Decision
    settings: Settings
    contract: contracts.Contract | None
    winner: str | None
    hold_id: int | None
    compensation_max: Minor
    abroad: Abroad | None
    """The registry of the defendant, where it is another: nothing of the defendant is moved here, and nothing issued yet."""
    complainant_abroad: Abroad | None
    """The registry of the complainant, where it is another: it issues the compensation."""
    payment: str | None
    """The name of the payment for another registry."""

    @classmethod
    async def of(
        cls,
        tx: Tx,
        dispute: Dispute,
        contract: contracts.Contract | None,
        decision: Decision,
        settings: Settings,
    ) -> "Awards":
        """Return the awards of this decision; other rulings about the payment wait from now on."""
        abroad = await abroad_of(tx, dispute.defendant_did, settings)
        complainant = await abroad_of(tx, dispute.complainant_did, settings)
        if dispute.payment is not None:
            await store.lock_payment(tx, names_so_far(dispute.payment)[0])
        for registry in (abroad, complainant):
            if registry is not None:
                await registry.lock(tx)
        winner = dispute.party_of(decision.ruling)
        is_held = contract is not None and winner is not None
        hold_id = await contracts.held_for(tx, contract) if contract is not None and is_held else None
        names = await payment_names(tx, dispute, contract)
        from_hold = ZERO if contract is None or hold_id is None else contract.unpaid
        earlier = await slash_settlements.compensated_before(tx, names)
        if dispute.payment is not None:
            earlier += await store.compensated(tx, names_so_far(dispute.payment))
        filed = Funds(dispute.paid_amount or ZERO, dispute.held_amount or ZERO)
        funds = filed if contract is None else await funds_of(tx, contract)
        return cls(
            dispute=dispute,
            decision=decision,
            settings=settings,
            contract=contract,
            winner=winner,
            hold_id=hold_id,
            compensation_max=rules.compensation_left(dispute, funds, Minor(from_hold + earlier)),
            abroad=abroad,
            complainant_abroad=complainant,
            payment=names[-1] if names else None,
        )

    async def move_units(self, tx: Tx, slash_bond: SlashBond) -> Moved:
        """Move them. Raises: MintTooLarge, SupplyExhausted, IssuanceRefused."""
        bond = await self._slash_bond(tx, slash_bond)
        await self._require_issuable(tx)
        orders = self._orders(Minor(self.decision.slash - bond.amount))
        book = ledger.Book.of(self.settings)
        done = await ledger.apply(tx, list(orders.values()), book) if orders else []
        results = dict(zip(orders, done, strict=True))
        liquid = results.get("slash")
        from_liquid = liquid.moved if liquid and liquid.tx_id else ZERO
        slashed = Minor(bond.amount + from_liquid)
        minted = await self._compensate(tx, Minor(min(self._issued, slashed)), book)
        awarded = Minor(max(self._issued - slashed, 0))
        if awarded and not book.issues:
            raise ledger.IssuanceRefused(
                "An operator registry issues no units: a compensation is at most what was slashed here."
            )
        is_captured = self.contract is not None and self.winner == self.contract.provider_did
        return Moved(
            Outcome(slashed, awarded),
            liquid.tx_id if liquid and liquid.tx_id else bond.tx_id,
            results.get("hold") if is_captured else None,
            tuple(self._events(bond, liquid, minted)),
        )

    async def _slash_bond(self, tx: Tx, slash_bond: SlashBond) -> BondSlashed:
        if not self.decision.slash or self.abroad is not None:
            return _NOTHING
        taken = BondSlash(self.dispute.defendant_did, self.decision.slash, f"{self._reference}:bond")
        return await slash_bond(tx, taken, self.settings)

    @property
    def _issued(self) -> Minor:
        """The compensation that this registry issues, at once or as an award."""
        is_here = self.abroad is None and self.complainant_abroad is None
        return self.decision.compensation if is_here else ZERO

    async def _require_issuable(self, tx: Tx) -> None:
        if self._issued:
            book, limit = ledger.Book.of(self.settings), parse_amount(self.settings.teg_mint_max_avt)
            parties = self.dispute.parties
            await ledger.require_issuable(tx, self._issued, amount_max=limit, parties=parties, book=book)

    async def _compensate(self, tx: Tx, amount: Minor, book: ledger.Book) -> ledger.Result | None:
        if not amount:
            return None
        order = ledger.orders.issue(self.dispute.complainant_did, amount, self._reference)
        (minted,) = await ledger.apply(tx, [order], book)
        await ledger.require_backed(tx, book)
        return minted

    def _orders(self, slash: Minor) -> dict[str, ledger.Order]:
        orders = {}
        if self.contract is not None and self.hold_id is not None and self.winner is not None:
            orders["hold"] = contracts.award(self.contract, self.hold_id, self.winner)
        if self.abroad is not None:
            return orders
        if slash:
            defendant = self.dispute.defendant_did
            orders["slash"] = ledger.orders.destroy(defendant, slash, self._reference, at_most=True)
        return orders

    def _events(
        self, bond: BondSlashed, liquid: ledger.Result | None, minted: ledger.Result | None
    ) -> list[Event]:
        events, currency = [], self.settings.settlement_currency
        if bond.tx_id is not None or (liquid is not None and liquid.tx_id is not None):
            events.append(recorded.slashed(self.dispute, bond, liquid, currency))
        if minted is not None:
            events.append(recorded.compensated(self.dispute, minted, currency))
        return events

    @property
    def _reference(self) -> str:
        return f"{ledger.DISPUTE_REFERENCE}{self.dispute.id}"
