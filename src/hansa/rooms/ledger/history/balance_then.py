"""Balance of an account at a past moment, which is read from text: the balance after its newest posting of that time.

The postings of one account are written in the order of their transactions, so that the newest one up to a moment is
found by halving, each step by an index.
"""

import re
from datetime import datetime

import msgspec

from hansa.foundation.events import ledger_key
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import journal
from hansa.rooms.ledger.errors import AccountUnknown

from . import store
from .errors import MomentInvalid

_SEQUENCE = re.compile(r"[0-9]{1,18}", re.ASCII)
Moment = datetime | int


class BalanceThen(msgspec.Struct, frozen=True):
    """Balance of each bucket of an account at a past moment, in minor units."""

    did: str
    liquid: Minor
    staked: Minor
    escrow: Minor
    transit: Minor


async def balance_then(tx: Tx, did: str, as_of: str, frame: str) -> BalanceThen:
    """The balances as of a time or a sequence number; `tx` must be one snapshot.

    Raises: MomentInvalid, AccountUnknown.
    """
    timestamp = parse_moment(as_of)
    await _require_past(tx, timestamp)
    account_id = await store.account_id(tx, did)
    if account_id is None:
        raise AccountUnknown
    held = {
        bucket: await _held_then(tx, account_id, bucket, timestamp, frame)
        for bucket in ("liquid", "staked", "escrow", "transit")
    }
    return BalanceThen(did, **held)


async def _held_then(tx: Tx, account_id: int, bucket: str, timestamp: Moment, frame: str) -> Minor:
    newest = await store.posting_up_to(tx, account_id, bucket, store.NEWEST)
    reached = ZERO
    low, high = 0, newest.tx_id if newest else 0
    while low < high:
        middle = (low + high + 1) // 2
        posting = await store.posting_up_to(tx, account_id, bucket, middle)
        if posting is None or posting.tx_id <= low:
            # Nothing between what was reached and the middle.
            low = middle
        elif await _is_past(tx, posting, timestamp, frame):
            reached, low = posting.balance_after, middle
        else:
            high = posting.tx_id - 1
    return reached


async def _is_past(tx: Tx, posting: store.Posting, timestamp: Moment, frame: str) -> bool:
    if not isinstance(timestamp, int):
        return posting.recorded_at <= timestamp
    sequence = await journal.sequence_of(tx, ledger_key(frame, posting.tx_id))
    # An event that was dropped has a lower number: `_require_past` refuses those up to the last one that was dropped.
    return sequence is None or sequence <= timestamp


async def _require_past(tx: Tx, timestamp: Moment) -> None:
    if isinstance(timestamp, int):
        end = await journal.boundary(tx)
        if end is not None and timestamp < end.sequence:
            raise end.refusal()
        is_past = timestamp <= await journal.newest_sequence(tx)
    else:
        is_past = timestamp <= await clock.now(tx)
    if not is_past:
        raise MomentInvalid("`as_of` is in the future.", field="as_of")


def parse_moment(text: str) -> Moment:
    """A time with its offset, or a sequence number. Raises: MomentInvalid."""
    if _SEQUENCE.fullmatch(text):
        return int(text)
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        raise MomentInvalid(field="as_of") from None
    if timestamp.tzinfo is None:
        raise MomentInvalid("`as_of` lacks the offset of its time, such as Z or +02:00.", field="as_of")
    return timestamp
