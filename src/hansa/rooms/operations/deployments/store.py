"""Every SQL statement of deployments. The row of the agent is locked before one is written."""

from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import Unfit

from .records import Deployment, NewDeployment

_SELECT = """
SELECT d.id, d.seq AS position, d.agent_did, d.release_id, r.version, d.url, d.binding, d.protocol_version, d.note,
  d.must_be_signed, d.card_version, d.status, d.reason, d.detail, d.former_url, d.before_id, d.rolls_back, d.created_at, d.ended_at
FROM operations_deployment d JOIN operations_release r ON r.id = d.release_id
"""

_INSERT = """
INSERT INTO operations_deployment
  (agent_did, release_id, url, binding, protocol_version, note, must_be_signed, card_version, status, before_id, rolls_back)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (agent_did) WHERE status IN ('pending', 'verifying') DO NOTHING RETURNING id
"""

_COUNT = """
SELECT count(*) FROM operations_deployment WHERE agent_did = $1 AND created_at > clock_timestamp() - interval '1 day'
"""

_FIND = f"{_SELECT} WHERE d.agent_did = $1 AND d.id = $2"
_OPEN = f"{_SELECT} WHERE d.id = $1 AND d.status IN ('pending', 'verifying')"
_LOCK_OPEN = f"{_OPEN} FOR NO KEY UPDATE OF d"
_ACTIVE = f"{_SELECT} WHERE d.agent_did = $1 AND d.status = 'active'"
_PAGE = (
    f"{_SELECT} WHERE d.agent_did = $1 AND ($2::bigint IS NULL OR d.seq < $2) ORDER BY d.seq DESC LIMIT $3"
)

_BEGIN = """
UPDATE operations_deployment SET status = 'verifying' WHERE id = $1 AND status IN ('pending', 'verifying') RETURNING id
"""

_FAIL = """
UPDATE operations_deployment SET status = 'failed', reason = $2, detail = left($3, 300), ended_at = clock_timestamp()
WHERE id = $1 AND status IN ('pending', 'verifying') RETURNING id
"""

_SUPERSEDE = """
UPDATE operations_deployment SET status = 'superseded' WHERE agent_did = $1 AND status = 'active' RETURNING id
"""

_ACTIVATE = """
UPDATE operations_deployment SET status = 'active', former_url = $2, ended_at = clock_timestamp(),
  before_id = CASE WHEN rolls_back IS NULL THEN $3 ELSE before_id END
WHERE id = $1 AND status IN ('pending', 'verifying') RETURNING id
"""


async def insert(tx: Tx, new: NewDeployment) -> UUID | None:
    """Store a deployment and return its id; None where another one of the agent is open."""
    found: UUID | None = await tx.fetchval(_INSERT, *msgspec.structs.astuple(new))
    return found


async def count_of_day(tx: Tx, did: str) -> int:
    """The number of deployments of an agent within a day."""
    found: int = await tx.fetchval(_COUNT, did)
    return found


async def find(tx: Tx, did: str, deployment_id: UUID) -> Deployment | None:
    """A deployment of an agent."""
    return _deployment(await tx.fetchrow(_FIND, did, deployment_id))


async def find_open(tx: Tx, deployment_id: UUID) -> Deployment | None:
    """A deployment whose end is still to come."""
    return _deployment(await tx.fetchrow(_OPEN, deployment_id))


async def lock_open(tx: Tx, deployment_id: UUID) -> Deployment | None:
    """The same, locked until the transaction ends."""
    return _deployment(await tx.fetchrow(_LOCK_OPEN, deployment_id))


async def active(tx: Tx, did: str) -> Deployment | None:
    """The active deployment of an agent."""
    return _deployment(await tx.fetchrow(_ACTIVE, did))


async def page(tx: Tx, did: str, before: int | None, limit: int) -> list[Deployment]:
    """Deployments of an agent, the newest first."""
    return [Deployment(**row) for row in await tx.fetch(_PAGE, did, before, limit)]


async def begin(tx: Tx, deployment_id: UUID) -> bool:
    """Note that an open deployment is being checked; returns whether it is open."""
    return await tx.fetchval(_BEGIN, deployment_id) is not None


async def fail(tx: Tx, deployment_id: UUID, unfit: Unfit) -> None:
    """End a locked open deployment, which changed nothing."""
    ended = await tx.fetchval(_FAIL, deployment_id, unfit.reason, unfit.sentence)
    assert ended is not None, "the deployment was locked"


async def activate(tx: Tx, deployment: Deployment, former_url: str) -> None:
    """Make a locked open deployment the active one of its agent; the one before is superseded."""
    before: UUID | None = await tx.fetchval(_SUPERSEDE, deployment.agent_did)
    activated = await tx.fetchval(_ACTIVATE, deployment.id, former_url, before)
    assert activated is not None, "the deployment was locked"


def _deployment(row: asyncpg.Record | None) -> Deployment | None:
    return None if row is None else Deployment(**row)
