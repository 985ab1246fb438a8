"""SQL of the cards of the catalogue, and of their maintenance.

Locks: an insert waits on the unique key of the humanReadableId and the DID, nothing else is locked.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import OLDEST_OPEN
from hansa.foundation.values.rights import Owner

from .card_rights import owned_by
from .records import Bond, Card, CardName, Flares, NewCard, StoredCard, WorkOfAgent

CARD_COLUMNS = """
c.uuid AS id, c.id AS card_id, did, human_readable_id, developer_id, organization_id, name, description, is_active, status,
status_since, is_stub,
unlisted, version, created_at, c.updated_at, last_pull_attempt_at, last_pull_status, pull_failures, source_registry,
settlement_currency, trust_domain, liveness, liveness_checked_at, last_alive_at,
host_verified_at, signature_verified_at, encircled, bonded, bond_state, bond_amount, flare_corner, flare_encirclement, flare_overlay,
verified_jobs, agent_score,
track_record, hidden_since, mcp_name, tools_checked_at, namespace_verified_at
"""

_DOCUMENTS = ("card_data", "track_record")

_INSERT = """
INSERT INTO catalogue_card (
  uuid, did, developer_id, human_readable_id, host, is_stub, settlement_currency, trust_domain, name, description,
  card_data, card_bytes, pricing, tags, tee_type, name_text, description_text, tags_text, skills_text, organization_id)
VALUES ($1, $2, $3, $4, $5, $5::text IS NOT NULL, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
ON CONFLICT DO NOTHING
RETURNING id AS card_id
"""

_BY_KEY = {
    UUID: "c.uuid = $1",
    str: "did = $1",
    int: "c.id = $1",
}

_RETIRE = """
UPDATE catalogue_card SET status = 'revoked', status_since = (now() AT TIME ZONE 'UTC')::date, is_active = false
WHERE did = $1 AND source_registry IS NULL
"""

_RETIRE_LISTINGS = """
UPDATE catalogue_card SET status = 'revoked', status_since = (now() AT TIME ZONE 'UTC')::date, is_active = false
WHERE developer_id = $1 AND did IS NULL AND source_registry IS NULL AND status <> 'revoked'
"""

_SET_STATUS_OF_LISTINGS = """
UPDATE catalogue_card SET status = $2,
  status_since = CASE WHEN $2 <> 'active' THEN (now() AT TIME ZONE 'UTC')::date END
WHERE developer_id = $1 AND did IS NULL AND source_registry IS NULL AND status NOT IN ('revoked', $2)
"""

_SET_STATUS = """
UPDATE catalogue_card SET status = $2,
  status_since = CASE WHEN $2 <> 'active' THEN (now() AT TIME ZONE 'UTC')::date END
WHERE did = $1 AND source_registry IS NULL AND status <> 'revoked'
"""

_SET_TRACK_RECORD = """
UPDATE catalogue_card SET verified_jobs = $2, track_record = $3 WHERE did = $1 AND source_registry IS NULL
"""

_SET_SCORES = """
UPDATE catalogue_card c SET agent_score = n.score FROM unnest($1::text[], $2::smallint[]) AS n (did, score)
WHERE c.did = n.did AND c.source_registry IS NULL
"""

_SET_BOND = """
UPDATE catalogue_card SET bonded = $2, bond_state = $3, bond_amount = $4 WHERE did = $1 AND source_registry IS NULL
"""

_SET_FLARES = """
UPDATE catalogue_card SET flare_corner = $2, flare_encirclement = $3, flare_overlay = $4, encircled = $3::text IS NOT NULL
WHERE did = $1 AND source_registry IS NULL
"""

_NAMES_OF_AGENTS = """
SELECT did, name FROM catalogue_card WHERE did = ANY($1::text[]) AND source_registry IS NULL AND NOT is_erased
"""

# An own card comes last: it wins over the copy that a peer sent. With the number of DIDs hidden from the planner it makes one plan for all.
_NAMES_BY_DID = """
SELECT c.did, c.name FROM unnest((SELECT $1::text[])) AS asked (did) JOIN catalogue_card c USING (did)
WHERE NOT c.is_erased ORDER BY c.source_registry IS NULL
"""

_OTHERS = """
SELECT did, id AS card_id, name FROM catalogue_card
WHERE {of_owner} AND id <> $2 AND did IS NOT NULL AND source_registry IS NULL
  AND status = 'active' AND is_active AND NOT unlisted AND NOT is_stub
ORDER BY id DESC LIMIT $3
"""
_OTHERS_OF_DEVELOPER = _OTHERS.format(of_owner=owned_by("$1"))
_OTHERS_OF_ORGANIZATION = _OTHERS.format(
    of_owner="organization_id = $1 AND (SELECT catalogue_is_public_owner($1))"
)

_LISTED_OF_ORGANIZATION = """
SELECT did, name, description, verified_jobs, coalesce((track_record ->> 'contracts_completed')::int, 0) AS contracts_completed,
  coalesce(track_record ->> 'volume', '0') AS volume
FROM catalogue_card
WHERE organization_id = $1 AND did IS NOT NULL AND source_registry IS NULL
  AND status = 'active' AND is_active AND NOT unlisted AND NOT is_stub
ORDER BY verified_jobs DESC, id LIMIT $2
"""

_INDEX_TEXTS = """
UPDATE catalogue_card SET texts_sorted = true WHERE id IN (
  SELECT id FROM catalogue_card WHERE NOT texts_sorted AND to_regclass('catalogue_card_listed_text') IS NOT NULL
  ORDER BY id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
"""

HAS_TEXTS_TO_INDEX = Question("""
SELECT to_regclass('catalogue_card_listed_text') IS NOT NULL AND EXISTS (SELECT FROM catalogue_card WHERE NOT texts_sorted)
""")
"""Whether there is an index of listed texts that does not have every card: lists look at the others one by one."""

_SUM_CLASSES = """
WITH summed AS (DELETE FROM catalogue_card_class WHERE (SELECT count(*) FROM catalogue_card_class) > $1 RETURNING *)
INSERT INTO catalogue_card_class
SELECT is_active, source_registry, settlement_currency, tee_type, encircled, sum(cards) FROM summed
GROUP BY 1, 2, 3, 4, 5 HAVING sum(cards) <> 0
"""


async def insert_native(tx: Tx, new: NewCard) -> StoredCard | None:
    """Write a card; None when another native card has its humanReadableId, or its agent has a card."""
    content = new.content
    card_id = await tx.fetchval(
        _INSERT,
        new.id,
        new.did,
        new.developer_id,
        new.human_readable_id,
        new.host,
        new.settlement_currency,
        new.trust_domain,
        *content.columns,
        new.organization_id,
    )
    if card_id is None:
        return None
    return StoredCard(new.id, card_id, new.did, new.human_readable_id, content.name, new.host is not None)


async def set_organization(tx: Tx, did: str, organization_id: UUID | None, developer_id: int) -> None:
    """Write the owner of an own agent's card: an organization, or this developer."""
    await tx.execute(
        "UPDATE catalogue_card SET organization_id = $2, developer_id = CASE WHEN $2::uuid IS NULL THEN $3 ELSE developer_id END"
        " WHERE did = $1 AND source_registry IS NULL",
        did,
        organization_id,
        developer_id,
    )


async def unlist(tx: Tx, card_id: int) -> None:
    """Hide a card from listings and searches."""
    await tx.execute("UPDATE catalogue_card SET unlisted = true WHERE id = $1", card_id)


async def retire(tx: Tx, did: str) -> None:
    """Mark the card of an own agent as revoked and take it out of every listing."""
    await tx.execute(_RETIRE, did)


async def retire_listings(tx: Tx, developer_id: int) -> None:
    """Mark the cards of a developer that belong to no agent as revoked."""
    await tx.execute(_RETIRE_LISTINGS, developer_id)


async def set_status_of_listings(tx: Tx, developer_id: int, status: str) -> None:
    """Write the status of a developer's cards that belong to no agent, unless they are revoked."""
    await tx.execute(_SET_STATUS_OF_LISTINGS, developer_id, status)


async def set_status(tx: Tx, did: str, status: str) -> None:
    """Write the status of an own agent's card, unless it is revoked."""
    await tx.execute(_SET_STATUS, did, status)


async def set_track_record(tx: Tx, did: str, verified_jobs: int, record: Mapping[str, Any]) -> None:
    """Write the track record that the card of an own agent shows."""
    await tx.execute(_SET_TRACK_RECORD, did, verified_jobs, json.dumps(record))


async def set_scores(tx: Tx, scores: Mapping[str, int]) -> None:
    """Write the scores of own agents on their cards, by DID."""
    await tx.execute(_SET_SCORES, list(scores), list(scores.values()))


async def set_bond(tx: Tx, did: str, bond: Bond) -> None:
    """Write the bond that the card of an own agent shows."""
    await tx.execute(_SET_BOND, did, bond.is_bonded, bond.state, bond.amount)


async def set_flares(tx: Tx, did: str, flares: Flares) -> None:
    """Write the flares that the card of an own agent shows."""
    await tx.execute(_SET_FLARES, did, flares.corner, flares.encirclement, flares.overlay)


async def card_by_key(tx: Tx, key: UUID | str | int) -> Card | None:
    """The card with that UUID, DID or number, whatever its status."""
    condition = _BY_KEY[type(key)]
    row = await tx.fetchrow(f"SELECT {CARD_COLUMNS}, card_data FROM catalogue_card c WHERE {condition}", key)  # noqa: S608
    return None if row is None else card_in(row)


async def mirrored_statuses(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The statuses on mirrored cards, by DID."""
    rows = await tx.fetch(
        "SELECT did, status FROM catalogue_card WHERE did = ANY($1::text[]) AND source_registry IS NOT NULL",
        dids,
    )
    return {row["did"]: row["status"] for row in rows}


async def mirrored_homes(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The registries of mirrored cards, by DID."""
    rows = await tx.fetch(
        "SELECT did, source_registry FROM catalogue_card WHERE did = ANY($1::text[]) AND source_registry IS NOT NULL",
        dids,
    )
    return {row["did"]: row["source_registry"] for row in rows}


async def names_of_agents(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The names on the cards of these own agents, by DID."""
    rows = await tx.fetch(_NAMES_OF_AGENTS, dids)
    return {row["did"]: row["name"] for row in rows}


async def names_by_did(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The names on the own and mirrored cards of these agents, by DID."""
    return {row["did"]: row["name"] for row in await tx.fetch(_NAMES_BY_DID, dids)}


async def others_of_owner(tx: Tx, owner: Owner, card_id: int, limit: int) -> list[CardName]:
    """The newest listed agents of an owner but that of one card."""
    if owner.organization_id is None:
        rows = await tx.fetch(_OTHERS_OF_DEVELOPER, owner.developer_id, card_id, limit)
    else:
        rows = await tx.fetch(_OTHERS_OF_ORGANIZATION, owner.organization_id, card_id, limit)
    return [CardName(**row) for row in rows]


async def verified_jobs_of(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """The verified jobs of those agents that have a card of this registry."""
    rows = await tx.fetch(
        "SELECT did, verified_jobs FROM catalogue_card WHERE did = ANY($1) AND source_registry IS NULL",
        list(dids),
    )
    return {row["did"]: row["verified_jobs"] for row in rows}


async def listed_of_organization(tx: Tx, organization_id: UUID, limit: int) -> list[WorkOfAgent]:
    """The listed agents of an organization, those with the most verified jobs first."""
    rows = await tx.fetch(_LISTED_OF_ORGANIZATION, organization_id, limit)
    return [WorkOfAgent(**row) for row in rows]


async def card_by_human_readable_id(tx: Tx, human_readable_id: str) -> Card | None:
    """The card with that humanReadableId: this registry's own before the oldest mirror."""
    row = await tx.fetchrow(
        f"SELECT {CARD_COLUMNS}, card_data FROM catalogue_card c WHERE "  # noqa: S608
        # Two indexes, of the native names and of the others.
        "(human_readable_id = $1 AND source_registry IS NULL)"
        " OR (human_readable_id = $1 AND source_registry IS NOT NULL)"
        " ORDER BY source_registry IS NOT NULL, c.id LIMIT 1",
        human_readable_id,
    )
    return None if row is None else card_in(row)


def has_put_off(most: int) -> Question:
    """Return the question whether there is an index of listed texts with a card, or more than `most` rows of classes."""
    return Question(f"""
SELECT to_regclass('catalogue_card_listed_text') IS NOT NULL AND EXISTS (SELECT FROM catalogue_card)
  OR (SELECT count(*) FROM catalogue_card_class) > {most}
""")  # noqa: S608


async def sum_classes(tx: Tx, most: int) -> None:
    """Sum up the rows of each class where there are more than `most` of all."""
    await tx.execute(_SUM_CLASSES, most)


async def index_texts(tx: Tx, most: int) -> None:
    """Let the index of listed texts take in cards that it does not have yet, where there is one; locked cards are left out."""
    await tx.execute(_INDEX_TEXTS, most)


async def sort_in_texts(tx: Tx) -> None:
    """Sort in the entries that the index of listed texts has put off, where there is one."""
    await tx.execute(
        "SELECT gin_clean_pending_list(oid::regclass) FROM pg_class WHERE oid = to_regclass('catalogue_card_listed_text')"
    )


async def forget_deleted(tx: Tx, days: int) -> None:
    """Delete the numbers of cards that were deleted so many days ago."""
    await tx.execute("DELETE FROM catalogue_card_deleted WHERE at < now() - $1 * interval '1 day'", days)


async def newest_position(tx: Tx) -> int:
    """The highest position of a change to a card, 0 without any."""
    position: int = await tx.fetchval(
        "SELECT coalesce(greatest(max(changed_xid), max(search_xid)), 0) FROM catalogue_card"
    )
    return position


async def oldest_open_transaction(tx: Tx) -> int:
    """Every change by an earlier transaction is visible to this snapshot, or undone."""
    horizon: int = await tx.fetchval(f"SELECT {OLDEST_OPEN}")
    return horizon


def card_in(row: asyncpg.Record) -> Card:
    """The card in a row of CARD_COLUMNS, with its document where the row has it."""
    values = {name: row[name] for name in Card.__struct_fields__ if name not in _DOCUMENTS}
    documents = {name: _document(row.get(name)) for name in _DOCUMENTS}
    return Card(**values, **documents)


def _document(text: str | None) -> Any:
    return None if text is None else json.loads(text)
