"""A dispute is decided: voting opens, an administrator rules, or does not in time.

A ruling is one transaction: the hold goes to the party that it is for, units of the defendant are destroyed, those of its
bond first, the complainant is compensated as far as these reach, the contract closes. The same ruling again is answered as the first time.

Attestations of the defendant reduce the slash first (`attested.py`); everything after follows from the slash that is left.

The units that a ruling moves: the hold to the party that it is for, a slash of the defendant, a compensation.

The bond is slashed first, then the hold and the slash of liquid units are one group of orders. A compensation is issued as far
as the slash covers it; the rest is an award, which waits for a second administrator.
"""

import msgspec
from msgspec.structs import replace

from hansa.foundation.events import Event
from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import ZERO, Minor, format_amount, parse_amount
from hansa.rooms import agents, federation, ledger, transfers
from hansa.rooms.commerce import contracts, slash_settlements
from hansa.rooms.commerce.bonds import BondSlash, BondSlashed, SlashBond

from . import deposits, moves, rules, store
from .attested import reduce
from .bundle import proposal_for
from .cross_registry import (
    Abroad,
    SlashedHere,
    abroad_of,
    ask_to_slash,
    award,
    payment_names,
    require_awardable,
    require_not_paid,
    require_settleable,
)
from .dispute import Decision, Dispute, DisputeStatus, Funds, Outcome, Ruling
from .funds import funds_of
from .moves import DEADLINES, begin_voting, move, take
from .reading import with_evidence
from .rules import names_so_far

_NOTHING = BondSlashed(ZERO, None)


class Ordered(msgspec.Struct, frozen=True):
    """The dispute that an administrator decides, and how."""

    dispute_id: int
    decision: Decision


async def open_voting(tx: Tx, administrator: Developer, dispute_id: int) -> Dispute:
    """End the time for evidence. Raises: DisputeUnknown, agents.AgentOfCaller, WrongState."""
    dispute, _ = await take(tx, dispute_id)
    await agents.require_of_others(tx, administrator, dispute.parties)
    rules.require_state(dispute, DisputeStatus.OPEN)
    await record_admin_act(tx, administrator, act="dispute.open_voting", subject=str(dispute_id))
    return await with_evidence(tx, await begin_voting(tx, dispute))


async def rule(
    tx: Tx, administrator: Developer, ordered: Ordered, slash_bond: SlashBond, settings: Settings
) -> Dispute:
    """Rule.

    Raises: DisputeUnknown, agents.AgentOfCaller, RulingDiffers, WrongState, RulingTooLate, RulingInvalid, ReasonMissing, MintTooLarge,
    SupplyExhausted.
    """
    decision = ordered.decision
    dispute, contract = await take(tx, ordered.dispute_id)
    await agents.require_of_others(tx, administrator, dispute.parties)
    if dispute.status == DisputeStatus.CLOSED:
        rules.require_same(dispute, decision)
        return await with_evidence(tx, dispute)
    if dispute.status == DisputeStatus.OPEN and rules.is_due(dispute):
        dispute = await begin_voting(tx, dispute)
    rules.require_state(dispute, DisputeStatus.VOTING)
    rules.require_in_time(dispute)
    rules.require_reason(decision, await proposal_for(tx, await with_evidence(tx, dispute), settings))
    reduced = await reduce(tx, dispute, decision, settings)
    left = reduced.decision
    awards = await Awards.of(tx, dispute, contract, left, settings)
    bounded = decision if awards.abroad is None else awards.abroad.in_own_units(decision)
    rules.require_bounds(dispute, bounded, awards.compensation_max, parse_amount(settings.dispute_slash_max))
    if awards.abroad is not None:
        require_settleable(left, awards.abroad, settings)
    if awards.complainant_abroad is not None:
        require_awardable(left, awards.complainant_abroad, settings)
        await require_not_paid(tx, dispute, left, awards.complainant_abroad, awards.payment)
    await record_admin_act(
        tx, administrator, act="dispute.rule", subject=str(dispute.id), reason=decision.note
    )
    if awards.abroad is not None:
        await ask_to_slash(tx, dispute, left, awards.abroad, awards.payment)
    moved = await awards.move_units(tx, slash_bond)
    if awards.complainant_abroad is not None:
        currency = settings.settlement_currency
        slashed = SlashedHere(moved.outcome.slashed, moved.slash_tx_id, currency, awards.payment)
        await award(tx, awards.complainant_abroad, dispute, left, slashed)
    if contract is not None:
        contract = await _end_of(tx, contract, awards, moved)
    if decision.ruling is Ruling.IN_FAVOR_OF_COMPLAINANT:
        await _count_against_peer(tx, dispute, settings)
    fee_paid = dispute.fee_paid if contract is None else contract.fee_paid
    decided = rules.decided(dispute, decision, moved.outcome, fee_paid, administrator.id)
    after = replace(decided, slash_reduction=reduced.reduction, attested=reduced.attested)
    if after.award_amount:
        waiting = (
            f"{format_amount(after.award_amount)} of {format_amount(decision.compensation)} wait as an award"
        )
        destroyed = f"destroyed {format_amount(after.slash_applied)}"
        await record_admin_act(
            tx,
            administrator,
            act="award.order",
            subject=str(dispute.id),
            reason=f"{waiting}, {destroyed} {settings.settlement_currency}.",
        )
    return await _close(tx, dispute, after, settings, *moved.events)


async def meet_deadline(tx: Tx, dispute_id: int, settings: Settings) -> None:
    """Open voting, or dismiss a dispute without a ruling, if the time for it has come."""
    dispute, contract = await take(tx, dispute_id)
    if not rules.is_due(dispute):
        return
    if dispute.status == DisputeStatus.OPEN:
        await begin_voting(tx, dispute)
        return
    if contract is not None:
        assert dispute.contract_status is not None
        await contracts.restore(tx, contract, dispute.contract_status, settings)
    await _close(tx, dispute, rules.unruled(dispute), settings)


async def _count_against_peer(tx: Tx, dispute: Dispute, settings: Settings) -> None:
    """A dispute that an agent of another registry lost is evidence on that registry."""
    if not await transfers.is_foreign(tx, dispute.defendant_did, settings):
        return
    peer = await transfers.peer_of(tx, dispute.defendant_did, settings)
    if peer is not None:
        await federation.record_signal(tx, peer.id, "dispute_lost", str(dispute.id))


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
            events.append(moves.slashed(self.dispute, bond, liquid, currency))
        if minted is not None:
            events.append(moves.compensated(self.dispute, minted, currency))
        return events

    @property
    def _reference(self) -> str:
        return f"{ledger.DISPUTE_REFERENCE}{self.dispute.id}"


async def _end_of(tx: Tx, contract: contracts.Contract, awards: Awards, moved: Moved) -> contracts.Contract:
    """Close the contract, or let it go on where the dispute was dismissed."""
    if awards.winner is not None:
        return await contracts.close(tx, contract, moved.paid)
    assert awards.dispute.contract_status is not None
    return await contracts.restore(tx, contract, awards.dispute.contract_status, awards.settings)


async def _close(tx: Tx, before: Dispute, after: Dispute, settings: Settings, *events: Event) -> Dispute:
    await deposits.settle(tx, after, settings)
    payer = before.payer_did or before.complainant_did
    payee = next(did for did in before.parties if did != payer)
    counts = await contracts.counts(tx, payer, payee)
    ruled = moves.ruled(after, settings.settlement_currency, counts=counts)
    return await with_evidence(tx, await move(tx, before, after, *events, ruled))


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await meet_deadline(tx, job.payload["dispute_id"], runtime.settings)


DISPUTE_DEADLINES = TransactionalKind(DEADLINES, _run)
