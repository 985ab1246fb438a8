"""The SQL of holds beside the engine's. No statement here moves a unit."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

_HOLDS = """
SELECT h.id, h.owner_kind, h.owner_id, payer.did AS payer, payee.did AS payee, h.amount, h.fee_held, h.captured,
  h.fee_captured, h.remaining, h.opened_at, h.expires_at, h.frozen_at, h.ended_at, h.ending
FROM ledger_hold h JOIN ledger_account payer ON payer.id = h.payer_id
LEFT JOIN ledger_account payee ON payee.id = h.payee_id
"""

OPEN_OF_PAYER = f"{_HOLDS} WHERE payer.did = $1 AND h.remaining > 0 ORDER BY h.id DESC LIMIT $2"

# One that has expired is left to be freed.
_OPEN = "id = $1 AND remaining > 0 AND (frozen_at IS NOT NULL OR expires_at > clock_timestamp()) IS NOT FALSE"

_EXTEND = f"UPDATE ledger_hold SET expires_at = $2 WHERE {_OPEN} RETURNING 1"  # noqa: S608

_FREEZE = f"""
UPDATE ledger_hold SET freezes = jsonb_build_object($2::text, clock_timestamp()) || freezes,
  frozen_at = coalesce(frozen_at, clock_timestamp())
WHERE {_OPEN} RETURNING 1
"""  # noqa: S608

_THAW = """
UPDATE ledger_hold SET freezes = freezes - $2::text,
  frozen_at = CASE WHEN freezes - $2::text <> '{}' THEN frozen_at END,
  expires_at = expires_at + CASE WHEN freezes - $2::text = '{}' THEN
    coalesce(clock_timestamp() - frozen_at, '0') ELSE '0' END
WHERE id = $1 AND remaining > 0 RETURNING 1
"""

_EXPIRED = """
SELECT id, owner_id, owner_kind || '_expiry' AS extension, expires_at,
  to_regproc(quote_ident(owner_kind || '_expiry_claim')) IS NOT NULL AS is_extended
FROM ledger_hold WHERE remaining > 0 AND frozen_at IS NULL AND expires_at <= clock_timestamp()
"""

_GRACE = "(o.is_extended OR o.expires_at <= clock_timestamp() - make_interval(secs => {}))"

_OVERDUE = f"""
SELECT o.* FROM ({_EXPIRED} AND (expires_at, id) > ($2, $3)) o
WHERE {_GRACE.format("$1")} ORDER BY o.expires_at, o.id LIMIT $4
"""  # noqa: S608

_GAPS = """
SELECT a.did, a.escrow, coalesce(h.remaining, 0)::bigint AS in_holds FROM ledger_account a LEFT JOIN (
  SELECT payer_id, sum(remaining) AS remaining FROM ledger_hold WHERE remaining > 0 GROUP BY payer_id
) h ON h.payer_id = a.id
WHERE a.escrow <> coalesce(h.remaining, 0) ORDER BY a.did
"""


class Hold(msgspec.Struct, frozen=True):
    """One hold, amounts in minor units. `remaining` includes the fee; 0 when it has ended."""

    id: int
    owner_kind: str
    owner_id: str
    payer: str
    payee: str | None
    amount: Minor
    fee_held: Minor
    captured: Minor
    fee_captured: Minor
    remaining: Minor
    opened_at: datetime
    expires_at: datetime | None
    frozen_at: datetime | None
    ended_at: datetime | None
    ending: str | None


class OverdueHold(msgspec.Struct, frozen=True):
    """A hold that has expired; `extension` is the kind by which its owner expires it, if it has one."""

    id: int
    owner_id: str
    extension: str
    expires_at: datetime
    is_extended: bool


class EscrowGap(msgspec.Struct, frozen=True):
    """Account whose escrow differs from the sum of its open holds; in minor units."""

    did: str
    escrow: Minor
    in_holds: Minor


async def find(tx: Tx, hold_id: int) -> Hold | None:
    """One hold, ended or not."""
    row = await tx.fetchrow(f"{_HOLDS} WHERE h.id = $1", hold_id)
    return Hold(**row) if row else None


async def find_all(tx: Tx, hold_ids: Collection[int]) -> Sequence[Hold]:
    """These holds, ended or not."""
    return [Hold(**row) for row in await tx.fetch(f"{_HOLDS} WHERE h.id = ANY ($1)", hold_ids)]


async def of_owner(tx: Tx, owner_kind: str, owner_id: str) -> Sequence[Hold]:
    """The holds of one owner reference, oldest first."""
    rows = await tx.fetch(
        f"{_HOLDS} WHERE h.owner_kind = $1 AND h.owner_id = $2 ORDER BY h.id", owner_kind, owner_id
    )
    return [Hold(**row) for row in rows]


async def extend(tx: Tx, hold_id: int, expires_at: datetime | None) -> bool:
    """Return whether an open hold that has not expired got another expiry."""
    return await tx.fetchval(_EXTEND, hold_id, expires_at) is not None


async def freeze(tx: Tx, hold_id: int, reason: str) -> bool:
    """Return whether an open hold that has not expired is frozen for this reason."""
    return await tx.fetchval(_FREEZE, hold_id, reason) is not None


async def thaw(tx: Tx, hold_id: int, reason: str) -> bool:
    """Return whether an open hold is not frozen for this reason any more."""
    return await tx.fetchval(_THAW, hold_id, reason) is not None


def has_overdue(grace_seconds: int) -> Question:
    """Ask whether an open hold has expired; one of an owner without an extension, longer ago than the grace."""
    return Question(
        f"SELECT EXISTS (SELECT FROM ({_EXPIRED}) o WHERE {_GRACE.format(float(grace_seconds))})"  # noqa: S608
    )


async def overdue(tx: Tx, grace_seconds: int, after: OverdueHold | None, limit: int) -> list[OverdueHold]:
    """Open holds that have expired, without an extension of their owner so long ago; the oldest expiry first."""
    timestamp, number = (after.expires_at, after.id) if after else (datetime.min.replace(tzinfo=UTC), 0)
    return [
        OverdueHold(**row) for row in await tx.fetch(_OVERDUE, float(grace_seconds), timestamp, number, limit)
    ]


async def escrow_gaps(tx: Tx) -> list[EscrowGap]:
    """Return the accounts whose escrow differs from the sum of their open holds; none, unless somebody tampered."""
    return [EscrowGap(**row) for row in await tx.fetch(_GAPS)]
