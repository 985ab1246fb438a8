"""The SQL that reads crossings. The engine alone writes them (`sql/crossings.sql`)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import ledger_id_of_transit
from hansa.foundation.values.money import Minor

_FIND = """
SELECT c.direction, c.transfer_id, agent.did AS agent, c.counterparty, c.amount, c.fee, c.state, c.tx_id, c.return_tx_id,
  c.decided_at
FROM ledger_account transit JOIN ledger_crossing c ON c.transit_id = transit.id JOIN ledger_account agent ON agent.id = c.agent_id
WHERE transit.did = $1 AND transit.unit = '' AND c.direction = $2 AND c.transfer_id = $3
"""

_TRANSACTIONS_OUT = """
SELECT c.transfer_id, c.tx_id FROM ledger_account transit JOIN ledger_crossing c ON c.transit_id = transit.id
WHERE transit.did = $1 AND transit.unit = '' AND c.direction IN ('out', 'swap_out')
  AND c.transfer_id = ANY ($2)
"""

_TOTALS = """
SELECT a.did, a.transit, coalesce(k.committed_out, 0) AS committed_out, coalesce(k.committed_in, 0) AS committed_in,
  coalesce(k.confirmed_out, 0) AS confirmed_out, u.reserved_out, u.reserved_in
FROM ledger_account a
LEFT JOIN ledger_corridor k ON k.transit_id = a.id
CROSS JOIN LATERAL (
  SELECT coalesce(sum(c.amount) FILTER (WHERE c.direction IN ('out', 'swap_out')), 0)::bigint AS reserved_out,
    coalesce(sum(c.amount) FILTER (WHERE c.direction = 'in'), 0)::bigint AS reserved_in
  FROM ledger_crossing c WHERE c.transit_id = a.id AND c.state = 'reserved'
) u
WHERE a.kind = 'system' AND a.unit = ''
"""

_TOTALS_OF_ALL = f'{_TOTALS} ORDER BY a.did COLLATE "C"'

_TOTALS_OF_ONE = f"{_TOTALS} AND a.did = $1"

_OUTSTANDING_OUT = """
SELECT greatest(0, k.committed_out - k.committed_in - k.compensated)::bigint FROM ledger_corridor k
WHERE k.transit_id = (SELECT a.id FROM ledger_account a WHERE a.did = $1 AND a.unit = '')
"""

_IS_CREDIT_PENDING = """
SELECT EXISTS (SELECT FROM ledger_crossing c JOIN ledger_account a ON a.id = c.agent_id
  WHERE a.did = $1 AND a.unit = '' AND c.state = 'reserved')
"""

_COMPENSATED_OF_ALL = "SELECT coalesce(sum(compensated), 0)::bigint FROM ledger_corridor"

_NET_IN_OF = (
    "SELECT did, ledger_net_in(id)::bigint AS net_in FROM ledger_account WHERE did = ANY($1) AND unit = ''"
)

_NET_IN_OF_ALL = "SELECT ledger_net_in_of_all()::bigint"


_CONFIRM = """
WITH named AS (
  SELECT c.transit_id, c.transfer_id FROM ledger_crossing c JOIN ledger_account a ON a.id = c.transit_id
  WHERE a.did = $1 AND a.unit = '' AND c.direction = 'out' AND c.transfer_id = ANY ($2)
    AND c.state = 'committed'
), confirmed AS (
  UPDATE ledger_crossing c SET confirmed_at = clock_timestamp() FROM named
  WHERE c.transit_id = named.transit_id AND c.direction = 'out' AND c.transfer_id = named.transfer_id
    AND c.confirmed_at IS NULL RETURNING c.transit_id, c.amount
), counted AS (
  UPDATE ledger_corridor k SET confirmed_out = k.confirmed_out + added.amount
  FROM (SELECT transit_id, sum(amount) AS amount FROM confirmed GROUP BY transit_id) added
  WHERE k.transit_id = added.transit_id
)
SELECT count(*) FROM named
"""


async def confirm(tx: Tx, transit: str, transfer_ids: Sequence[UUID]) -> int:
    """Mark committed transfers as confirmed; how many of the ids are those of committed ones."""
    committed: int = await tx.fetchval(_CONFIRM, transit, transfer_ids)
    return committed


async def find(tx: Tx, transit: str, direction: str, transfer_id: UUID) -> asyncpg.Record | None:
    """One crossing of a transit account."""
    return await tx.fetchrow(_FIND, transit, direction, transfer_id)


async def transactions_out(tx: Tx, transit: str, transfer_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return the ids of the transactions that reserved these transfers out through a transit account, by transfer id."""
    rows = await tx.fetch(_TRANSACTIONS_OUT, transit, transfer_ids)
    return {row["transfer_id"]: row["tx_id"] for row in rows}


async def totals(tx: Tx, transit: str | None = None) -> list[dict[str, Any]]:
    """Return the committed and reserved amounts of each transit account, or of this one, with the ledger id that its DID names."""
    rows = await (tx.fetch(_TOTALS_OF_ALL) if transit is None else tx.fetch(_TOTALS_OF_ONE, transit))
    named = [(ledger_id_of_transit(row["did"]), row) for row in rows]
    return [
        {"frame": frame, **{name: Minor(int(value)) for name, value in row.items() if name != "did"}}
        for frame, row in named
        if frame is not None
    ]


async def outstanding_out(tx: Tx, transit: str) -> Minor:
    """Return the units committed out through this transit account that have not come back."""
    return Minor(await tx.fetchval(_OUTSTANDING_OUT, transit) or 0)


async def is_any_pending(tx: Tx, did: str) -> bool:
    """Return whether a crossing of this agent is not decided; exact while its account is locked."""
    pending: bool = await tx.fetchval(_IS_CREDIT_PENDING, did)
    return pending


async def compensated_of_all(tx: Tx) -> Minor:
    """Return the units issued here because peers confirmed that they destroyed as many."""
    return Minor(await tx.fetchval(_COMPENSATED_OF_ALL))


async def net_in_of(tx: Tx, transits: Sequence[str]) -> dict[str, Minor]:
    """Return the units in from the registries of these transit accounts less those out, by the ledger id that each DID names."""
    rows = await tx.fetch(_NET_IN_OF, transits)
    named = [(ledger_id_of_transit(row["did"]), Minor(row["net_in"])) for row in rows]
    return {frame: net_in for frame, net_in in named if frame is not None}


async def net_in_of_all(tx: Tx) -> Minor:
    """Return the units that came in from other registries and may still come, less those that went out; at least 0."""
    return Minor(await tx.fetchval(_NET_IN_OF_ALL))
