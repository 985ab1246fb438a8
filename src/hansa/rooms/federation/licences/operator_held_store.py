"""Every statement on the licence that this operator registry holds: one row, or none."""

from hansa.foundation.plumbing.storage.database import Tx

from .records import HeldOperatorLicence

_FIND = """
SELECT certificate, hash, state, reason, plan, frame, expires_at FROM federation_held_operator_licence
"""

_KEEP = """
INSERT INTO federation_held_operator_licence (certificate, hash, state, reason, plan, frame, expires_at)
VALUES ($1, $2, $3, left($4, 1000), $5, $6, $7)
ON CONFLICT (is_only) DO UPDATE SET certificate = excluded.certificate, hash = excluded.hash, state = excluded.state,
  reason = excluded.reason, plan = excluded.plan, frame = excluded.frame, expires_at = excluded.expires_at,
  changed_at = excluded.changed_at
"""


async def find(tx: Tx) -> HeldOperatorLicence | None:
    """The licence that was kept last."""
    row = await tx.fetchrow(_FIND)
    return None if row is None else HeldOperatorLicence(**row)


async def keep(tx: Tx, held: HeldOperatorLicence) -> None:
    """Keep this licence instead of an earlier one."""
    await tx.execute(
        _KEEP, held.certificate, held.hash, held.state, held.reason, held.plan, held.frame, held.expires_at
    )


async def remove(tx: Tx) -> None:
    """The frame has no certificate of this operator any more."""
    await tx.execute("DELETE FROM federation_held_operator_licence")
