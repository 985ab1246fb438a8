"""Acts of administrators on slash settlements: read, approve, reject and write them off, and set the limits of automatic approval."""

import msgspec

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents

from . import settlement as protocol
from . import store
from .errors import EvidenceMissing, SettlementDecided, SettlementNotUncollected, SettlementUnknown
from .inbox import order_slash
from .records import Kept


class SettlementFilter(msgspec.Struct, frozen=True):
    """Filter of settlements; None sets no bound."""

    direction: str | None
    status: str | None
    limit: int
    offset: int


async def read_settlement(tx: Tx, settlement_id: int) -> Kept:
    """One settlement. Raises: SettlementUnknown."""
    stored = await store.find(tx, settlement_id)
    if stored is None:
        raise SettlementUnknown
    return stored


async def read_evidence(tx: Tx, settlement_id: int) -> list[str]:
    """The messages of the other registry about a settlement, as it signed them. Raises: SettlementUnknown, EvidenceMissing."""
    row = (await read_settlement(tx, settlement_id)).row
    messages = [row[name] for name in ("message", "outcome") if row[name] is not None]
    if not messages:
        raise EvidenceMissing
    return messages


async def list_settlements(tx: Tx, filters: SettlementFilter) -> tuple[list[Kept], int]:
    """Settlements, newest first, and how many there are."""
    rows, total = await store.page(tx, filters.direction, filters.status, filters.limit, filters.offset)
    return [store.kept(row) for row in rows], total


async def approve(tx: Tx, administrator: Developer, settlement_id: int) -> Kept:
    """Let the slash be applied. Raises: SettlementUnknown, agents.AgentOfCaller, SettlementDecided."""
    stored = await _pending(tx, administrator, settlement_id)
    await record_admin_act(tx, administrator, act="settlement.approve", subject=str(settlement_id))
    await store.write(tx, settlement_id, protocol.approved(stored.settlement))
    await order_slash(tx, settlement_id)
    return await read_settlement(tx, settlement_id)


async def reject(tx: Tx, administrator: Developer, settlement_id: int, reason: str) -> Kept:
    """Refuse the slash; the peer gets the reason. Raises: SettlementUnknown, agents.AgentOfCaller, SettlementDecided."""
    stored = await _pending(tx, administrator, settlement_id)
    await record_admin_act(
        tx, administrator, act="settlement.reject", subject=str(settlement_id), reason=reason
    )
    await store.write(
        tx, settlement_id, protocol.rejected(stored.settlement, reason), store.Written(send=True)
    )
    return await read_settlement(tx, settlement_id)


async def write_off(tx: Tx, administrator: Developer, settlement_id: int, reason: str) -> Kept:
    """End the claim on units that the other registry cannot destroy again.

    Raises: SettlementUnknown, agents.AgentOfCaller, SettlementNotUncollected.
    """
    await _require_of_others(tx, administrator, await read_settlement(tx, settlement_id))
    if not await store.write_off(tx, settlement_id, reason):
        raise SettlementNotUncollected
    await record_admin_act(
        tx, administrator, act="settlement.write_off", subject=str(settlement_id), reason=reason
    )
    return await read_settlement(tx, settlement_id)


async def _require_of_others(tx: Tx, administrator: Developer, kept: Kept) -> None:
    claim = kept.settlement.claim
    await agents.require_of_others(tx, administrator, (claim.complainant_did, claim.defendant_did))


async def _pending(tx: Tx, administrator: Developer, settlement_id: int) -> Kept:
    stored = await store.find(tx, settlement_id, lock=True)
    if stored is None:
        raise SettlementUnknown
    await _require_of_others(tx, administrator, stored)
    if not protocol.may_be_decided(stored.settlement, await clock.seconds(tx)):
        raise SettlementDecided(context={"status": stored.settlement.status.value})
    return stored
