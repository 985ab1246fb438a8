"""The SQL of pipelines and their revisions, and of the counts of an agent.

Locks: the row of the agent while its pipelines or runs are counted, before any other row of this room.
"""

from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total

from .definition import Definition
from .records import Pipeline

_COLUMNS = "p.id, p.agent_did, p.revision, r.definition, p.created_at, p.updated_at"
_PIPELINES = f"""
SELECT {_COLUMNS} FROM pipelines_pipeline p
JOIN pipelines_revision r ON r.pipeline_id = p.id AND r.revision = p.revision
WHERE p.agent_did = $1 AND p.deleted_at IS NULL
"""  # noqa: S608
_PAGE = with_total(
    f"{_PIPELINES} ORDER BY p.created_at DESC, p.id LIMIT $2 OFFSET $3",
    "SELECT count(*) FROM pipelines_pipeline p WHERE p.agent_did = $1 AND p.deleted_at IS NULL",
)
_LOCK_AGENT = """
INSERT INTO pipelines_agent AS a (agent_did, day, runs) VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 0)
ON CONFLICT (agent_did) DO UPDATE SET day = excluded.day, runs = CASE WHEN a.day = excluded.day THEN a.runs ELSE 0 END
RETURNING runs
"""
_LOCK_PIPELINE = """
SELECT revision FROM pipelines_pipeline WHERE agent_did = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE
"""


async def lock_agent(tx: Tx, did: str) -> int:
    """Let acts that count pipelines or runs of the agent follow each other; returns the number of runs started today."""
    runs: int = await tx.fetchval(_LOCK_AGENT, did)
    return runs


async def count_run(tx: Tx, did: str) -> None:
    """Count a run of today; the agent is locked."""
    await tx.execute("UPDATE pipelines_agent SET runs = runs + 1 WHERE agent_did = $1", did)


async def count_pipelines(tx: Tx, did: str) -> int:
    """How many pipelines the agent has."""
    count: int = await tx.fetchval(
        "SELECT count(*) FROM pipelines_pipeline WHERE agent_did = $1 AND deleted_at IS NULL", did
    )
    return count


async def count_live_runs(tx: Tx, did: str) -> int:
    """How many runs of the agent have not ended."""
    count: int = await tx.fetchval(
        "SELECT count(*) FROM pipelines_run WHERE agent_did = $1 AND ended_at IS NULL", did
    )
    return count


async def insert(tx: Tx, pipeline_id: UUID, did: str, definition: Definition) -> None:
    """Write a pipeline with its first revision."""
    await tx.execute("INSERT INTO pipelines_pipeline (id, agent_did) VALUES ($1, $2)", pipeline_id, did)
    await _insert_revision(tx, pipeline_id, 1, definition)


async def add_revision(tx: Tx, pipeline_id: UUID, revision: int, definition: Definition) -> None:
    """Write the next revision of a locked pipeline."""
    await _insert_revision(tx, pipeline_id, revision, definition)
    await tx.execute(
        "UPDATE pipelines_pipeline SET revision = $2, updated_at = now() WHERE id = $1", pipeline_id, revision
    )


async def _insert_revision(tx: Tx, pipeline_id: UUID, revision: int, definition: Definition) -> None:
    await tx.execute(
        "INSERT INTO pipelines_revision (pipeline_id, revision, definition) VALUES ($1, $2, $3)",
        pipeline_id,
        revision,
        msgspec.json.encode(definition).decode(),
    )


async def lock(tx: Tx, did: str, pipeline_id: UUID) -> int | None:
    """Lock a pipeline of the agent; returns its revision, None where there is none."""
    revision: int | None = await tx.fetchval(_LOCK_PIPELINE, did, pipeline_id)
    return revision


async def delete(tx: Tx, pipeline_id: UUID) -> bool:
    """Delete a locked pipeline; False where a run of it has not ended."""
    statement = """
    UPDATE pipelines_pipeline p SET deleted_at = now() WHERE p.id = $1
      AND NOT EXISTS (SELECT FROM pipelines_run r WHERE r.pipeline_id = p.id AND r.ended_at IS NULL) RETURNING true
    """
    return await tx.fetchval(statement, pipeline_id) is not None


async def find(tx: Tx, did: str, pipeline_id: UUID) -> Pipeline | None:
    """A pipeline of the agent."""
    row = await tx.fetchrow(f"{_PIPELINES} AND p.id = $2", did, pipeline_id)
    return None if row is None else pipeline_of(dict(row))


async def page(tx: Tx, did: str, limit: int, offset: int) -> tuple[list[Pipeline], int]:
    """A page of the pipelines of the agent, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE, did, limit, offset)
    return [pipeline_of(row) for row in rows], total


async def definitions_of(tx: Tx, did: str) -> list[Definition]:
    """The definitions of the agent's pipelines, the oldest first."""
    rows = await tx.fetch(f"{_PIPELINES} ORDER BY p.created_at, p.id", did)
    return [definition_of(row["definition"]) for row in rows]


def pipeline_of(row: dict[str, Any]) -> Pipeline:
    """The pipeline of a row."""
    return Pipeline(**{**row, "definition": definition_of(row["definition"])})


def definition_of(stored: str) -> Definition:
    """The definition as it was stored."""
    return msgspec.json.decode(stored, type=Definition)
