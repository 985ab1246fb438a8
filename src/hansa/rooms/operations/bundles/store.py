"""Every SQL statement of bundles. Exports of one developer wait for each other, so that their number holds."""

import json
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.rights import Owner

from .records import StoredBundle
from .rules import STORED_MAX

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('operations: bundles', $1))"

_INSERT = """
INSERT INTO operations_bundle (developer_id, organization_id, agent_did, document) VALUES ($1, $2, $3, $4) RETURNING id
"""

_FORGET_OLDEST = """
DELETE FROM operations_bundle WHERE developer_id = $1 AND seq <= (
  SELECT seq FROM operations_bundle WHERE developer_id = $1 ORDER BY seq DESC OFFSET $2 LIMIT 1)
"""

_FIND = """
SELECT id, document FROM operations_bundle
WHERE id = $1 AND CASE WHEN organization_id IS NULL THEN developer_id = $2 ELSE organization_id = $3 END
"""


async def insert(tx: Tx, developer_id: int, organization_id: UUID | None, did: str, document: str) -> UUID:
    """Store a bundle and delete the oldest beyond the maximum."""
    await tx.execute(_LOCK, developer_id)
    stored: UUID = await tx.fetchval(_INSERT, developer_id, organization_id, did, document)
    await tx.execute(_FORGET_OLDEST, developer_id, STORED_MAX)
    return stored


async def find(tx: Tx, bundle_id: UUID, owner: Owner) -> StoredBundle | None:
    """A bundle of an owner of agents."""
    row = await tx.fetchrow(_FIND, bundle_id, owner.developer_id, owner.organization_id)
    return None if row is None else StoredBundle(row["id"], json.loads(row["document"]))


async def delete_of(tx: Tx, developer_id: int) -> None:
    """Delete the bundles of a developer."""
    await tx.execute("DELETE FROM operations_bundle WHERE developer_id = $1", developer_id)
