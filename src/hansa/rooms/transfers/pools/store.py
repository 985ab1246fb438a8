"""The SQL of pools and quotes. The row of a pool is locked after those of the pair, the transfer and the budget."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .records import Minute, Pool

COLUMNS = (
    "peer, frame, currency, is_home, mode, rate, proposed, reserve_own, reserve_foreign, in_own, out_own, in_foreign,"
    " out_foreign, opened_at"
)

_POOL = f"SELECT {COLUMNS} FROM transfers_pool"  # noqa: S608

_ADD = """
INSERT INTO transfers_pool (peer, frame, currency, is_home, mode, rate, proposed, reserve_foreign)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING true
"""

# The pool is locked: what is read of it is what it was before.
_NOTE_MINUTE = """
INSERT INTO transfers_pool_minute AS m (peer, minute, reserve_own, reserve_foreign, swaps, fees_own, fees_foreign)
SELECT peer, date_trunc('minute', clock_timestamp()), reserve_own, reserve_foreign, $2, $3, $4
FROM transfers_pool WHERE peer = $1
ON CONFLICT (peer, minute) DO UPDATE SET swaps = m.swaps + excluded.swaps, fees_own = m.fees_own + excluded.fees_own,
  fees_foreign = m.fees_foreign + excluded.fees_foreign
"""

_CHANGE = """
UPDATE transfers_pool SET reserve_own = reserve_own + $2, reserve_foreign = reserve_foreign + $3, in_own = in_own + $4,
  out_own = out_own + $5, in_foreign = in_foreign + $6, out_foreign = out_foreign + $7
WHERE peer = $1
"""

_CHANGE_BY_ACT = """
UPDATE transfers_pool SET reserve_own = reserve_own + $2, reserve_foreign = reserve_foreign + $3,
  base_own = reserve_own + $2, base_foreign = reserve_foreign + $3, base_at = clock_timestamp()
WHERE peer = $1
"""

_OPENINGS = """
SELECT peer, at, own, foreign_ FROM (
  SELECT peer, base_at AS at, base_own AS own, base_foreign AS foreign_ FROM transfers_pool WHERE peer = ANY($1)
  UNION ALL
  SELECT peer, m.minute, m.reserve_own, m.reserve_foreign FROM transfers_pool p JOIN transfers_pool_minute m USING (peer)
  WHERE peer = ANY($1) AND m.minute > p.base_at
) opening
WHERE at > clock_timestamp() - interval '1 hour' AND own > 0 AND foreign_ > 0 ORDER BY at
"""

_HISTORY = """
SELECT minute, reserve_own, reserve_foreign, swaps, fees_own, fees_foreign FROM transfers_pool_minute
WHERE peer = $1 ORDER BY minute DESC LIMIT $2
"""

_ADD_ACT = "INSERT INTO transfers_pool_act (act_id, peer, kind, body) VALUES ($1, $2, $3, $4)"

_ACTS = "SELECT act_id, kind, body FROM transfers_pool_act WHERE peer = $1 ORDER BY created_at, act_id"

_HEAR = (
    "INSERT INTO transfers_pool_heard (peer, act_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING true"
)

_ADD_QUOTE = """
INSERT INTO transfers_quote (quote_id, agent_did, peer, amount_in, amount_out, expires_at)
VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6)) RETURNING expires_at
"""

_QUOTE = """
SELECT peer, amount_in, amount_out, expires_at >= clock_timestamp()
  AND NOT EXISTS (SELECT FROM transfers_sent s WHERE s.quote_id = q.quote_id AND s.state <> 'aborted') AS is_open
FROM transfers_quote q WHERE quote_id = $1 AND agent_did = $2
"""

_FORGET_QUOTES = "DELETE FROM transfers_quote WHERE expires_at < clock_timestamp() - interval '1 day'"


async def find_pool(tx: Tx, peer: str, *, lock: bool = False) -> Pool | None:
    """The pool shared with this peer."""
    row = await tx.fetchrow(f"{_POOL} WHERE peer = $1" + (" FOR NO KEY UPDATE" if lock else ""), peer)
    return None if row is None else _pool(row)


async def pools(tx: Tx) -> list[Pool]:
    """Every pool, by currency."""
    return [_pool(row) for row in await tx.fetch(f"{_POOL} ORDER BY currency, frame")]


async def pools_of_currency(tx: Tx, currency: str) -> list[Pool]:
    """The pools of this foreign currency."""
    return [_pool(row) for row in await tx.fetch(f"{_POOL} WHERE currency = $1 ORDER BY frame", currency)]


async def add_pool(tx: Tx, pool: Pool) -> bool:
    """Write a pool without an own reserve; False where there is one with this peer."""
    added = await tx.fetchval(
        _ADD,
        pool.peer,
        pool.frame,
        pool.currency,
        pool.is_home,
        pool.mode,
        pool.rate,
        pool.proposed,
        pool.reserve_foreign,
    )
    return bool(added)


async def delete_pool(tx: Tx, peer: str) -> None:
    """Delete a pool that the other registry refused."""
    await tx.execute("DELETE FROM transfers_pool WHERE peer = $1", peer)


async def change(tx: Tx, peer: str, deltas: Sequence[int]) -> None:
    """Add these deltas: reserve own and foreign, in and out of the own unit, in and out of the foreign one."""
    await tx.execute(_CHANGE, peer, *deltas)


async def change_by_act(tx: Tx, peer: str, own: int, foreign: int) -> None:
    """Add to the reserves, of a pool that is locked; prices of before count no longer for the breaker."""
    await note_minute(tx, peer)
    await tx.execute(_CHANGE_BY_ACT, peer, own, foreign)


async def note_minute(tx: Tx, peer: str, *, swaps: int = 0, fees_own: int = 0, fees_foreign: int = 0) -> None:
    """Keep the reserves before they change, of a pool that is locked."""
    await tx.execute(_NOTE_MINUTE, peer, swaps, fees_own, fees_foreign)


async def openings(tx: Tx, peers: Sequence[str]) -> dict[str, list[tuple[datetime, int, int]]]:
    """The reserves (own, foreign) with which each minute of the last hour began, since the last act on them, by peer."""
    found: dict[str, list[tuple[datetime, int, int]]] = {peer: [] for peer in peers}
    for row in await tx.fetch(_OPENINGS, peers):
        found[row["peer"]].append((row["at"], row["own"], row["foreign_"]))
    return found


async def history(tx: Tx, peer: str, most: int) -> list[Minute]:
    """The last minutes in which the reserves changed, the oldest first."""
    rows = await tx.fetch(_HISTORY, peer, most)
    return [Minute(*row.values()) for row in reversed(rows)]


async def accept_proposal(tx: Tx, peer: str) -> None:
    """The proposed reserve is funded."""
    await tx.execute("UPDATE transfers_pool SET proposed = NULL WHERE peer = $1", peer)


async def set_terms(tx: Tx, peer: str, mode: str, rate: object) -> None:
    """Write how the home prices; the rate is a Decimal or None."""
    await tx.execute("UPDATE transfers_pool SET mode = $2, rate = $3 WHERE peer = $1", peer, mode, rate)


async def add_act(tx: Tx, act_id: UUID, peer: str, kind: str, body: str) -> None:
    """Keep an act until the peer has it."""
    await tx.execute(_ADD_ACT, act_id, peer, kind, body)


async def acts(tx: Tx, peer: str) -> list[asyncpg.Record]:
    """Return the acts that the peer does not have yet, in the order in which they were done."""
    return list(await tx.fetch(_ACTS, peer))


async def finish_act(tx: Tx, act_id: UUID) -> bool:
    """The peer has answered; False where this was known."""
    return bool(await tx.fetchval("DELETE FROM transfers_pool_act WHERE act_id = $1 RETURNING true", act_id))


async def drop_acts(tx: Tx, peer: str) -> None:
    """Nothing more is sent to this peer."""
    await tx.execute("DELETE FROM transfers_pool_act WHERE peer = $1", peer)


async def hear(tx: Tx, peer: str, act_id: UUID) -> bool:
    """Return whether an act of the peer is taken in for the first time."""
    return bool(await tx.fetchval(_HEAR, peer, act_id))


async def add_quote(
    tx: Tx, quote_id: UUID, agent_did: str, peer: str, amounts: tuple[Minor, Minor], *, seconds: float
) -> datetime:
    """Keep a quote (amount in, amount out); returns when it expires."""
    expires_at: datetime = await tx.fetchval(_ADD_QUOTE, quote_id, agent_did, peer, *amounts, seconds)
    return expires_at


async def find_quote(tx: Tx, quote_id: UUID, agent_did: str) -> asyncpg.Record | None:
    """Return a quote of this agent, and whether it may still be used."""
    return await tx.fetchrow(_QUOTE, quote_id, agent_did)


async def forget_quotes(tx: Tx) -> None:
    """Delete quotes that expired long ago."""
    await tx.execute(_FORGET_QUOTES)


def _pool(row: asyncpg.Record) -> Pool:
    return Pool(**row)
