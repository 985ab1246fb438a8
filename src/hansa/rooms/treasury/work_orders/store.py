"""The SQL of work orders and bids.

Locks: the organization's row, then the work order, then its bids; every act on bids holds the row of their order. An order leaves OPEN by one
conditional UPDATE.
"""

import json
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import Minor
from hansa.rooms import commerce

from .records import Bid, EarlierBids, HoldGap, NewBid, OpenedOrder, WorkOrder

HOLD_KIND = "treasury_work_order"
GAPS_MAX = 100

_NAMES = [name for name in WorkOrder.__struct_fields__ if name != "now"]
COLUMNS = f"{', '.join(f'w.{name}' for name in _NAMES)}, clock_timestamp() AS now"

_INSERT = f"""
INSERT INTO treasury_work_order AS w (id, organization_id, treasury_did, opened_by, title, spec, acceptance_criteria, amount, milestones,
  skills, skill_keys, words, bids_until, expires_at, submit_days, review_days, auto_approve, hold_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, to_tsvector('simple', $12), $13, $14, $15, $16, $17, $18)
RETURNING {COLUMNS}
"""  # noqa: S608

_FIND = f"SELECT {COLUMNS} FROM treasury_work_order w WHERE w.id = $1"  # noqa: S608

_OF_ORGANIZATION = f"""
SELECT {COLUMNS} FROM treasury_work_order w WHERE w.organization_id = $1 ORDER BY w.created_at DESC, w.id LIMIT $2
"""  # noqa: S608

_COUNT_OPEN = "SELECT count(*) FROM treasury_work_order WHERE organization_id = $1 AND status = 'OPEN'"

_END = """
UPDATE treasury_work_order SET status = $2, contract_id = $3, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'OPEN' RETURNING true
"""

_BID = "b.id, b.work_order_id, b.provider_did, b.price, b.eta_seconds, b.pitch, b.status, b.created_at"

_INSERT_BID = f"""
INSERT INTO treasury_work_bid AS b (id, work_order_id, amount, provider_did, owner, price, eta_seconds, pitch)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (work_order_id, provider_did) WHERE status = 'live' DO NOTHING RETURNING {_BID}
"""  # noqa: S608

_COUNT_BID = "UPDATE treasury_work_order SET bid_count = bid_count + $2 WHERE id = $1"

_BIDS = """
FROM treasury_work_bid b WHERE b.work_order_id = $1 AND ($2::text IS NULL OR b.provider_did = $2)
"""

_PAGE_OF_BIDS = with_total(
    f"SELECT {_BID} {_BIDS} ORDER BY b.created_at, b.id LIMIT $3 OFFSET $4",
    f"SELECT count(*) {_BIDS}",
)

_COUNT_EARLIER = """
SELECT count(*) FILTER (WHERE provider_did = $2) AS of_agent, count(*) FILTER (WHERE owner = $3) AS of_owner
FROM treasury_work_bid WHERE work_order_id = $1 AND (provider_did = $2 OR owner = $3)
"""

_END_BID = """
UPDATE treasury_work_bid SET status = $2, ended_at = clock_timestamp() WHERE id = $1 AND status = 'live' RETURNING true
"""

_LOSE = """
UPDATE treasury_work_bid SET status = 'lost', ended_at = clock_timestamp() WHERE work_order_id = $1 AND status = 'live'
RETURNING id, provider_did
"""

_BID_ON = """
SELECT w.id FROM treasury_work_order w
WHERE w.id IN (SELECT b.work_order_id FROM treasury_work_bid b WHERE b.provider_did = $1 AND b.status = 'live')
ORDER BY w.id FOR NO KEY UPDATE
"""

_WITHDRAW_OF = """
UPDATE treasury_work_bid SET status = 'withdrawn', ended_at = clock_timestamp()
WHERE provider_did = $1 AND work_order_id = ANY ($2) AND status = 'live' RETURNING work_order_id
"""

_UNCOUNT = "UPDATE treasury_work_order SET bid_count = bid_count - 1 WHERE id = ANY ($1)"

_HIDE = """
UPDATE treasury_work_order SET is_hidden = $2 WHERE id IN (
  SELECT id FROM treasury_work_order WHERE treasury_did = $1 AND is_hidden <> $2 ORDER BY id FOR NO KEY UPDATE)
"""

_GAPS = """
SELECT coalesce(w.id::text, h.owner_id) AS work_order_id, coalesce(w.hold_id, h.hold_id) AS hold_id
FROM (SELECT id, hold_id, amount FROM treasury_work_order WHERE status = 'OPEN') w
FULL JOIN ledger_open_holds($1) h
  ON h.hold_id = w.hold_id AND h.owner_id = w.id::text AND h.amount = w.amount AND h.remaining = h.amount + h.fee_held
WHERE w.id IS NULL OR h.hold_id IS NULL ORDER BY 1 LIMIT $2
"""


async def insert(tx: Tx, opened: OpenedOrder) -> WorkOrder:
    """Write an open work order."""
    new = opened.new
    row = await tx.fetchrow(
        _INSERT,
        opened.id,
        opened.organization_id,
        opened.treasury_did,
        opened.opened_by,
        new.title,
        new.spec,
        new.acceptance_criteria,
        new.amount,
        json.dumps([{"title": one.title, "amount": one.amount} for one in new.milestones]),
        list(new.skills),
        [skill.lower() for skill in new.skills],
        "\n".join((new.title, *new.skills, new.spec)),
        new.bids_until,
        new.bids_until + opened.binding,
        new.submit_days,
        new.review_days,
        new.auto_approve,
        opened.hold_id,
    )
    assert row is not None
    return as_order(row)


async def find(tx: Tx, order_id: UUID) -> WorkOrder | None:
    """One work order."""
    row = await tx.fetchrow(_FIND, order_id)
    return None if row is None else as_order(row)


async def orders_of(tx: Tx, organization_id: UUID, limit: int) -> list[WorkOrder]:
    """The newest work orders of an organization."""
    return [as_order(row) for row in await tx.fetch(_OF_ORGANIZATION, organization_id, limit)]


async def lock(tx: Tx, order_id: UUID) -> WorkOrder | None:
    """One work order, as it is once no other act has it."""
    await tx.execute("SELECT FROM treasury_work_order WHERE id = $1 FOR NO KEY UPDATE", order_id)
    return await find(tx, order_id)


async def count_open(tx: Tx, organization_id: UUID) -> int:
    """The number of open work orders of an organization."""
    count: int = await tx.fetchval(_COUNT_OPEN, organization_id)
    return count


async def end(
    tx: Tx, order_id: UUID, status: str, contract_id: int | None = None
) -> list[tuple[UUID, str]] | None:
    """End a locked, open work order, and return the live bids that are lost by it, each with its agent; None when it is not open."""
    if not await tx.fetchval(_END, order_id, status, contract_id):
        return None
    return sorted((row["id"], row["provider_did"]) for row in await tx.fetch(_LOSE, order_id))


async def insert_bid(tx: Tx, order: WorkOrder, bid_id: UUID, agent: Agent, new: NewBid) -> Bid | None:
    """Write a live bid on a locked work order; None where the agent has one."""
    row = await tx.fetchrow(
        _INSERT_BID,
        bid_id,
        order.id,
        order.amount,
        agent.did,
        agent.owner.name,
        new.price,
        new.eta_seconds,
        new.pitch,
    )
    if row is None:
        return None
    await tx.execute(_COUNT_BID, order.id, 1)
    return Bid(**row)


async def find_bid(tx: Tx, order_id: UUID, bid_id: UUID) -> Bid | None:
    """One bid on the work order."""
    row = await tx.fetchrow(
        f"SELECT {_BID} FROM treasury_work_bid b WHERE b.work_order_id = $1 AND b.id = $2",  # noqa: S608
        order_id,
        bid_id,
    )
    return None if row is None else Bid(**row)


async def bids_of(
    tx: Tx, order_id: UUID, provider_did: str | None, *, limit: int, offset: int
) -> tuple[list[Bid], int]:
    """A page of the bids, of one agent or of all, the oldest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE_OF_BIDS, order_id, provider_did, limit, offset)
    return [Bid(**row) for row in rows], total


async def count_bids_of(tx: Tx, order_id: UUID, agent: Agent) -> EarlierBids:
    """Count the bids on a locked work order, in any status."""
    row = await tx.fetchrow(_COUNT_EARLIER, order_id, agent.did, agent.owner.name)
    assert row is not None
    return EarlierBids(**row)


async def win(tx: Tx, bid_id: UUID) -> bool:
    """Let a live bid win; False when it is not live."""
    return bool(await tx.fetchval(_END_BID, bid_id, "won"))


async def withdraw(tx: Tx, bid: Bid) -> bool:
    """Withdraw a live bid on a locked work order; False when it is not live."""
    if not await tx.fetchval(_END_BID, bid.id, "withdrawn"):
        return False
    await tx.execute(_COUNT_BID, bid.work_order_id, -1)
    return True


async def withdraw_all_of(tx: Tx, provider_did: str) -> None:
    """Withdraw every live bid of an agent."""
    orders = [row["id"] for row in await tx.fetch(_BID_ON, provider_did)]
    withdrawn = await tx.fetch(_WITHDRAW_OF, provider_did, orders)
    await tx.execute(_UNCOUNT, [row["work_order_id"] for row in withdrawn])


async def hide(tx: Tx, treasury_did: str, *, is_hidden: bool) -> None:
    """Leave the work orders of an organization out of the board, or list them again."""
    await tx.execute(_HIDE, treasury_did, is_hidden)


async def gaps(tx: Tx) -> list[HoldGap]:
    """Return open work orders and open holds that do not belong to each other, the first of them."""
    return [HoldGap(**row) for row in await tx.fetch(_GAPS, HOLD_KIND, GAPS_MAX)]


def as_order(row: asyncpg.Record | dict[str, Any]) -> WorkOrder:
    """Return the work order of a row with the columns of `COLUMNS`."""
    members = dict(row)
    parts = json.loads(members.pop("milestones"))
    milestones = tuple(
        commerce.Milestone(index, one["title"], Minor(one["amount"]), None) for index, one in enumerate(parts)
    )
    members |= {"skills": tuple(members["skills"]), "milestones": milestones}
    return WorkOrder(**members)
