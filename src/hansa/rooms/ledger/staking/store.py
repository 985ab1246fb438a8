"""Every SQL statement of staking.

Locks: each act locks the agent's account (`ledger.store.lock_accounts`) before it reads a position, so that the sum of the
remaining units in an account's positions is its staked balance at every commit; a claim locks the fee collector after it.
Locks of positions end by `statement_timestamp()`: read after the account's lock was granted, one moment for a statement.
"""

from collections.abc import Sequence

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.money import Minor

from .figures import GlobalTotals, HistoryLine, Holdings, StakeGap, Totals
from .rules import Compounded, Draw, Position

# None while the named account alone covers what is due.
_COLLECTORS_TO_GATHER = """
SELECT array_agg(a.did ORDER BY a.id) FILTER (WHERE a.did <> $1 AND a.liquid > 0)
FROM ledger_account a WHERE a.did = ANY (ledger_collectors($1)) AND a.unit = ''
HAVING sum(a.liquid) FILTER (WHERE a.did = $1) < $2
"""

_OPEN = """
INSERT INTO ledger_stake_position (account_id, amount, remaining, lock_period, unlocks_at)
VALUES ($1, $2, $2, $3, now() + make_interval(days => $3))
RETURNING id, amount, remaining, lock_period, staked_at, unlocks_at, unstaked_at, last_reward_claim,
  auto_compound, unlocks_at <= now() AS is_unlocked, 0::bigint AS unrewarded_seconds
"""

_POSITIONS = """
SELECT id, amount, remaining, lock_period, staked_at, unlocks_at, unstaked_at, last_reward_claim, auto_compound,
  unlocks_at <= statement_timestamp() AS is_unlocked,
  greatest(0, floor(extract(epoch FROM statement_timestamp() - coalesce(rewarded_until, staked_at))))::bigint
    AS unrewarded_seconds
FROM ledger_stake_position WHERE account_id = $1
"""
_ACTIVE = _POSITIONS + " AND remaining > 0 ORDER BY staked_at, id"
_ONE = _POSITIONS + " AND id = $2"
_PAGE = with_total(
    _POSITIONS + " ORDER BY remaining = 0, staked_at, id LIMIT $2 OFFSET $3",
    "SELECT count(*) FROM ledger_stake_position WHERE account_id = $1",
)

_DRAW = """
UPDATE ledger_stake_position p SET remaining = p.remaining - d.amount,
  unstaked_at = CASE WHEN p.remaining = d.amount THEN now() END
FROM unnest($2::bigint[], $3::bigint[]) AS d (id, amount)
WHERE p.id = d.id AND p.account_id = $1 AND p.remaining >= d.amount AND p.unlocks_at <= statement_timestamp()
RETURNING p.id
"""

_COUNT_REWARD = """
WITH counted AS (
  UPDATE ledger_stake_position p
  SET rewarded_until = coalesce(p.rewarded_until, p.staked_at) + make_interval(secs => e.seconds)
  FROM unnest($3::bigint[], $4::bigint[]) AS e (id, seconds) WHERE p.id = e.id AND p.account_id = $1
)
INSERT INTO ledger_stake_reward AS kept (account_id, due) VALUES ($1, $2)
ON CONFLICT (account_id) DO UPDATE SET due = kept.due + excluded.due RETURNING due
"""

_TAKE_REWARD = """
WITH claimed AS (
  UPDATE ledger_stake_position SET last_reward_claim = now() WHERE account_id = $1 AND remaining > 0
)
UPDATE ledger_stake_reward SET due = due - $2 WHERE account_id = $1 AND due >= $2 RETURNING due
"""

_SET_COMPOUNDING = """
UPDATE ledger_stake_position SET auto_compound = $3 WHERE account_id = $1 AND id = $2 AND remaining > 0 RETURNING 1
"""

# The counted seconds are over: neither a claim nor another compounding sees them again.
_COMPOUND = """
UPDATE ledger_stake_position p SET amount = p.amount + e.added, remaining = p.remaining + e.added,
  rewarded_until = coalesce(p.rewarded_until, p.staked_at) + make_interval(secs => e.seconds)
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS e (id, added, seconds)
WHERE p.id = e.id AND p.account_id = $1 AND p.auto_compound AND p.remaining > 0
RETURNING p.id
"""

_DUE_TO_COMPOUND = """
SELECT a.id, a.did FROM ledger_account a WHERE a.id > $1 AND a.status = 'active' AND EXISTS (
  SELECT FROM ledger_stake_position p WHERE p.account_id = a.id AND p.auto_compound AND p.remaining > 0
    AND coalesce(p.rewarded_until, p.staked_at) <= now() - interval '1 day')
ORDER BY a.id LIMIT $2
"""

HOLDINGS = """
SELECT a.id AS account_id, a.liquid, a.staked, a.escrow, coalesce(p.locked, 0)::bigint AS locked, p.active_positions,
  p.next_unlock_at
FROM ledger_account a, LATERAL (
  SELECT count(*) AS active_positions,
    sum(remaining) FILTER (WHERE unlocks_at > statement_timestamp()) AS locked,
    min(unlocks_at) FILTER (WHERE unlocks_at > statement_timestamp()) AS next_unlock_at
  FROM ledger_stake_position WHERE account_id = a.id AND remaining > 0
) p
WHERE a.did = $1
"""

_TOTALS = """
SELECT coalesce(sum(amount) FILTER (WHERE tx_type = 'stake'), 0)::bigint AS staked,
  coalesce(sum(amount) FILTER (WHERE tx_type = 'unstake'), 0)::bigint AS unstaked,
  coalesce(sum(amount) FILTER (WHERE tx_type IN ('reward', 'compound')), 0)::bigint AS rewards,
  coalesce(sum(amount) FILTER (WHERE tx_type = 'compound'), 0)::bigint AS compounded,
  count(*) FILTER (WHERE tx_type = 'stake') AS positions,
  min(recorded_at) FILTER (WHERE tx_type = 'stake') AS first_staked_at,
  coalesce((SELECT due FROM ledger_stake_reward WHERE account_id = $1), 0)::bigint AS reward_due
FROM ledger_transaction WHERE payee_id = $1 AND tx_type IN ('stake', 'unstake', 'reward', 'compound')
"""

_HISTORY = """
SELECT id AS tx_id, tx_type, amount, ref AS position_id, recorded_at FROM ledger_transaction
WHERE payee_id = $1 AND tx_type IN ('stake', 'unstake', 'reward', 'compound') ORDER BY id DESC LIMIT $2 OFFSET $3
"""

_COUNT_HISTORY = """
SELECT count(*) FROM ledger_transaction WHERE payee_id = $1 AND tx_type IN ('stake', 'unstake', 'reward', 'compound')
"""

_GLOBAL_TOTALS = """
SELECT coalesce(sum(remaining), 0)::bigint AS staked,
  coalesce(sum(remaining) FILTER (WHERE unlocks_at > statement_timestamp()), 0)::bigint AS locked,
  count(*) AS active_positions, count(DISTINCT account_id) AS stakers
FROM ledger_stake_position WHERE remaining > 0
"""

_GAPS = """
SELECT a.did, a.staked, coalesce(p.remaining, 0)::bigint AS in_positions FROM ledger_account a LEFT JOIN (
  SELECT account_id, sum(remaining) AS remaining FROM ledger_stake_position WHERE remaining > 0 GROUP BY account_id
) p ON p.account_id = a.id
WHERE a.staked <> coalesce(p.remaining, 0) ORDER BY a.did
"""


async def collectors_to_gather(tx: Tx, collector: str, due: Minor) -> list[str]:
    """The other accounts that collect fees and hold units, if `collector` alone does not cover what is due."""
    return await tx.fetchval(_COLLECTORS_TO_GATHER, collector, due) or []


async def open_position(tx: Tx, account_id: int, amount: Minor, lock_period: int) -> Position:
    """Write a position of a locked account."""
    row = await tx.fetchrow(_OPEN, account_id, amount, lock_period)
    assert row is not None
    return Position(**row)


async def count_active(tx: Tx, account_id: int) -> int:
    """How many positions still hold something."""
    count: int = await tx.fetchval(
        "SELECT count(*) FROM ledger_stake_position WHERE account_id = $1 AND remaining > 0", account_id
    )
    return count


async def active_positions(tx: Tx, account_id: int) -> list[Position]:
    """The positions that still hold something, oldest first."""
    return [Position(**row) for row in await tx.fetch(_ACTIVE, account_id)]


async def find_position(tx: Tx, account_id: int, number: int) -> Position | None:
    """A position of this account, released or not."""
    row = await tx.fetchrow(_ONE, account_id, number)
    return Position(**row) if row else None


async def page_of_positions(
    tx: Tx, account_id: int, *, limit: int, offset: int
) -> tuple[list[Position], int]:
    """Positions, active ones first, then oldest first; and how many there are."""
    rows, total = await read_page(tx, _PAGE, account_id, limit, offset)
    return [Position(**row) for row in rows], total


async def draw(tx: Tx, account_id: int, draws: Sequence[Draw]) -> None:
    """Take out of unlocked positions of a locked account; each covers its draw, as was decided under the lock."""
    ids, amounts = [one.position.id for one in draws], [one.amount for one in draws]
    drawn = await tx.fetch(_DRAW, account_id, ids, amounts)
    assert len(drawn) == len(draws), "a position changed although its account is locked"


async def count_reward(tx: Tx, account_id: int, earned: int, counted: Sequence[Position]) -> Minor:
    """Add the rewards of these positions to the amount due to the account; returns all that is due."""
    ids, seconds = [one.id for one in counted], [one.unrewarded_seconds for one in counted]
    return Minor(await tx.fetchval(_COUNT_REWARD, account_id, earned, ids, seconds))


async def take_reward(tx: Tx, account_id: int, paid: Minor) -> Minor:
    """Lower the amount due by the amount paid; returns the rest."""
    left = await tx.fetchval(_TAKE_REWARD, account_id, paid)
    assert left is not None, "more was paid than is due"
    return Minor(left)


async def set_compounding(tx: Tx, account_id: int, number: int, *, auto_compound: bool) -> bool:
    """Set what happens with the rewards of an active position of a locked account; False where it is released."""
    return await tx.fetchval(_SET_COMPOUNDING, account_id, number, auto_compound) is not None


async def compound(tx: Tx, account_id: int, added: Sequence[Compounded]) -> None:
    """Add rewards to positions of a locked account, and count the seconds that earned them."""
    ids, amounts = [one.position.id for one in added], [one.added for one in added]
    seconds = [one.position.unrewarded_seconds for one in added]
    grown = await tx.fetch(_COMPOUND, account_id, ids, amounts, seconds)
    assert len(grown) == len(added), "a position changed although its account is locked"


async def due_to_compound(tx: Tx, after: int, most: int) -> list[asyncpg.Record]:
    """Ids and DIDs of the next active accounts with a position to compound whose reward is a day old."""
    rows: list[asyncpg.Record] = await tx.fetch(_DUE_TO_COMPOUND, after, most)
    return rows


async def has_due_to_compound(tx: Tx) -> bool:
    """Return whether there is such an account."""
    return bool(await due_to_compound(tx, 0, 1))


async def holdings(tx: Tx, did: str) -> Holdings | None:
    """Return the balances of an account, or None for an unknown DID."""
    row = await tx.fetchrow(HOLDINGS, did)
    return Holdings(**row) if row else None


async def totals(tx: Tx, account_id: int) -> Totals:
    """Return the totals of an account since its first stake."""
    row = await tx.fetchrow(_TOTALS, account_id)
    assert row is not None
    return Totals(**row)


async def page_of_history(
    tx: Tx, account_id: int, *, limit: int, offset: int
) -> tuple[list[HistoryLine], int]:
    """Stakes, releases and rewards, newest first; and how many there are."""
    rows = await tx.fetch(_HISTORY, account_id, limit, offset)
    return [HistoryLine(**row) for row in rows], await tx.fetchval(_COUNT_HISTORY, account_id)


async def global_totals(tx: Tx) -> GlobalTotals:
    """The stakes of all agents together."""
    row = await tx.fetchrow(_GLOBAL_TOTALS)
    assert row is not None
    return GlobalTotals(**row)


async def gaps(tx: Tx) -> list[StakeGap]:
    """Return the accounts whose staked balance differs from the sum of their active positions; none, unless somebody tampered."""
    return [StakeGap(**row) for row in await tx.fetch(_GAPS)]
