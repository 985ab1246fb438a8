"""Every SQL statement of disputes.

An act locks the contract of a dispute first, then the dispute, then the payment that it is about and the peer of a party,
then the rows of agents, holds and accounts. The clock is read by the statement after the lock.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.money import Minor
from hansa.rooms.commerce import contracts

from .dispute import (
    Attested,
    AwardFilter,
    AwardStatus,
    Complaint,
    Dispute,
    DisputeFilter,
    DisputeStatus,
    Evidence,
    Piece,
    Ruling,
    Subject,
)

_COMPUTED = {
    "attestation_ids": """d.attestation_ids || ARRAY(
  SELECT c.attestation_id FROM commerce_dispute_citation c
  WHERE c.dispute_id = d.id AND c.attestation_id <> ALL (d.attestation_ids) ORDER BY c.id) AS attestation_ids""",
    "filed_attestations": "cardinality(d.attestation_ids) AS filed_attestations",
}
_COLUMNS = ", ".join(
    _COMPUTED.get(name, f"d.{name}") for name in Dispute.__struct_fields__ if name not in {"now", "evidence"}
)

_DISPUTES = f"SELECT {_COLUMNS}, clock_timestamp() AS now FROM commerce_dispute d"  # noqa: S608

_LOCK = "SELECT FROM commerce_dispute WHERE id = $1 FOR NO KEY UPDATE"

_LOCK_COMPLAINANT = "SELECT pg_advisory_xact_lock(hashtextextended('commerce complaints ' || $1, 0))"

_LOCK_PAYMENT = "SELECT pg_advisory_xact_lock(hashtextextended('commerce rulings ' || $1, 0))"

_INSERT = """
INSERT INTO commerce_dispute (complainant_did, defendant_did, payment, contract_id, token_id, tx_id, contract_status,
  payer_did, subject_amount, paid_amount, held_amount, fee_paid, is_malpractice, reason_code, description, claimed_amount,
  attestation_ids, blocked_amount, status, opened_at, evidence_until, rule_by)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 'OPEN', now,
  least(now + $19, now + $20), now + $20
FROM commerce_time_of_dispute() now
ON CONFLICT (complainant_did, payment) DO NOTHING RETURNING id
"""

_CHANGING = (
    "status",
    "ruling",
    "compensation_amount",
    "slash_requested",
    "slash_reduction",
    "slash_applied",
    "attested",
    "fee_paid",
    "note",
    "ruled_by",
    "voting_at",
    "closed_at",
    "award_amount",
    "award_status",
    "award_decided_by",
    "award_decided_at",
    "award_reason",
)
_SETS = ", ".join(f"{name} = ${place}" for place, name in enumerate(_CHANGING, start=4))

_SAVE = f"""
UPDATE commerce_dispute SET {_SETS} WHERE id = $1 AND status = $2 AND award_status IS NOT DISTINCT FROM $3 RETURNING 1
"""  # noqa: S608

_CITE = """
INSERT INTO commerce_dispute_citation (dispute_id, by_did, attestation_id)
SELECT $1, $2, given FROM unnest($3::text[]) WITH ORDINALITY AS g (given, place) ORDER BY place
ON CONFLICT (dispute_id, attestation_id) DO NOTHING
"""

_COUNT_CITATIONS = "SELECT count(*) FROM commerce_dispute_citation WHERE dispute_id = $1 AND by_did = $2"

_ADD_EVIDENCE = """
INSERT INTO commerce_dispute_evidence (dispute_id, by_did, uri, sha256, note, at)
SELECT $1, $2, e.uri, e.sha256, e.note, clock_timestamp()
FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS e (uri, sha256, note, place) ORDER BY e.place
"""

_EVIDENCE = """
SELECT dispute_id, by_did, uri, sha256, note, at FROM commerce_dispute_evidence WHERE dispute_id = ANY($1)
ORDER BY dispute_id, id
"""

_GIVEN = """
SELECT coalesce(sum(compensation_amount - CASE award_status WHEN 'REJECTED' THEN award_amount ELSE 0 END), 0)::bigint
FROM commerce_dispute WHERE payment = ANY($1) AND status = 'CLOSED'
"""

_COUNT_FILED = "SELECT count(*) FROM commerce_dispute WHERE complainant_did = $1 AND status <> 'CLOSED'"

_COUNT_BINDING = """
SELECT count(*) FROM commerce_dispute
WHERE (complainant_did = $1 OR defendant_did = $1) AND status <> 'CLOSED' AND blocked_amount > 0
"""

# Open disputes about a payment, from either side, and awards that wait for a decision.
_COUNT_KEEPING = """
SELECT did, count(*) AS count FROM unnest($1::text[]) WITH ORDINALITY agent (did, place) CROSS JOIN LATERAL (
  SELECT FROM commerce_dispute
  WHERE (complainant_did = did OR defendant_did = did) AND status <> 'CLOSED' AND blocked_amount > 0
  UNION ALL
  SELECT FROM commerce_dispute WHERE complainant_did = did AND award_status = 'PENDING'
) found GROUP BY did, place ORDER BY place
"""

_BLOCKED = """
SELECT coalesce(sum(blocked_amount), 0)::bigint FROM commerce_dispute
WHERE (complainant_did = $1 OR defendant_did = $1) AND status <> 'CLOSED'
"""

_NOTE_DEPOSIT = "UPDATE commerce_dispute SET deposit_amount = $2, deposit_hold_id = $3 WHERE id = $1"

# What the reader may see: everything, or as a party.
_WANTED = """
WHERE ($1::text IS NULL OR d.complainant_did = $1 OR d.defendant_did = $1)
  AND ($2::text IS NULL OR d.complainant_did = $2 OR d.defendant_did = $2)
  AND ($3::text IS NULL OR CASE $3 WHEN 'complainant' THEN d.complainant_did ELSE d.defendant_did END = $1)
  AND ($4::text IS NULL OR d.status = $4)
"""

_LIST = with_total(
    f"{_DISPUTES} {_WANTED} ORDER BY d.id DESC LIMIT $5 OFFSET $6",
    f"SELECT count(*) FROM commerce_dispute d {_WANTED}",  # noqa: S608
)


_AWARDED = "award_status IS NOT NULL AND ($1::text IS NULL OR award_status = $1)"

_AWARDS = with_total(
    f"{_DISPUTES} WHERE {_AWARDED} ORDER BY d.id DESC LIMIT $2 OFFSET $3",
    f"SELECT count(*) FROM commerce_dispute WHERE {_AWARDED}",  # noqa: S608
)

_COUNT_OPEN = """
SELECT count(*) FILTER (WHERE status = 'VOTING') AS voting, count(*) FILTER (WHERE award_status = 'PENDING') AS awards
FROM commerce_dispute WHERE status = 'VOTING' OR award_status = 'PENDING'
"""


class OpenDecisions(msgspec.Struct, frozen=True):
    """How many disputes wait for a ruling, and how many awards of rulings for a second administrator."""

    voting: int
    awards: int


class Windows(msgspec.Struct, frozen=True):
    """How long evidence is taken, and until when a ruling must come; both from the filing on."""

    evidence: timedelta
    ruling: timedelta


async def insert(
    tx: Tx, complaint: Complaint, subject: Subject | None, windows: Windows, *, blocked: Minor
) -> Dispute | None:
    """A new dispute that keeps the `blocked` units of a bond; None when the complainant has filed one about this payment before."""
    contract = subject.contract if subject else None
    dispute_id: int | None = await tx.fetchval(
        _INSERT,
        complaint.complainant_did,
        complaint.defendant_did,
        subject.payment if subject else None,
        contract.id if contract else None,
        subject.token_id if subject else None,
        subject.tx_id if subject else None,
        contract.status if contract else None,
        subject.payer_did if subject else None,
        subject.amount if subject else None,
        subject.funds.paid if subject else None,
        subject.funds.held if subject else None,
        subject.fee if subject else 0,
        complaint.is_malpractice,
        complaint.reason_code,
        complaint.description,
        complaint.claimed_amount,
        list(complaint.attestation_ids),
        blocked,
        windows.evidence,
        windows.ruling,
    )
    return None if dispute_id is None else await find(tx, dispute_id)


async def lock(tx: Tx, dispute_id: int) -> Dispute | None:
    """One dispute, as it is once no other act has it."""
    await tx.execute(_LOCK, dispute_id)
    return await find(tx, dispute_id)


async def lock_complainant(tx: Tx, did: str) -> None:
    """Let an agent, of another registry as well, file one dispute after the other: the number of its open ones is limited."""
    await tx.execute(_LOCK_COMPLAINANT, did)


async def lock_payment(tx: Tx, name: str) -> None:
    """Serialize rulings about one payment: each counts the units that those before it gave."""
    await tx.execute(_LOCK_PAYMENT, name)


async def find(tx: Tx, dispute_id: int) -> Dispute | None:
    """One dispute without its evidence."""
    row = await tx.fetchrow(f"{_DISPUTES} WHERE d.id = $1", dispute_id)
    return _dispute(row) if row else None


async def page(tx: Tx, filters: DisputeFilter) -> tuple[list[Dispute], int]:
    """A page of disputes, newest first, and how many there are in all."""
    bounds = (filters.of, filters.reader, filters.role, filters.status)
    rows, total = await read_page(tx, _LIST, *bounds, filters.limit, filters.offset)
    return [_dispute(row) for row in rows], total


async def page_of_awards(tx: Tx, filters: AwardFilter) -> tuple[list[Dispute], int]:
    """A page of disputes with an award, newest first, and how many there are in all."""
    rows, total = await read_page(tx, _AWARDS, filters.status, filters.limit, filters.offset)
    return [_dispute(row) for row in rows], total


async def count_open_decisions(tx: Tx) -> OpenDecisions:
    """How many disputes wait for a ruling, and how many awards for a second administrator."""
    row = await tx.fetchrow(_COUNT_OPEN)
    assert row is not None
    return OpenDecisions(**row)


async def save(tx: Tx, before: Dispute, after: Dispute) -> bool:
    """Write the changed columns; return whether the dispute was still in the state that it is moved from."""
    members = {name: getattr(after, name) for name in _CHANGING}
    if after.attested is not None:
        members["attested"] = msgspec.json.encode(after.attested).decode()
    values = list(members.values())
    return await tx.fetchval(_SAVE, before.id, before.status, before.award_status, *values) is not None


async def add_evidence(tx: Tx, dispute_id: int, by: str, pieces: Sequence[Piece]) -> None:
    """Write evidence of a party."""
    await tx.execute(
        _ADD_EVIDENCE,
        dispute_id,
        by,
        [one.uri for one in pieces],
        [one.sha256 for one in pieces],
        [one.note for one in pieces],
    )


async def cite(tx: Tx, dispute_id: int, by: str, attestation_ids: Sequence[str]) -> None:
    """Write citations of a party; one that the dispute has stays that of the party that cited it first."""
    await tx.execute(_CITE, dispute_id, by, list(attestation_ids))


async def count_citations(tx: Tx, dispute_id: int, by: str) -> int:
    """Count the attestations that a party cited as evidence."""
    count: int = await tx.fetchval(_COUNT_CITATIONS, dispute_id, by)
    return count


async def evidence(tx: Tx, dispute_ids: Sequence[int]) -> dict[int, list[Evidence]]:
    """The evidence in these disputes, oldest first."""
    found: dict[int, list[Evidence]] = {dispute_id: [] for dispute_id in dispute_ids}
    for row in await tx.fetch(_EVIDENCE, list(dispute_ids)):
        piece = Piece(row["sha256"], row["uri"], row["note"])
        found[row["dispute_id"]].append(Evidence(row["dispute_id"], row["by_did"], piece, row["at"]))
    return found


async def compensated(tx: Tx, names: Sequence[str]) -> Minor:
    """Return the units that earlier rulings about a payment with these names gave."""
    return Minor(await tx.fetchval(_GIVEN, names))


async def count_filed(tx: Tx, did: str) -> int:
    """How many disputes an agent has filed that are not decided."""
    count: int = await tx.fetchval(_COUNT_FILED, did)
    return count


async def note_deposit(tx: Tx, dispute_id: int, amount: Minor, hold_id: int) -> None:
    """Write the deposit of a new dispute."""
    await tx.execute(_NOTE_DEPOSIT, dispute_id, amount, hold_id)


async def blocked(tx: Tx, did: str) -> Minor:
    """Units of an agent's bond that its open disputes keep."""
    return Minor(await tx.fetchval(_BLOCKED, did))


async def count_binding(tx: Tx, did: str) -> int:
    """How many open disputes keep an agent from ending."""
    count: int = await tx.fetchval(_COUNT_BINDING, did)
    return count


async def count_keeping(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """How many open disputes, and awards that wait for a decision, keep each agent from ending, in this order; an agent without any is absent."""
    return {row["did"]: row["count"] for row in await tx.fetch(_COUNT_KEEPING, dids)}


def _dispute(row: asyncpg.Record | dict[str, Any]) -> Dispute:
    members = dict(row)
    ruling, contract_status, award = members["ruling"], members["contract_status"], members["award_status"]
    attested = members["attested"]
    members |= {
        "status": DisputeStatus(members["status"]),
        "ruling": None if ruling is None else Ruling(ruling),
        "contract_status": None if contract_status is None else contracts.Status(contract_status),
        "award_status": None if award is None else AwardStatus(award),
        "attestation_ids": tuple(members["attestation_ids"]),
        "attested": None if attested is None else msgspec.json.decode(attested, type=Attested),
    }
    return Dispute(**members)
