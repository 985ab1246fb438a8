"""Evidence for reputation that payments from a peer's agents give: which of them count, and how much of their fees.

- A payment counts only while its amount is covered: by units that this registry committed out to the peer and that have not
  come back before it. All other units the peer may have issued itself.
- Of its fee counts the share that is the peer's weight by peer trust, 0 while the peer is unmeasured.
- The fees of one peer that count on one UTC day are at most PEER_COUNTED_FEES_MAX.
- A swap never counts; neither does a payment to an agent whose owner has an area of the administration.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger

from . import evidence_store as store
from .corridor import Corridor
from .messages import PAYING
from .states import Money

FULL_WEIGHT = 1000


def counted_fee(fee: int, weight: int, left: int) -> int:
    """The part of a border fee that is evidence; `weight` in thousandths, `left` of the maximum of the day. Minor units."""
    return min(fee * weight // FULL_WEIGHT, left)


def is_in(money: Money) -> bool:
    """Return whether the units come in."""
    return not money.kind.value.endswith("_out")


async def counted_fees(tx: Tx, corridor: Corridor, completing: Sequence[Money]) -> dict[str, int | None]:
    """Return the counted fee of each incoming payment by its transfer id, in minor units; None for a payment that does not count.

    The pair is locked: the outstanding amount and the amount counted today change under that lock alone.
    """
    payments = [one for one in completing if is_in(one) and one.body.purpose in PAYING]
    if not payments:
        return {}
    payees = sorted({one.body.receiver_did for one in payments if one.body.swap is None})
    counting = await store.payees_that_count(tx, payees) if payees and corridor.peer.trust_weight else ()
    if not counting:
        return dict.fromkeys((one.body.transfer_id for one in payments), None)
    outstanding: int = await ledger.outstanding_out(tx, corridor.frame, corridor.book)
    before = await store.counted_today(tx, corridor.key)
    left = max(0, parse_amount(corridor.settings.peer_counted_fees_max) - before)
    counted: dict[str, int | None] = {}
    added = 0
    for one in completing:
        is_covered = is_in(one) and one.amount <= outstanding
        if one in payments:
            is_counted = is_covered and one.body.swap is None and one.body.receiver_did in counting
            fee = counted_fee(one.fee, corridor.peer.trust_weight, left - added) if is_counted else None
            counted[one.body.transfer_id] = fee
            added += fee or 0
        if one.body.swap is None:
            outstanding = outstanding - one.amount if is_in(one) else outstanding + one.amount
    if added:
        await store.count_today(tx, corridor.key, added)
    return counted
