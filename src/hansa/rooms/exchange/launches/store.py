"""The SQL of launches and their subscriptions. Every act on subscriptions holds the row of their listing."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import agents

from .records import Earlier, Subscription

HOLD_KIND = "exchange_order"

_COLUMNS = ", ".join(f"s.{name}" for name in Subscription.__struct_fields__)

_NEXT = "UPDATE exchange_listing SET seq = seq + 1 WHERE ref = $1 RETURNING seq"

_OPEN = """
UPDATE exchange_listing SET status = 'LAUNCHING'
WHERE ref = $1 AND status = 'APPROVED' AND opens_at <= clock_timestamp() AND clock_timestamp() < closes_at RETURNING true
"""

_INSERT = f"""
INSERT INTO exchange_subscription AS s (id, ref, seq, agent_did, owner, qty, hold_id, is_counted, capability_id, grant_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (ref, agent_did) WHERE status <> 'cancelled' DO NOTHING RETURNING {_COLUMNS}
"""  # noqa: S608

_EARLIER = """
SELECT count(*) FILTER (WHERE agent_did = $2) AS of_agent,
  coalesce(sum(qty) FILTER (WHERE owner = $3 AND status = 'subscribed'), 0)::bigint AS points_of_owner
FROM exchange_subscription WHERE ref = $1 AND (agent_did = $2 OR owner = $3)
"""

_NEWEST_OF = f"""
SELECT {_COLUMNS} FROM exchange_subscription s WHERE s.ref = $1 AND s.agent_did = $2 ORDER BY s.seq DESC LIMIT 1
"""  # noqa: S608

_CANCEL = f"""
UPDATE exchange_subscription AS s SET status = 'cancelled', settled_at = clock_timestamp()
WHERE s.id = $1 AND s.status = 'subscribed' RETURNING {_COLUMNS}
"""  # noqa: S608

_SUBSCRIBED = """
SELECT id, agent_did, qty FROM exchange_subscription WHERE ref = $1 AND status = 'subscribed' ORDER BY seq
"""

_FIX = """
UPDATE exchange_subscription s SET status = $4, allocated = a.points
FROM unnest($2::uuid[], $3::bigint[]) AS a (id, points) WHERE s.id = a.id AND s.ref = $1 AND s.status = 'subscribed'
"""

_LAUNCH = """
UPDATE exchange_listing SET sold = $2::bigint, launched_at = clock_timestamp(), last_price = CASE WHEN $2::bigint > 0 THEN price END,
  ends_at = CASE WHEN $2::bigint > 0 THEN clock_timestamp() + make_interval(months => term_months) END
WHERE ref = $1 AND status = 'LAUNCHING' AND launched_at IS NULL RETURNING ends_at
"""

_POST = """
INSERT INTO exchange_point_posting (ref, seq, agent_did, delta, cause)
SELECT $1, $2, p.agent_did, p.delta, 'launch' FROM unnest($3::text[], $4::bigint[]) AS p (agent_did, delta)
"""

_HOLD = """
INSERT INTO exchange_holding (ref, agent_did, qty, cost)
SELECT $1, h.agent_did, h.qty, h.qty * $4::bigint FROM unnest($2::text[], $3::bigint[]) AS h (agent_did, qty)
"""

_UNSETTLED = f"""
SELECT {_COLUMNS} FROM exchange_subscription s WHERE s.ref = $1 AND s.settled_at IS NULL AND s.status <> 'subscribed'
ORDER BY s.seq LIMIT $2 FOR NO KEY UPDATE
"""  # noqa: S608

_SETTLE = """
UPDATE exchange_subscription SET settled_at = clock_timestamp() WHERE id = ANY ($1) AND settled_at IS NULL
"""

_HAS_UNSETTLED = "SELECT EXISTS (SELECT FROM exchange_subscription WHERE ref = $1 AND settled_at IS NULL)"

_LIVE_OF_AGENT = (
    "SELECT ref FROM exchange_subscription WHERE agent_did = $1 AND status = 'subscribed' ORDER BY ref"
)


_HOLD_GAPS = """
SELECT s.id::text AS gap FROM exchange_subscription s JOIN exchange_listing l ON l.ref = s.ref
LEFT JOIN ledger_open_holds($1) h ON h.hold_id = s.hold_id AND h.owner_id = s.id::text AND h.amount = s.qty * l.price
  AND h.remaining = h.amount
WHERE s.settled_at IS NULL AND h.hold_id IS NULL ORDER BY 1 LIMIT $2
"""


async def next_seq(tx: Tx, ref: str) -> int:
    """Draw a number of a locked listing."""
    seq: int = await tx.fetchval(_NEXT, ref)
    return seq


async def open_launch(tx: Tx, ref: str) -> bool:
    """Open the launch of an approved listing whose time has come; False where it is not."""
    return bool(await tx.fetchval(_OPEN, ref))


async def insert(
    tx: Tx,
    ref: str,
    seq: int,
    agent: Any,
    *,
    subscription_id: UUID,
    qty: int,
    hold_id: int,
    budget: agents.HeldBudget,
) -> Subscription | None:
    """Write a subscription; None where the agent has one."""
    row = await tx.fetchrow(
        _INSERT,
        subscription_id,
        ref,
        seq,
        agent.did,
        agent.owner.name,
        qty,
        hold_id,
        budget.is_counted,
        budget.capability_id,
        budget.grant_id,
    )
    return None if row is None else Subscription(**row)


async def earlier(tx: Tx, ref: str, did: str, owner: str) -> Earlier:
    """Count what an agent and its owner have subscribed of a locked listing."""
    row = await tx.fetchrow(_EARLIER, ref, did, owner)
    assert row is not None
    return Earlier(**row)


async def newest_of(tx: Tx, ref: str, did: str) -> Subscription | None:
    """The newest subscription of an agent, in any status."""
    row = await tx.fetchrow(_NEWEST_OF, ref, did)
    return None if row is None else Subscription(**row)


async def cancel(tx: Tx, subscription_id: UUID) -> Subscription | None:
    """Cancel a subscription of a locked listing; None where it has ended."""
    row = await tx.fetchrow(_CANCEL, subscription_id)
    return None if row is None else Subscription(**row)


async def subscribed(tx: Tx, ref: str) -> list[asyncpg.Record]:
    """Id, agent and quantity of the subscriptions that were not cancelled, in their order."""
    found: list[asyncpg.Record] = await tx.fetch(_SUBSCRIBED, ref)
    return found


async def fix(tx: Tx, ref: str, ids: Sequence[UUID], points: Sequence[int], status: str) -> None:
    """Fix the points of these subscriptions of a locked listing."""
    await tx.execute(_FIX, ref, ids, points, status)


async def launch(tx: Tx, ref: str, sold: int) -> None:
    """Write the number of points that the launch of a locked listing has sold."""
    await tx.execute(_LAUNCH, ref, sold)


async def issue(tx: Tx, ref: str, dids: Sequence[str], points: Sequence[int], price: Minor) -> None:
    """Issue points of a locked listing to agents: one movement, and their holdings."""
    seq = await next_seq(tx, ref)
    await tx.execute(_POST, ref, seq, ["", *dids], [-sum(points), *points])
    await tx.execute(_HOLD, ref, dids, points, price)


async def unsettled(tx: Tx, ref: str, most: int) -> list[Subscription]:
    """Lock the first subscriptions whose holds have yet to end."""
    return [Subscription(**row) for row in await tx.fetch(_UNSETTLED, ref, most)]


async def settle(tx: Tx, ids: Sequence[UUID]) -> None:
    """Note that the holds of these subscriptions have ended."""
    await tx.execute(_SETTLE, ids)


async def has_unsettled(tx: Tx, ref: str) -> bool:
    """Return whether a subscription has a hold that has yet to end."""
    found: bool = await tx.fetchval(_HAS_UNSETTLED, ref)
    return found


async def live_of_agent(tx: Tx, did: str) -> list[str]:
    """The listings to whose launch the agent has subscribed, in order."""
    return [row["ref"] for row in await tx.fetch(_LIVE_OF_AGENT, did)]


async def hold_gaps(tx: Tx, most: int) -> list[str]:
    """Subscriptions that have yet to be settled and have no open hold of their whole price."""
    return [row["gap"] for row in await tx.fetch(_HOLD_GAPS, HOLD_KIND, most)]
