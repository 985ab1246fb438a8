"""The SQL of the acts in organizations, which are never changed."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.rooms.organizations.records import Done

_INSERT = """
INSERT INTO organizations_act (organization_id, actor_id, credential, act, target, digest)
VALUES ($1, $2, $3, $4, $5, $6)
"""

_PAGE = with_total(
    "SELECT done_at AS at, actor_id AS actor, credential, act, target, encode(digest, 'hex') AS digest"
    " FROM organizations_act WHERE organization_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3",
    "SELECT count(*) FROM organizations_act WHERE organization_id = $1",
)


async def insert(tx: Tx, *act: object) -> None:
    """Write one act: organization, actor, credential, act, target, digest."""
    await tx.execute(_INSERT, *act)


async def acts_of(tx: Tx, organization_id: UUID, *, limit: int, offset: int) -> tuple[list[Done], int]:
    """A page of the acts in an organization, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE, organization_id, limit, offset)
    return [Done(**row) for row in rows], total
