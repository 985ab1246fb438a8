"""Every SQL statement about the documents of a card.

Locks: `lock_document` holds the card's row until the transaction ends, so documents are replaced one after the other.
"""

import json
from collections.abc import Sequence
from datetime import datetime

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import digest
from hansa.rooms.catalogue.card_rights import owned_by
from hansa.rooms.catalogue.rules import Findable

from .records import CardVersion, Source, StoredDocument

KEPT_MAX = 100
"""Replaced documents kept of one card: enough for years of honest changes, and a bound for the others."""

_LOCK = """
SELECT uuid AS id, id AS card_id, did, organization_id, human_readable_id, status, version, card_data, pulled_hash
FROM catalogue_card WHERE id = $1 AND source_registry IS NULL FOR NO KEY UPDATE
"""

_KEEP = """
INSERT INTO catalogue_card_version (card_id, version, card_data, card_hash, source, valid_from, valid_until)
SELECT id, version, card_data, $2, document_source, document_since, statement_timestamp()
FROM catalogue_card WHERE id = $1
RETURNING valid_until
"""

_REPLACE = """
UPDATE catalogue_card SET version = version + 1, document_since = $3, document_source = $4,
  pulled_hash = coalesce($5, pulled_hash), is_stub = false, signature_verified_at = NULL, human_readable_id = $6,
  name = $7, description = $8, card_data = $9, card_bytes = $10, pricing = $11, tags = $12, tee_type = $13,
  name_text = $14, description_text = $15, tags_text = $16, skills_text = $17
WHERE id = $1 AND version = $2
RETURNING version
"""

# Whoever reads an erased card by its key gets this document: who it was is still to be seen, what it said is not.
# Its humanReadableId is one that nobody could claim, so no card conflicts.
_ERASE = """
WITH erased AS (
  UPDATE catalogue_card SET is_erased = true, name = 'Erased', description = '', pricing = NULL, tags = '{{}}',
    tee_type = NULL, host = NULL, is_stub = false, pulled_hash = NULL, human_readable_id = '-/' || uuid,
    card_data = json_build_object('name', 'Erased', 'humanReadableId', '-/' || uuid), card_bytes = 100,
    name_text = '', description_text = '', tags_text = '', skills_text = ''
  WHERE id IN ({which}) AND status = 'revoked' AND NOT is_erased
  RETURNING id
)
DELETE FROM catalogue_card_version WHERE card_id IN (SELECT id FROM erased)
"""

_ERASE_HIDDEN = _ERASE.format(
    which="""SELECT id FROM catalogue_card WHERE status = 'revoked' AND NOT is_erased
      AND hidden_since < now() - make_interval(days => $1) ORDER BY hidden_since LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED"""
)

_ERASE_OF_DEVELOPER = _ERASE.format(which=f"SELECT id FROM catalogue_card WHERE {owned_by('$1')}")  # noqa: S608

_HISTORY = """
SELECT version, source, valid_from AS changed_at, card_hash, NULL::json AS card_data
FROM catalogue_card_version WHERE card_id = $1
UNION ALL
SELECT version, document_source, document_since, NULL, card_data FROM catalogue_card WHERE id = $1
ORDER BY version DESC
"""

_WITH_DOCUMENTS = """
SELECT version, source, valid_from AS changed_at, card_hash, card_data
FROM catalogue_card_version WHERE card_id = $1 AND version = ANY ($2::int[])
UNION ALL
SELECT version, document_source, document_since, NULL, card_data FROM catalogue_card WHERE id = $1 AND version = ANY ($2::int[])
"""

_AT = """
SELECT v.version, v.source, v.valid_from AS changed_at, v.card_hash, v.card_data
FROM catalogue_card c JOIN catalogue_card_version v ON v.card_id = c.id
WHERE c.did = $1 AND c.source_registry IS NULL AND v.valid_from <= $2 AND $2 < v.valid_until
UNION ALL
SELECT version, document_source, document_since, NULL, card_data FROM catalogue_card
WHERE did = $1 AND source_registry IS NULL AND document_since <= $2 AND NOT is_erased
"""

_FORGET_OLDEST = "DELETE FROM catalogue_card_version WHERE card_id = $1 AND version <= $2"


async def lock_document(tx: Tx, card_id: int) -> StoredDocument | None:
    """The document of a native card, locked; None for an unknown card and for a mirror."""
    row = await tx.fetchrow(_LOCK, card_id)
    return None if row is None else StoredDocument(**{**row, "card_data": json.loads(row["card_data"])})


async def replace(
    tx: Tx,
    stored: StoredDocument,
    *,
    old_hash: bytes,
    content: Findable,
    human_readable_id: str,
    source: Source,
    pulled_hash: bytes | None,
) -> int | None:
    """Keep the present document as a version and write another; None when its humanReadableId is taken."""
    # A savepoint, so that whoever asked may still note in this transaction that it failed.
    try:
        async with tx.transaction():
            since = await tx.fetchval(_KEEP, stored.card_id, old_hash)
            version: int | None = await tx.fetchval(
                _REPLACE,
                stored.card_id,
                stored.version,
                since,
                source,
                pulled_hash,
                human_readable_id,
                *content.columns,
            )
    except asyncpg.UniqueViolationError:
        return None
    assert version is not None, "the card was locked"
    await tx.execute(_FORGET_OLDEST, stored.card_id, stored.version - KEPT_MAX)
    return version


async def note_pulled(tx: Tx, card_id: int, pulled_hash: bytes) -> None:
    """Remember the card that the agent served where the document already holds its content."""
    await tx.execute("UPDATE catalogue_card SET pulled_hash = $2 WHERE id = $1", card_id, pulled_hash)


async def erase_hidden_before(tx: Tx, *, days: int, most: int) -> None:
    """Erase the documents of revoked cards that have been hidden for that long."""
    await tx.execute(_ERASE_HIDDEN, days, most)


async def erase_of_developer(tx: Tx, developer_id: int) -> None:
    """Erase the documents of every revoked card of a developer."""
    await tx.execute(_ERASE_OF_DEVELOPER, developer_id)


async def history(tx: Tx, card_id: int) -> list[CardVersion]:
    """Every version that is kept, the newest first; only the newest carries its document."""
    return [_version(row) for row in await tx.fetch(_HISTORY, card_id)]


async def versions(tx: Tx, card_id: int, numbers: Sequence[int]) -> dict[int, CardVersion]:
    """These versions with their documents, by number; one that there is not is absent."""
    return {row["version"]: _version(row) for row in await tx.fetch(_WITH_DOCUMENTS, card_id, numbers)}


async def version_at(tx: Tx, did: str, timestamp: datetime) -> CardVersion | None:
    """The version that the native card of an agent had at a timestamp, with its document."""
    row = await tx.fetchrow(_AT, did, timestamp)
    return None if row is None else _version(row)


def _version(row: asyncpg.Record) -> CardVersion:
    document = None if row["card_data"] is None else json.loads(row["card_data"])
    card_hash = row["card_hash"] if document is None or row["card_hash"] is not None else digest(document)
    return CardVersion(row["version"], row["source"], row["changed_at"], card_hash.hex(), document)
