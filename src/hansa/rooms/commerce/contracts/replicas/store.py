"""Every SQL statement of copies."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.commerce.contracts.records import ContractFilter
from hansa.rooms.commerce.contracts.store import WANTED, bounds_of


class CopyKey(msgspec.Struct, frozen=True):
    """The SPIFFE id of the registry that keeps the contract, the contract's number there, and its provider here."""

    peer: str
    contract_id: int
    provider_did: str


class Copy(msgspec.Struct, frozen=True):
    """A copy as it is stored; `document` is JSON. `frame` is the ledger id of the registry that keeps the contract."""

    frame: str
    document: str | None
    is_relayed: bool
    accepting_since: datetime | None


class Facts(msgspec.Struct, frozen=True):
    """Stored members of a statement."""

    frame: str
    contractor_did: str
    status: str
    created_at: datetime
    document: str
    is_relayed: bool


class BindingAbroad(msgspec.Struct, frozen=True):
    """How many contracts of a registry bind a provider here."""

    did: str
    peer: str
    count: int


class Entry(msgspec.Struct, frozen=True):
    """An entry of a list: a contract of this registry by its number, or a copy with frame and document."""

    contract_id: int
    frame: str | None
    document: str | None


_OF_KEY = "WHERE peer = $1 AND contract_id = $2 AND provider_did = $3"

_COPY = f"""
SELECT frame, document, is_relayed, accepting_since FROM commerce_contract_copy {_OF_KEY}
"""  # noqa: S608

_ADD = """
INSERT INTO commerce_contract_copy (peer, contract_id, provider_did, frame, contractor_did, status, created_at, document, is_relayed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING 1
"""

# A statement about what was accepted says what became of the acceptance.
_WRITE = f"""
UPDATE commerce_contract_copy SET frame = $4, contractor_did = $5, status = $6, created_at = $7, document = $8, is_relayed = $9,
  accepting_since = CASE WHEN $6 = 'PROPOSED' THEN accepting_since END
{_OF_KEY}
"""  # noqa: S608

# A contract has one provider: a copy for another one is of a contract that its registry does not know any more.
_FORGET_OTHERS = """
DELETE FROM commerce_contract_copy WHERE peer = $1 AND contract_id = $2 AND provider_did <> $3 AND document IS NOT NULL
"""

_FORGET = f"DELETE FROM commerce_contract_copy {_OF_KEY} AND accepting_since IS NULL"  # noqa: S608

_NOTE_ACCEPTING = """
INSERT INTO commerce_contract_copy (peer, contract_id, provider_did, frame, accepting_since)
VALUES ($1, $2, $3, $4, clock_timestamp())
ON CONFLICT (peer, contract_id, provider_did) DO UPDATE SET accepting_since = EXCLUDED.accepting_since RETURNING accepting_since
"""

_ACCEPTING_SINCE = f"SELECT accepting_since FROM commerce_contract_copy {_OF_KEY}"  # noqa: S608

_NOT_ACCEPTED = f"""
UPDATE commerce_contract_copy SET accepting_since = NULL {_OF_KEY} AND accepting_since = $4 AND document IS NOT NULL
"""  # noqa: S608

_NEVER_ACCEPTED = f"""
DELETE FROM commerce_contract_copy {_OF_KEY} AND accepting_since = $4 AND document IS NULL
"""  # noqa: S608

_BINDING = """
SELECT provider_did AS did, peer, count(*) AS count FROM commerce_contract_copy
WHERE provider_did = ANY ($1) AND (accepting_since IS NOT NULL OR is_relayed AND status = ANY ($2)) GROUP BY provider_did, peer
"""

_PAGE = f"""
SELECT contract_id, frame, document FROM (
  SELECT c.id AS contract_id, NULL::text AS frame, NULL::text AS document, c.created_at FROM commerce_contract c {WANTED}
  UNION ALL
  SELECT contract_id, frame, document, created_at FROM commerce_contract_copy
  WHERE provider_did = $1 AND document IS NOT NULL AND ($4::text IS NULL OR status = $4) AND ($5::text IS NULL OR contractor_did = $5)
) listed ORDER BY created_at DESC, contract_id DESC LIMIT $7 OFFSET $8
"""  # noqa: S608

_OF_FRAME = """
SELECT document FROM commerce_contract_copy
WHERE frame = $1 AND contract_id = $2 AND provider_did = $3 AND document IS NOT NULL
"""


async def accepting_since(tx: Tx, key: CopyKey) -> datetime | None:
    """Since when an acceptance is under way whose outcome is not known; None: none is."""
    since: datetime | None = await tx.fetchval(_ACCEPTING_SINCE, key.peer, key.contract_id, key.provider_did)
    return since


async def lock(tx: Tx, key: CopyKey) -> Copy | None:
    """One copy, locked."""
    row = await tx.fetchrow(f"{_COPY} FOR UPDATE", key.peer, key.contract_id, key.provider_did)
    return None if row is None else Copy(**row)


async def add(tx: Tx, key: CopyKey, facts: Facts) -> bool:
    """A new copy; false, and nothing is written, where there is one by now."""
    return await tx.fetchval(_ADD, *_values(key, facts)) is not None


async def write(tx: Tx, key: CopyKey, facts: Facts) -> None:
    """Write the last statement about a contract."""
    await tx.execute(_WRITE, *_values(key, facts))


async def forget_others(tx: Tx, key: CopyKey) -> None:
    """Delete the copies of this contract for other providers."""
    await tx.execute(_FORGET_OTHERS, key.peer, key.contract_id, key.provider_did)


async def forget(tx: Tx, key: CopyKey) -> None:
    """Delete a copy, unless its acceptance is under way."""
    await tx.execute(_FORGET, key.peer, key.contract_id, key.provider_did)


async def note_accepting(tx: Tx, key: CopyKey, frame: str) -> datetime:
    """Note that an acceptance is being relayed; returns since when."""
    since: datetime = await tx.fetchval(_NOTE_ACCEPTING, key.peer, key.contract_id, key.provider_did, frame)
    return since


async def note_not_accepted(tx: Tx, key: CopyKey, since: datetime) -> None:
    """The acceptance that was begun then did not come about."""
    for statement in (_NOT_ACCEPTED, _NEVER_ACCEPTED):
        await tx.execute(statement, key.peer, key.contract_id, key.provider_did, since)


async def count_binding(tx: Tx, dids: Sequence[str], statuses: Collection[str]) -> list[BindingAbroad]:
    """How many contracts at each registry bind each provider: accepted through this one and in these states, or being accepted."""
    rows = await tx.fetch(_BINDING, dids, [str(status) for status in statuses])
    return [BindingAbroad(**row) for row in rows]


async def page(tx: Tx, filters: ContractFilter) -> list[Entry]:
    """A page of contracts of this registry and copies together, newest first."""
    rows = await tx.fetch(_PAGE, *bounds_of(filters), filters.limit, filters.offset)
    return [Entry(**row) for row in rows]


async def find_document(tx: Tx, frame: str, contract_id: int, provider_did: str) -> str | None:
    """The contract that the registry with this ledger id keeps, as JSON."""
    document: str | None = await tx.fetchval(_OF_FRAME, frame, contract_id, provider_did)
    return document


def _values(key: CopyKey, facts: Facts) -> tuple[object, ...]:
    return (
        key.peer,
        key.contract_id,
        key.provider_did,
        facts.frame,
        facts.contractor_did,
        facts.status,
        facts.created_at,
        facts.document,
        facts.is_relayed,
    )
