"""A dispute is decided: voting opens, an administrator rules, or does not in time.

A ruling is one transaction: the hold goes to the party that it is for, units of the defendant are destroyed, those of its
bond first, the complainant is compensated as far as these reach, the contract closes. The same ruling again is answered as the first time.
"""

import msgspec

from hansa.foundation.events import Event
from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import agents, federation, transfers
from hansa.rooms.commerce import contracts
from hansa.rooms.commerce.slash_bond import SlashBond

from . import deposits, recorded, rules
from .awards import Awards, Moved
from .bundle import proposal_for
from .cross_registry import (
    SlashedHere,
    ask_to_slash,
    award,
    require_awardable,
    require_not_paid,
    require_settleable,
)
from .dispute import Decision, Dispute, DisputeStatus, Ruling
from .moves import DEADLINES, begin_voting, move, take
from .reading import with_evidence


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
    awards = await Awards.of(tx, dispute, contract, decision, settings)
    bounded = decision if awards.abroad is None else awards.abroad.in_own_units(decision)
    rules.require_bounds(dispute, bounded, awards.compensation_max, parse_amount(settings.dispute_slash_max))
    if awards.abroad is not None:
        require_settleable(decision, awards.abroad, settings)
    if awards.complainant_abroad is not None:
        require_awardable(decision, awards.complainant_abroad, settings)
        await require_not_paid(tx, dispute, decision, awards.complainant_abroad, awards.payment)
    await record_admin_act(
        tx, administrator, act="dispute.rule", subject=str(dispute.id), reason=decision.note
    )
    if awards.abroad is not None:
        await ask_to_slash(tx, dispute, decision, awards.abroad, awards.payment)
    moved = await awards.move_units(tx, slash_bond)
    if awards.complainant_abroad is not None:
        currency = settings.settlement_currency
        slashed = SlashedHere(moved.outcome.slashed, moved.slash_tx_id, currency, awards.payment)
        await award(tx, awards.complainant_abroad, dispute, decision, slashed)
    if contract is not None:
        contract = await _end_of(tx, contract, awards, moved)
    if decision.ruling is Ruling.IN_FAVOR_OF_COMPLAINANT:
        await _count_against_peer(tx, dispute, settings)
    fee_paid = dispute.fee_paid if contract is None else contract.fee_paid
    after = rules.decided(dispute, decision, moved.outcome, fee_paid, administrator.id)
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
    ruled = recorded.ruled(after, settings.settlement_currency, counts=counts)
    return await with_evidence(tx, await move(tx, before, after, *events, ruled))


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await meet_deadline(tx, job.payload["dispute_id"], runtime.settings)


DISPUTE_DEADLINES = TransactionalKind(DEADLINES, _run)
