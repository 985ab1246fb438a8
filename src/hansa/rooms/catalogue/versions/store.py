"""Every SQL statement about the documents of a card.

Locks: `lock_document` holds the card's row until the transaction ends, so documents are replaced one after the other.
"""

import json

import asyncpg

from hansa.foundation.plumbing.database import Tx
from hansa.rooms.catalogue.rules import Findable

from .records import Source, StandingDocument

KEPT_MAX = 100
"""Replaced documents kept of one card: enough for years of honest changes, and a bound for the others."""

_LOCK = """
SELECT uuid AS id, id AS card_id, did, human_readable_id, status, version, card_data, pulled_hash
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
  pulled_hash = coalesce($5, pulled_hash), is_stub = false, human_readable_id = $6,
  name = $7, description = $8, card_data = $9, card_bytes = $10, pricing = $11, tags = $12, tee_type = $13,
  name_text = $14, description_text = $15, tags_text = $16, skills_text = $17
WHERE id = $1 AND version = $2
RETURNING version
"""

_FORGET_OLDEST = "DELETE FROM catalogue_card_version WHERE card_id = $1 AND version <= $2"


async def lock_document(tx: Tx, card_id: int) -> StandingDocument | None:
    """The document of a native card, locked; None for an unknown card and for a mirror."""
    row = await tx.fetchrow(_LOCK, card_id)
    return None if row is None else StandingDocument(**{**row, "card_data": json.loads(row["card_data"])})


async def replace(
    tx: Tx,
    standing: StandingDocument,
    *,
    old_hash: bytes,
    content: Findable,
    human_readable_id: str,
    source: Source,
    pulled_hash: bytes | None,
) -> int | None:
    """Keep the standing document as a version and write another; None when its humanReadableId is taken."""
    # A savepoint, so that whoever asked may still note in this transaction that it failed.
    try:
        async with tx.transaction():
            since = await tx.fetchval(_KEEP, standing.card_id, old_hash)
            version: int | None = await tx.fetchval(
                _REPLACE,
                standing.card_id,
                standing.version,
                since,
                source,
                pulled_hash,
                human_readable_id,
                *content.columns,
            )
    except asyncpg.UniqueViolationError:
        return None
    assert version is not None, "the card was locked"
    await tx.execute(_FORGET_OLDEST, standing.card_id, standing.version - KEPT_MAX)
    return version


async def note_pulled(tx: Tx, card_id: int, pulled_hash: bytes) -> None:
    """Remember what the agent served where the document already says it."""
    await tx.execute("UPDATE catalogue_card SET pulled_hash = $2 WHERE id = $1", card_id, pulled_hash)
