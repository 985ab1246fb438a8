"""Every SQL statement of releases. The row of the agent is locked before one is written, so that two acts follow each other."""

import json
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import Artifact, Release

from .records import NewRelease

_COLUMNS = """
id, seq, agent_did, version, status, commit_hash, release_notes, artifacts, is_stable, created_at, activated_at
"""

_INSERT = f"""
INSERT INTO operations_release (agent_did, version, commit_hash, release_notes, artifacts, is_stable)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (agent_did, version) DO NOTHING RETURNING {_COLUMNS}
"""  # noqa: S608

_FIND = f"SELECT {_COLUMNS} FROM operations_release WHERE agent_did = $1 AND id = $2"  # noqa: S608

_ACTIVE = f"SELECT {_COLUMNS} FROM operations_release WHERE agent_did = $1 AND status = 'active'"  # noqa: S608

_PAGE = f"""
SELECT {_COLUMNS} FROM operations_release WHERE agent_did = $1 AND ($2::bigint IS NULL OR seq < $2)
ORDER BY seq DESC LIMIT $3
"""  # noqa: S608

_RETIRE = """
UPDATE operations_release SET status = 'retired' WHERE agent_did = $1 AND status = 'active' AND id <> $2
"""

_ACTIVATE = f"""
UPDATE operations_release SET status = 'active', activated_at = clock_timestamp()
WHERE id = $1 AND status <> 'active' RETURNING {_COLUMNS}
"""  # noqa: S608


async def count(tx: Tx, did: str) -> int:
    """The number of releases of an agent."""
    found: int = await tx.fetchval("SELECT count(*) FROM operations_release WHERE agent_did = $1", did)
    return found


async def insert(tx: Tx, did: str, new: NewRelease) -> Release | None:
    """Store a draft; None where the agent has this version already."""
    artifacts = json.dumps(msgspec.to_builtins(new.artifacts)) if new.artifacts else None
    row = await tx.fetchrow(
        _INSERT, did, new.version, new.commit_hash, new.release_notes, artifacts, new.is_stable
    )
    return None if row is None else _release(row)


async def find(tx: Tx, did: str, release_id: UUID, *, lock: bool = False) -> Release | None:
    """A release of an agent, locked where the caller goes on to use it."""
    row = await tx.fetchrow(_FIND + (" FOR NO KEY UPDATE" if lock else ""), did, release_id)
    return None if row is None else _release(row)


async def active(tx: Tx, did: str) -> Release | None:
    """The active release of an agent."""
    row = await tx.fetchrow(_ACTIVE, did)
    return None if row is None else _release(row)


async def page(tx: Tx, did: str, before: int | None, limit: int) -> list[Release]:
    """Releases of an agent, the newest first."""
    return [_release(row) for row in await tx.fetch(_PAGE, did, before, limit)]


async def activate(tx: Tx, did: str, release_id: UUID) -> Release | None:
    """Retire the active release of a locked agent and make this one active; None where it is active already."""
    await tx.execute(_RETIRE, did, release_id)
    row = await tx.fetchrow(_ACTIVATE, release_id)
    return None if row is None else _release(row)


def _release(row: asyncpg.Record) -> Release:
    artifacts = json.loads(row["artifacts"]) if row["artifacts"] else {}
    return Release(
        id=row["id"],
        position=row["seq"],
        agent_did=row["agent_did"],
        version=row["version"],
        status=row["status"],
        commit_hash=row["commit_hash"],
        release_notes=row["release_notes"],
        artifacts={name: Artifact(**one) for name, one in artifacts.items()},
        is_stable=row["is_stable"],
        created_at=row["created_at"],
        activated_at=row["activated_at"],
    )
