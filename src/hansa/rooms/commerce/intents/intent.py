"""An intent: a payment that was previewed and may be made once.

- Its id is the Idempotency-Key of the payment. It stands in the payment's commit as a unique key: it is paid once for good.
- It belongs to one principal; others do not find it. Its arguments are sealed under its id.
- It lives ten minutes; longer while the approval that it waits for is open or usable.
"""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.jobs import sweep_of
from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import WINDOW_HOURS
from hansa.foundation.values.errors import QuotaReached
from hansa.foundation.values.secrets import new_hex
from hansa.rooms import agents

from . import store
from .errors import IntentExpired, IntentPaid, IntentUnknown, IntentUnreadable
from .store import NewIntent

PREFIX = "int_"
ID_PATTERN = r"^int_[0-9a-f]{32}$"
MINUTES = 10
OPEN_MAX = 20
SWEEP_SECONDS = 3600.0
SEALED_FOR = "arguments of an intent"
USABLE = frozenset({"pending", "approved"})


class Intent(msgspec.Struct, frozen=True):
    """An intent that can be paid, or was. `is_answered`: the first answer of its payment is still kept."""

    id: str
    agent_did: str
    arguments: dict[str, Any]
    payment: str | None
    paid_at: datetime | None
    is_answered: bool


async def open_intent(tx: Tx, seal: Seal, new: NewIntent) -> tuple[str, datetime]:
    """Write an intent; returns its id and the time of its end. Raises: QuotaReached."""
    await store.lock_quota(tx, new.principal)
    if await store.count_open(tx, new.principal) >= OPEN_MAX:
        raise QuotaReached(f"{OPEN_MAX} intents are open; pay one, or wait until one has ended.")
    intent_id = new_hex(PREFIX, 32)
    sealed = seal.close_under(intent_id, json.dumps(new.arguments).encode(), SEALED_FOR)
    ends = await store.insert(tx, intent_id, new, sealed, MINUTES)
    return intent_id, ends


async def find_intent(tx: Tx, seal: Seal, intent_id: str, *, principal: str, tool: str) -> Intent:
    """An intent of this principal for this tool. Raises: IntentUnknown, IntentExpired, IntentUnreadable."""
    row = await store.find(tx, intent_id, principal, WINDOW_HOURS)
    if row is None or row.tool != tool:
        raise IntentUnknown
    if row.payment is None and row.is_past and not await _waits(tx, row):
        raise IntentExpired
    try:
        arguments = json.loads(seal.open_under(row.id, row.arguments, SEALED_FOR))
    except BadSeal:
        raise IntentUnreadable from None
    return Intent(row.id, row.agent_did, arguments, row.payment, row.paid_at, bool(row.is_answered))


async def pay_intent(tx: Tx, intent_id: str, payment: str) -> None:
    """Pay an intent in the transaction of its payment. Raises: IntentPaid, where another payment was quicker."""
    if not await store.pay(tx, intent_id, payment):
        raise IntentPaid


async def wait_for_approval(tx: Tx, intent_id: str, approval_id: UUID) -> None:
    """Let an intent live as long as this approval is open or usable."""
    await store.note_approval(tx, intent_id, approval_id)


async def _waits(tx: Tx, row: store.IntentRow) -> bool:
    """The approval of the intent can still be given or used."""
    if row.approval_id is None:
        return False
    approval = await agents.find_approval(tx, row.agent_did, row.approval_id)
    return approval is not None and approval.used_at is None and approval.status in USABLE


FORGET_INTENTS = sweep_of("commerce: intents of long ago", SWEEP_SECONDS, store.HAS_OLD, store.delete_old)
