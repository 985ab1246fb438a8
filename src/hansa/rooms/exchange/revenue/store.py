"""The SQL of revenue, levies and distributions. Whoever writes a row of a listing here has locked the listing."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .records import Counting, Distribution, LeviedDay, Levy, Revenue

COUNTED = "exchange_revenue_counted WHERE EXISTS (SELECT FROM exchange_revenue WHERE NOT is_over)"
"""The only row with the place of the counting; none while no revenue is counted."""

_BEGIN = "INSERT INTO exchange_revenue (ref, from_position) VALUES ($1, plumbing_position())"

_END_TERM = """
UPDATE exchange_revenue SET to_position = plumbing_position() WHERE ref = $1 AND to_position IS NULL RETURNING true
"""

_COUNTING = """
SELECT r.ref, r.from_position, r.to_position, ARRAY(SELECT a.did FROM agents_of_organization(l.organization_id) a) AS accounts
FROM exchange_revenue r JOIN exchange_listing l USING (ref) WHERE NOT r.is_over ORDER BY r.ref
"""

_ADD = """
INSERT INTO exchange_credit AS c (ref, payer, amount)
SELECT w.ref, w.payer, sum(w.amount) FROM unnest($1::text[], $2::text[], $3::numeric[]) w (ref, payer, amount)
GROUP BY w.ref, w.payer ORDER BY w.ref, w.payer
ON CONFLICT (ref, payer) DO UPDATE SET amount = c.amount + excluded.amount
"""

_TODAY = "(clock_timestamp() AT TIME ZONE 'UTC')::date"

# The levy of yesterday is due where none was made for it; the last levy once the term has ended.
_DUE = f"""
NOT r.is_over AND (r.to_position IS NOT NULL OR coalesce(r.levied_on, r.launched_on - 1) < {_TODAY} - 1)
"""
_WAITING = f"FROM exchange_revenue r JOIN exchange_listing l USING (ref) WHERE {_DUE} OR l.arrears > 0"
HAS_WAITING = Question(f"SELECT EXISTS (SELECT {_WAITING})")
"""Condition that a levy is due, or an organization is in arrears."""

_FIND = f"""
SELECT r.ref, l.organization_id, l.treasury_did, l.total, l.revenue_bps, l.sold - l.given_up AS held, l.arrears, r.launched_on,
  r.levied_on, r.to_position, r.is_over, r.remainder, r.carried, {_TODAY} AS today
FROM exchange_revenue r JOIN exchange_listing l USING (ref) WHERE r.ref = $1
"""  # noqa: S608

# Payers of other registries are related to nobody here.
_TAKE_CREDITS = """
WITH taken AS (DELETE FROM exchange_credit WHERE ref = $1 RETURNING payer, amount)
SELECT coalesce(sum(t.amount), 0) FROM taken t LEFT JOIN LATERAL agents_related(t.payer, $2) a ON true
WHERE a.related IS NOT TRUE
"""

_LEVY = """
INSERT INTO exchange_levy (ref, day, revenue, held, due, taken, arrears) VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_LEVIED = "UPDATE exchange_revenue SET levied_on = $2, is_over = to_position IS NOT NULL, remainder = $3 WHERE ref = $1"

_SET_ARREARS = "UPDATE exchange_listing SET arrears = $2 WHERE ref = $1"

_DISTRIBUTE = "UPDATE exchange_revenue SET per_point = per_point + $2, carried = $3 WHERE ref = $1"

_OWED = "exchange_owed(h.owed, h.qty, h.settled, r.per_point)"

_OWED_REFS = f"""
SELECT h.ref FROM exchange_holding h JOIN exchange_revenue r USING (ref) WHERE h.agent_did = $1 AND {_OWED} > 0 ORDER BY h.ref
"""  # noqa: S608

_OWED_AT = f"""
SELECT h.agent_did FROM exchange_holding h JOIN exchange_revenue r USING (ref)
WHERE h.ref = $1 AND h.agent_did > $2 AND {_OWED} >= $3 ORDER BY h.agent_did LIMIT $4
"""  # noqa: S608

_TAKE_OWED = f"""
WITH due AS (
  SELECT h.ref, h.agent_did, {_OWED} AS amount, r.per_point FROM exchange_holding h JOIN exchange_revenue r USING (ref)
  WHERE h.ref = $1 AND h.agent_did = ANY ($2) ORDER BY h.agent_did FOR NO KEY UPDATE OF h
)
UPDATE exchange_holding h SET owed = 0, settled = due.per_point FROM due
WHERE h.ref = due.ref AND h.agent_did = due.agent_did AND due.amount > 0 RETURNING h.agent_did, due.amount
"""  # noqa: S608

_POST = """
INSERT INTO exchange_point_posting (ref, seq, agent_did, delta, cause)
SELECT $1, $2, w.agent_did, w.delta, $5 FROM unnest($3::text[], $4::bigint[]) w (agent_did, delta)
"""

_GIVE_UP = "UPDATE exchange_listing SET given_up = given_up + $2 WHERE ref = $1"

_LEVIED_OF = """
SELECT l.ref FROM exchange_listing l JOIN exchange_revenue r USING (ref)
WHERE l.organization_id = $1 AND (NOT r.is_over OR l.arrears > 0) ORDER BY l.ref LIMIT 1
"""

_LEVIES = """
SELECT day, revenue, held, due, taken, arrears FROM exchange_levy WHERE ref = $1 ORDER BY day DESC LIMIT $2
"""

_ARREARS_OF = "SELECT coalesce(sum(arrears), 0)::bigint FROM exchange_listing WHERE organization_id = $1 AND arrears > 0"

_OWED_OF_LISTINGS = f"""
SELECT l.ref, l.treasury_did, l.status, l.sold - l.given_up AS held, r.carried, l.arrears, (
  SELECT coalesce(sum({_OWED}), 0)::bigint FROM exchange_holding h WHERE h.ref = r.ref
) AS owed FROM exchange_revenue r JOIN exchange_listing l USING (ref) ORDER BY l.ref
"""  # noqa: S608


async def begin(tx: Tx, ref: str) -> None:
    """Count revenue of a listing from this transaction on."""
    await tx.execute(_BEGIN, ref)


async def end_term(tx: Tx, ref: str) -> bool:
    """End the term of a locked listing: revenue up to this transaction is levied once more. False where it has ended."""
    return bool(await tx.fetchval(_END_TERM, ref))


async def lock_counted(tx: Tx) -> int:
    """The transaction before which all credits are counted; others that count wait."""
    before_xid: int = await tx.fetchval("SELECT before_xid FROM exchange_revenue_counted FOR UPDATE")
    return before_xid


async def counted(tx: Tx) -> int:
    """The transaction before which all credits are counted."""
    before_xid: int = await tx.fetchval("SELECT before_xid FROM exchange_revenue_counted")
    return before_xid


async def set_counted(tx: Tx, before_xid: int) -> None:
    """All credits before this transaction are counted."""
    await tx.execute("UPDATE exchange_revenue_counted SET before_xid = $1", before_xid)


async def counting(tx: Tx) -> list[Counting]:
    """The listings whose last levy has yet to be made."""
    return [Counting(**row) for row in await tx.fetch(_COUNTING)]


async def add(tx: Tx, received: Sequence[tuple[str, str, int]]) -> None:
    """Add credits to those that wait for the next levy: listing, payer and amount of each."""
    if received:
        refs, payers, amounts = zip(*received, strict=True)
        await tx.execute(_ADD, list(refs), list(payers), [Decimal(amount) for amount in amounts])


async def waiting(tx: Tx) -> list[str]:
    """The listings with a levy that is due, or with arrears."""
    return [row["ref"] for row in await tx.fetch(f"SELECT r.ref {_WAITING} ORDER BY r.ref")]


async def find(tx: Tx, ref: str) -> Revenue | None:
    """The revenue of a listing; None before its launch has closed."""
    row = await tx.fetchrow(_FIND, ref)
    return None if row is None else Revenue(**row)


async def take_credits(tx: Tx, ref: str, treasury_did: str) -> int:
    """Delete the credits that wait for this levy, and return the sum of those whose payer is not related to the organization."""
    return int(await tx.fetchval(_TAKE_CREDITS, ref, treasury_did))


async def levied(tx: Tx, of: Revenue, day: date, levy: Levy) -> None:
    """Write the levy of a day."""
    await tx.execute(_LEVY, of.ref, day, Decimal(levy.revenue), of.held, levy.due, levy.taken, levy.arrears)
    await tx.execute(_LEVIED, of.ref, day, levy.remainder)


async def set_arrears(tx: Tx, ref: str, arrears: Minor) -> None:
    """Write the arrears of a locked listing."""
    await tx.execute(_SET_ARREARS, ref, arrears)


async def distribute(tx: Tx, ref: str, distribution: Distribution) -> None:
    """Give each point of a locked listing its share."""
    await tx.execute(_DISTRIBUTE, ref, Decimal(distribution.per_point), distribution.carried)


async def refs_owed(tx: Tx, did: str) -> list[str]:
    """The listings of which an agent is owed distributions."""
    return [row["ref"] for row in await tx.fetch(_OWED_REFS, did)]


async def owed_at(tx: Tx, ref: str, after: str, least: Minor, most: int) -> list[str]:
    """The first agents behind this one that are owed so much of a listing."""
    return [row["agent_did"] for row in await tx.fetch(_OWED_AT, ref, after, least, most)]


async def take_owed(tx: Tx, ref: str, dids: Sequence[str]) -> Mapping[str, Minor]:
    """Settle the holdings of these agents at a locked listing, and return what is to be paid to each that is owed something."""
    rows = await tx.fetch(_TAKE_OWED, ref, list(dids))
    return {row["agent_did"]: Minor(row["amount"]) for row in rows}


async def post(tx: Tx, ref: str, seq: int, moves: Mapping[str, int], cause: str) -> None:
    """Write the postings of one movement of points; the side of the listing has the empty DID."""
    await tx.execute(_POST, ref, seq, list(moves), list(moves.values()), cause)


async def give_up(tx: Tx, ref: str, qty: int) -> None:
    """Count points of a locked listing that its holder gave up."""
    await tx.execute(_GIVE_UP, ref, qty)


async def levied_of(tx: Tx, organization_id: UUID) -> str | None:
    """A listing of the organization whose revenue is still levied, or that is in arrears."""
    ref: str | None = await tx.fetchval(_LEVIED_OF, organization_id)
    return ref


async def arrears_of(tx: Tx, organization_id: UUID) -> Minor:
    """The arrears of an organization at all its listings."""
    return Minor(await tx.fetchval(_ARREARS_OF, organization_id))


async def newest_levies(tx: Tx, ref: str, most: int) -> list[LeviedDay]:
    """The newest levies of a listing, the newest first."""
    rows = await tx.fetch(_LEVIES, ref, most)
    return [LeviedDay(**{**row, "revenue": int(row["revenue"])}) for row in rows]


async def owed_of_listings(tx: Tx) -> list[asyncpg.Record]:
    """Points, arrears, and units that are owed and carried, of every listing that was launched."""
    rows: list[asyncpg.Record] = await tx.fetch(_OWED_OF_LISTINGS)
    return rows
