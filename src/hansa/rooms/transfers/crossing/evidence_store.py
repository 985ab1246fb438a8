"""The SQL of evidence that payments from peers give. Locks: the row of the pair first."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx

_TODAY = "(clock_timestamp() AT TIME ZONE 'UTC')::date"

_COUNTED_TODAY = f"SELECT fee FROM transfers_counted_fee WHERE peer = $1 AND day = {_TODAY}"  # noqa: S608

_COUNT_TODAY = f"""
INSERT INTO transfers_counted_fee AS c (peer, day, fee) VALUES ($1, {_TODAY}, $2)
ON CONFLICT (peer, day) DO UPDATE SET fee = c.fee + excluded.fee
"""  # noqa: S608


async def payees_that_count(tx: Tx, payees: Sequence[str]) -> set[str]:
    """The agents whose record a payment from another registry enters."""
    statement = "SELECT did FROM unnest($1::text[]) did WHERE transfers_payee_counts(did)"
    return {row["did"] for row in await tx.fetch(statement, list(payees))}


async def counted_today(tx: Tx, peer: str) -> int:
    """The fees of this peer that count today, in minor units."""
    return await tx.fetchval(_COUNTED_TODAY, peer) or 0


async def count_today(tx: Tx, peer: str, fee: int) -> None:
    """Add fees that count to those of today."""
    await tx.execute(_COUNT_TODAY, peer, fee)
