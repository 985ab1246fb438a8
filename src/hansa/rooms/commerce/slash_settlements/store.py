"""Every SQL statement of settlements. A settlement is locked before agents, bonds and accounts are.

The SQL of payments on which slashes of peers rest.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import transfers

from . import settlement as protocol
from .records import Kept
from .settlement import Claim, Direction, Settlement, Status

CHAIN_ENTRY = "slash_settled"
FIRST_PAUSE_SECONDS = 2
LONGEST_PAUSE_SECONDS = 600
SHOWN_MAX_CHARACTERS = 500_000
"""Of an award that was paid: a message with it inside is a message that the other registry reads."""
_USED = "SELECT transfer_id FROM commerce_slashed_payment WHERE peer = $1 AND transfer_id = ANY ($2)"
_USE = """
INSERT INTO commerce_slashed_payment (peer, transfer_id, settlement_id) SELECT $1, id, $2 FROM unnest($3::uuid[]) AS id
ON CONFLICT DO NOTHING
"""


UNCOLLECTED_PAUSE_SECONDS = 86_400
"""The longest pause where the defendant had nothing left: units that come later are collected within a day."""
_ADD = """
INSERT INTO commerce_settlement (direction, peer, frame, dispute_id, defendant_did, complainant_did, amount, currency, status,
  auto_approved, compensation, reason, message, expires_at, decided_at, next_at, rate_own, rate_foreign, slashed_amount, payment)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, to_timestamp($14),
  CASE WHEN $9 <> 'PENDING_SLASH' THEN clock_timestamp() END, CASE WHEN $15 THEN clock_timestamp() END, $16, $17, $18, $19)
RETURNING settlement_id
"""
_WRITE = """
UPDATE commerce_settlement SET status = $2, slashed_amount = $3, peer_tx_id = $4, reason = $5, is_closed = $6,
  tx_id = coalesce($7, tx_id), outcome = coalesce($8, outcome), compensated = coalesce($9, compensated),
  decided_at = CASE WHEN status <> $2 THEN clock_timestamp() ELSE decided_at END,
  next_at = CASE WHEN $10 THEN clock_timestamp() WHEN $6 THEN NULL ELSE next_at END,
  tries = CASE WHEN $10 THEN 0 ELSE tries END,
  uncollected_since = CASE WHEN $2 NOT IN ('SLASHED', 'SETTLED') THEN uncollected_since END, amount = $11, compensation = $12
WHERE settlement_id = $1
"""
_TAKE_DUE = f"""
UPDATE commerce_settlement SET tries = tries + 1, next_at = clock_timestamp()
  + make_interval(secs => least({FIRST_PAUSE_SECONDS} * 2 ^ least(tries, 16),
    CASE WHEN uncollected_since IS NULL THEN {LONGEST_PAUSE_SECONDS} ELSE {UNCOLLECTED_PAUSE_SECONDS} END))
WHERE settlement_id IN (SELECT settlement_id FROM commerce_settlement
  WHERE peer = $1 AND direction = $2 AND next_at <= clock_timestamp() ORDER BY next_at LIMIT $3 FOR UPDATE)
RETURNING *
"""  # noqa: S608
_REOPEN = """
UPDATE commerce_settlement SET next_at = clock_timestamp(), tries = 0
WHERE peer = $1 AND is_closed AND (direction = 'outgoing' OR status = 'SETTLED' AND (direction = 'awarded'
    OR direction = 'owed' AND payment IS NOT NULL AND length(message) <= $2))
  AND written_off_reason IS NULL
"""
# Of this dispute, or of the same payment under another number.
_ABOUT = """
SELECT * FROM commerce_settlement WHERE peer = $1 AND direction = $2
  AND (dispute_id = $3 OR complainant_did = $4 AND payment = $5) ORDER BY status = 'SETTLED' DESC, dispute_id LIMIT 1 FOR UPDATE
"""
_SLASHED_BEFORE = """
SELECT * FROM commerce_settlement WHERE peer = $1 AND direction = 'incoming' AND dispute_id <> $2 AND complainant_did = $3
  AND defendant_did = $4 AND payment = $5 AND status IN ('SLASHED', 'SETTLED') ORDER BY dispute_id LIMIT 1
"""
_SHOW = """
UPDATE commerce_settlement SET next_at = clock_timestamp() + make_interval(secs => $2), tries = 0
WHERE settlement_id = $1 AND payment IS NOT NULL AND length(message) <= $3 AND written_off_reason IS NULL
"""
_COMPENSATED_BEFORE = """
SELECT coalesce(sum(s.compensation), 0)::bigint FROM commerce_settlement s
WHERE s.direction = 'awarded' AND s.payment = ANY($1) AND s.status = 'SETTLED'
  AND NOT EXISTS (SELECT FROM commerce_dispute d WHERE d.id = s.dispute_id AND d.status = 'CLOSED')
"""
_NOTE_UNCOLLECTED = """
UPDATE commerce_settlement SET uncollected_since = coalesce(uncollected_since, clock_timestamp()) WHERE settlement_id = $1
"""
_WRITE_OFF = """
UPDATE commerce_settlement SET written_off_reason = $2, next_at = NULL
WHERE settlement_id = $1 AND direction IN ('outgoing', 'owed') AND is_closed AND uncollected_since IS NOT NULL AND written_off_reason IS NULL
"""
_APPROVED_OF_DAY = """
SELECT coalesce(sum(amount), 0) FROM commerce_settlement
WHERE peer = $1 AND auto_approved AND decided_at > clock_timestamp() - interval '24 hours'
"""
# All but the messages, each of which may have some hundred kilobytes.
_LIST = """
SELECT settlement_id, direction, peer, frame, dispute_id, defendant_did, complainant_did, amount, currency, status, auto_approved,
  slashed_amount, compensation, compensated, tx_id, peer_tx_id, reason, is_closed, created_at, expires_at, decided_at, rate_own,
  rate_foreign, uncollected_since, written_off_reason, payment, count(*) OVER () AS total
FROM commerce_settlement
WHERE ($1::text IS NULL OR direction = $1) AND ($2::text IS NULL OR status = $2)
ORDER BY settlement_id DESC LIMIT $3 OFFSET $4
"""
_COUNT = """
SELECT count(*) FROM commerce_settlement
WHERE ($1::text IS NULL OR direction = $1) AND ($2::text IS NULL OR status = $2)
"""
_REFUSED = """
SELECT count(*) FROM (
  SELECT FROM commerce_settlement WHERE peer = $1 AND direction IN ('incoming', 'owed') AND status = 'FAILED' LIMIT $2) AS kept
"""

_PEERS_DUE = "SELECT DISTINCT peer FROM commerce_settlement WHERE next_at <= clock_timestamp()"
HAS_PEER_DUE = Question(f"SELECT EXISTS ({_PEERS_DUE})")
"""Whether a peer is to be sent something now."""
_UNDECIDED = "(status = 'PENDING_SLASH' OR status = 'SLASHING' AND direction = 'outgoing')"
HAS_OVERDUE = Question(
    f"SELECT EXISTS (SELECT FROM commerce_settlement WHERE {_UNDECIDED} AND expires_at <= clock_timestamp())"  # noqa: S608
)
"""Whether the time of a settlement without a decision has passed."""


class Written(msgspec.Struct, frozen=True):
    """Columns that a step writes beside the state: the own transaction, the signed outcome, the issued units, and a message to be sent."""

    tx_id: int | None = None
    outcome: str | None = None
    compensated: int | None = None
    send: bool = False


NOTHING_MORE = Written()


async def add(tx: Tx, peer: str, frame: str, new: Settlement, message: str | None, *, is_due: bool) -> int:
    """Write a settlement, with the message of the peer that asked for it; a second one of the same peer, direction and dispute is a unique violation."""
    claim = new.claim
    settlement_id: int = await tx.fetchval(
        _ADD,
        new.direction.value,
        peer,
        frame,
        claim.dispute_id,
        claim.defendant_did,
        claim.complainant_did,
        claim.amount,
        claim.currency,
        new.status.value,
        new.is_auto_approved,
        new.compensation,
        new.reason,
        message,
        new.expires_at,
        is_due,
        Decimal(new.rate.numerator),
        Decimal(new.rate.denominator),
        new.slashed,
        new.payment,
    )
    return settlement_id


async def write(tx: Tx, settlement_id: int, after: Settlement, more: Written = NOTHING_MORE) -> None:
    """Write a step of a locked settlement."""
    await tx.execute(
        _WRITE,
        settlement_id,
        after.status.value,
        after.slashed,
        after.peer_tx_id,
        after.reason,
        after.is_closed,
        more.tx_id,
        more.outcome,
        more.compensated,
        more.send,
        after.claim.amount,
        after.compensation,
    )


async def find(tx: Tx, settlement_id: int, *, lock: bool = False) -> Kept | None:
    """A settlement by its own number."""
    statement = "SELECT * FROM commerce_settlement WHERE settlement_id = $1"
    row = await tx.fetchrow(statement + (" FOR UPDATE" if lock else ""), settlement_id)
    return None if row is None else kept(row)


async def of_dispute(tx: Tx, peer: str, direction: Direction, dispute_id: int) -> Kept | None:
    """A settlement by its dispute, locked."""
    row = await tx.fetchrow(
        "SELECT * FROM commerce_settlement WHERE peer = $1 AND direction = $2 AND dispute_id = $3 FOR UPDATE",
        peer,
        direction.value,
        dispute_id,
    )
    return None if row is None else kept(row)


async def about(tx: Tx, peer: str, direction: Direction, claim: Claim, payment: str | None) -> Kept | None:
    """A settlement of this dispute, or of the same payment and complainant; locked, a settled one first."""
    row = await tx.fetchrow(_ABOUT, peer, direction.value, claim.dispute_id, claim.complainant_did, payment)
    return None if row is None else kept(row)


async def slashed_before(tx: Tx, peer: str, claim: Claim, payment: str | None) -> Kept | None:
    """The slash that a peer asked for under another number about the same payment, and that was applied."""
    parties = (claim.complainant_did, claim.defendant_did)
    row = await tx.fetchrow(_SLASHED_BEFORE, peer, claim.dispute_id, *parties, payment)
    return None if row is None else kept(row)


async def show_paid(tx: Tx, settlement_id: int, *, in_seconds: float) -> bool:
    """Let the registry that ruled be shown its award that was paid here.

    False where it is not shown: it named no payment, is too long, or its lost award was written off.
    """
    return await tx.execute(_SHOW, settlement_id, in_seconds, SHOWN_MAX_CHARACTERS) == "UPDATE 1"


async def compensated_before(tx: Tx, names: Sequence[str]) -> int:
    """Return the units that peers paid about a payment with these names by awards whose rulings this registry has lost; minor units."""
    found: int = await tx.fetchval(_COMPENSATED_BEFORE, names)
    return found


async def lock_peer(tx: Tx, peer: str) -> None:
    """Take the requests of a peer one after the other, until the transaction ends."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('commerce settlements ' || $1, 0))", peer)


async def reopen(tx: Tx, peer: str) -> None:
    """Reopen the settlements with a peer after one of the two registries was restored.

    The peer is shown again its own decisions, the awards to its agents, and its awards that were paid.
    """
    await tx.execute(_REOPEN, peer, SHOWN_MAX_CHARACTERS)


async def note_uncollected(tx: Tx, settlement_id: int) -> None:
    """The units that were to be destroyed again are lacking; it is known since when."""
    await tx.execute(_NOTE_UNCOLLECTED, settlement_id)


async def write_off(tx: Tx, settlement_id: int, reason: str) -> bool:
    """End the claim on units that are lacking; false where there is none."""
    return await tx.execute(_WRITE_OFF, settlement_id, reason) == "UPDATE 1"


async def record(tx: Tx, kept: Kept, after: Settlement) -> None:
    """Append the effects of a settlement to the chain of the pair, which `transfers.lock_chain` has locked."""
    named = uuid5(NAMESPACE_URL, f"{kept.frame} {after.direction} {after.claim.dispute_id}")
    await transfers.record_in_chain(tx, kept.peer, CHAIN_ENTRY, named, protocol.digest_of(after))


async def approved_in_a_day(tx: Tx, peer: str) -> int:
    """Return the units approved automatically for this peer in the last 24 hours; minor units."""
    return int(await tx.fetchval(_APPROVED_OF_DAY, peer))


async def refused(tx: Tx, peer: str, most: int) -> int:
    """How many failed settlements of this peer are kept, counted up to `most`."""
    count: int = await tx.fetchval(_REFUSED, peer, most)
    return count


async def take_due(tx: Tx, peer: str, direction: Direction, most: int) -> list[Kept]:
    """Settlements about which the peer is sent something now; the next time is set."""
    return [kept(row) for row in await tx.fetch(_TAKE_DUE, peer, direction.value, most)]


async def peers_due(tx: Tx) -> list[str]:
    """The peers that are to be sent something now."""
    return [row["peer"] for row in await tx.fetch(_PEERS_DUE)]


async def overdue(tx: Tx, most: int) -> list[Kept]:
    """Settlements without a decision whose time has passed, locked."""
    rows = await tx.fetch(
        f"SELECT * FROM commerce_settlement WHERE {_UNDECIDED} AND expires_at <= clock_timestamp()"  # noqa: S608
        " ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED",
        most,
    )
    return [kept(row) for row in rows]


async def lock_open(tx: Tx, peer: str) -> list[Kept]:
    """The settlements with this peer that it knows no end of, locked."""
    statement = (
        "SELECT * FROM commerce_settlement WHERE peer = $1 AND (NOT is_closed OR next_at IS NOT NULL)"
        " ORDER BY settlement_id FOR UPDATE"
    )
    return [kept(row) for row in await tx.fetch(statement, peer)]


async def page(
    tx: Tx, direction: str | None, status: str | None, limit: int, offset: int
) -> tuple[Sequence[asyncpg.Record], int]:
    """Settlements, newest first, and how many there are."""
    rows = await tx.fetch(_LIST, direction, status, limit, offset)
    total: int = rows[0]["total"] if rows else await tx.fetchval(_COUNT, direction, status)
    return rows, total


def kept(row: asyncpg.Record) -> Kept:
    """A row as the protocol sees it."""
    members: dict[str, Any] = dict(row)
    claim = Claim(
        members["dispute_id"],
        members["defendant_did"],
        members["complainant_did"],
        members["amount"],
        members["currency"],
    )
    settlement = Settlement(
        claim,
        Direction(members["direction"]),
        Status(members["status"]),
        members["expires_at"].timestamp(),
        members["auto_approved"],
        members["slashed_amount"],
        members["compensation"],
        members["peer_tx_id"],
        members["reason"],
        members["is_closed"],
        Fraction(int(members["rate_own"]), int(members["rate_foreign"])),
        members["payment"],
    )
    return Kept(members["settlement_id"], settlement, members["peer"], members["frame"], members)


async def note_slashed(tx: Tx, dispute_id: int, slashed: int) -> None:
    """Write into the dispute that was decided here the units that the other registry destroyed."""
    await tx.execute("UPDATE commerce_dispute SET slash_applied = $2 WHERE id = $1", dispute_id, slashed)


async def keep_verdict(tx: Tx, settlement_id: int, verdict: str) -> None:
    """Keep the signed facts of a settlement that was decided here."""
    await tx.execute(
        "UPDATE commerce_settlement SET verdict = $2 WHERE settlement_id = $1 AND verdict IS NULL",
        settlement_id,
        verdict,
    )


async def used(tx: Tx, peer: str, transfer_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of the payments on which a slash rests."""
    return frozenset(row["transfer_id"] for row in await tx.fetch(_USED, peer, list(transfer_ids)))


async def use(tx: Tx, peer: str, settlement_id: int, transfer_ids: Sequence[UUID]) -> None:
    """Let the slash of a settlement rest on these payments."""
    await tx.execute(_USE, peer, settlement_id, list(transfer_ids))
