"""The SQL of a replay on its scratch database: the clock, the accounts and holds at the beginning, the balances at the end.

The clock: `now()` of the engine is the time of the recorded transaction. A schema with a function of that name stands
before the catalogue in the search path of the connection.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import is_system_did

from .movements import BUCKETS

Place = tuple[str, str]
"""Account and bucket."""

_CLOCK = """
CREATE SCHEMA replayed;
CREATE FUNCTION replayed.now() RETURNS timestamptz LANGUAGE sql STABLE
  RETURN coalesce(nullif(current_setting('hansa.replayed_at', true), '')::timestamptz, pg_catalog.now());
"""
_USE = "SET search_path = replayed, pg_catalog, public; SET synchronous_commit = off"
_SET_CLOCK = "SELECT set_config('hansa.replayed_at', $1, true)"
_OPEN = """
INSERT INTO ledger_account (did, kind, liquid, staked, escrow, transit)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
"""
_HOLD = """
INSERT INTO ledger_hold (id, owner_kind, owner_id, payer_id, amount, fee_held, captured, fee_captured, remaining)
OVERRIDING SYSTEM VALUE
SELECT h.id, h.owner_kind, h.id::text, a.id, h.amount, h.fee_held, h.captured, h.fee_captured,
  h.amount - h.captured + h.fee_held - h.fee_captured
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
  AS h (id, owner_kind, payer, amount, fee_held, captured, fee_captured)
JOIN ledger_account a ON a.did = h.payer AND a.unit = ''
"""
_BALANCES = "SELECT did, liquid, staked, escrow, transit FROM ledger_account WHERE unit = ''"


async def install_clock(tx: Tx) -> None:
    """Make the clock of a scratch database."""
    await tx.execute(_CLOCK)


async def use_clock(tx: Tx) -> None:
    """Let the engine take its time from the replay in this connection."""
    await tx.execute(_USE)


async def set_clock(tx: Tx, moment: datetime) -> None:
    """Let this be now() until the transaction ends."""
    await tx.execute(_SET_CLOCK, moment.isoformat())


async def open_accounts(tx: Tx, balances: Mapping[Place, int]) -> None:
    """Open an account for each that is named, with these balances in minor units."""
    dids = sorted({did for did, _ in balances})
    kinds = ["system" if is_system_did(did) else "agent" for did in dids]
    columns = [[balances.get((did, bucket), 0) for did in dids] for bucket in BUCKETS]
    await tx.execute(_OPEN, dids, kinds, *columns)


async def place_holds(tx: Tx, holds: Sequence[asyncpg.Record]) -> None:
    """Write holds under their own ids; later ones get ids beyond them."""
    if not holds:
        return
    names = ("id", "owner_kind", "payer", "amount", "fee_held", "captured", "fee_captured")
    await tx.execute(_HOLD, *([hold[name] for hold in holds] for name in names))
    await tx.execute("SELECT setval('ledger_hold_id_seq', $1)", max(hold["id"] for hold in holds))


async def balances(tx: Tx) -> dict[Place, int]:
    """The balance of every bucket of every account, in minor units."""
    rows = await tx.fetch(_BALANCES)
    return {(row["did"], bucket): row[bucket] for row in rows for bucket in BUCKETS}
