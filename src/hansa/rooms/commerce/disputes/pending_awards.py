"""Units that a ruling issues beyond those that it destroyed: a second administrator, of the treasury, decides.

The part of a compensation that the slash covers is issued in the commit of the ruling. The rest waits as an award, and is
issued or rejected once.
"""

from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import agents, ledger

from . import moves, rules, store
from .dispute import AwardFilter, AwardStatus, Dispute
from .moves import move, take
from .store import OpenDecisions


async def list_awards(tx: Tx, filters: AwardFilter) -> tuple[list[Dispute], int]:
    """Disputes whose ruling ordered an award, newest first, and how many there are in all."""
    return await store.page_of_awards(tx, filters)


async def count_open_decisions(tx: Tx) -> OpenDecisions:
    """How many disputes wait for a ruling, and how many awards for a second administrator."""
    return await store.count_open_decisions(tx)


async def approve_award(tx: Tx, administrator: Developer, dispute_id: int, settings: Settings) -> Dispute:
    """Issue an award to the complainant, once.

    Raises: DisputeUnknown, AwardDecided, SecondAdministratorNeeded, agents.AgentOfCaller, MintTooLarge, SupplyExhausted,
    IssuanceRefused.
    """
    dispute = await _pending(tx, administrator, dispute_id)
    issued = f"Issued {format_amount(dispute.compensation_amount)} {settings.settlement_currency}"
    destroyed = f"destroyed {format_amount(dispute.slash_applied)} {settings.settlement_currency}"
    await record_admin_act(
        tx, administrator, act="award.approve", subject=str(dispute_id), reason=f"{issued}, {destroyed}."
    )
    book, limit = ledger.Book.of(settings), parse_amount(settings.teg_mint_max_avt)
    amount, complainant = dispute.award_amount, dispute.complainant_did
    await ledger.require_issuable(tx, amount, amount_max=limit, parties=[complainant], book=book)
    order = ledger.orders.issue(complainant, amount, f"{ledger.DISPUTE_REFERENCE}{dispute.id}:award")
    (minted,) = await ledger.apply(tx, [order], book)
    await ledger.require_backed(tx, book)
    after = _decided(dispute, AwardStatus.APPROVED, administrator, None)
    return await move(tx, dispute, after, moves.compensated(dispute, minted, settings.settlement_currency))


async def reject_award(tx: Tx, administrator: Developer, dispute_id: int, reason: str) -> Dispute:
    """Issue nothing more for a ruling. Raises: DisputeUnknown, AwardDecided, SecondAdministratorNeeded, agents.AgentOfCaller."""
    dispute = await _pending(tx, administrator, dispute_id)
    await record_admin_act(tx, administrator, act="award.reject", subject=str(dispute_id), reason=reason)
    return await move(tx, dispute, _decided(dispute, AwardStatus.REJECTED, administrator, reason))


async def _pending(tx: Tx, administrator: Developer, dispute_id: int) -> Dispute:
    dispute, _ = await take(tx, dispute_id)
    rules.require_award_pending(dispute)
    rules.require_second(dispute, administrator.id)
    await agents.require_of_others(tx, administrator, dispute.parties)
    return dispute


def _decided(dispute: Dispute, status: AwardStatus, administrator: Developer, reason: str | None) -> Dispute:
    return replace(
        dispute,
        award_status=status,
        award_decided_by=administrator.id,
        award_decided_at=dispute.now,
        award_reason=reason,
    )
