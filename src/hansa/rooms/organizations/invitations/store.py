"""The SQL of invitations. An invitation ends by one conditional UPDATE: of two at once the second finds it ended."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.rooms.organizations.records import Invitation, OwnInvitation
from hansa.rooms.organizations.rules import Role

DAYS_KEPT = 30

_COLUMNS = "i.id, i.email, i.role, i.team_ids, i.invited_by, i.created_at, i.expires_at"

_REPLACE = """
UPDATE organizations_invitation SET status = 'replaced', ended_at = clock_timestamp()
WHERE organization_id = $1 AND email = $2 AND status = 'pending'
"""

_INSERT = f"""
INSERT INTO organizations_invitation AS i
  (id, organization_id, email, role, team_ids, token_sha256, invited_by, expires_at, request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8, $9) RETURNING {_COLUMNS}
"""  # noqa: S608

_LOCK_COUNTED = "SELECT pg_advisory_xact_lock(hashtextextended('organizations: invitations ' || $1, 0))"

_COUNT_DAY = """
SELECT count(*) FILTER (WHERE organization_id = $1) AS of_organization, count(*) FILTER (WHERE invited_by = $2) AS of_inviter,
  count(*) FILTER (WHERE email = $3) AS of_address
FROM organizations_invitation
WHERE created_at > now() - interval '1 day' AND (organization_id = $1 OR invited_by = $2 OR email = $3)
"""

_PENDING = """
FROM organizations_invitation i
WHERE i.organization_id = $1 AND i.status = 'pending' AND i.expires_at > clock_timestamp()
"""

_PAGE_OF_PENDING = with_total(
    f"SELECT {_COLUMNS} {_PENDING} ORDER BY i.created_at DESC, i.id LIMIT $2 OFFSET $3",
    f"SELECT count(*) {_PENDING}",
)

_OF_ADDRESS = """
FROM organizations_invitation i JOIN organizations_organization o ON o.id = i.organization_id
WHERE i.email = $1 AND i.status = 'pending' AND i.expires_at > clock_timestamp() AND o.status = 'active'
"""

_PAGE_OF_ADDRESS = with_total(
    f"SELECT i.id, o.slug, o.name, i.role, i.created_at, i.expires_at {_OF_ADDRESS}"
    " ORDER BY i.created_at DESC, i.id LIMIT $2 OFFSET $3",
    f"SELECT count(*) {_OF_ADDRESS}",
)

_FIND = """
SELECT id, organization_id, email, role, team_ids, invited_by, request_id FROM organizations_invitation
WHERE token_sha256 = $1 AND status = 'pending' AND expires_at > clock_timestamp()
"""

_END = """
UPDATE organizations_invitation SET status = $2, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'pending' AND expires_at > clock_timestamp() RETURNING true
"""

_REVOKE = """
UPDATE organizations_invitation SET status = 'revoked', ended_at = clock_timestamp()
WHERE id = $2 AND organization_id = $1 AND status = 'pending' RETURNING true
"""

_FORGET = """
DELETE FROM organizations_invitation WHERE id IN (SELECT id FROM organizations_invitation
  WHERE expires_at < now() - make_interval(days => $1) LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""


class Answerable(msgspec.Struct, frozen=True):
    """A pending invitation as its token finds it."""

    id: UUID
    organization_id: UUID
    email: str
    role: Role
    team_ids: tuple[UUID, ...]
    invited_by: int
    request_id: UUID | None


class OfADay(msgspec.Struct, frozen=True):
    """Invitations of the last day: of the organization, of the inviter and to the address."""

    of_organization: int
    of_inviter: int
    of_address: int


async def count_day(tx: Tx, organization_id: UUID, inviter_id: int, email: str) -> OfADay:
    """Count the invitations of the last day; they do not grow before the transaction ends. The organization is locked."""
    for counted in sorted((f"developer:{inviter_id}", email)):
        await tx.execute(_LOCK_COUNTED, counted)
    row = await tx.fetchrow(_COUNT_DAY, organization_id, inviter_id, email)
    assert row is not None
    return OfADay(**row)


async def insert(
    tx: Tx,
    organization_id: UUID,
    *,
    email: str,
    role: Role,
    team_ids: Sequence[UUID],
    token_sha256: bytes,
    invited_by: int,
    lifetime: timedelta,
    request_id: UUID | None = None,
) -> Invitation:
    """Write an invitation in place of the pending one of the address."""
    await tx.execute(_REPLACE, organization_id, email)
    row = await tx.fetchrow(
        _INSERT,
        uuid4(),
        organization_id,
        email,
        role,
        list(team_ids),
        token_sha256,
        invited_by,
        lifetime,
        request_id,
    )
    assert row is not None
    return _invitation(row)


async def pending(tx: Tx, organization_id: UUID, *, limit: int, offset: int) -> tuple[list[Invitation], int]:
    """A page of the pending invitations, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE_OF_PENDING, organization_id, limit, offset)
    return [_invitation(row) for row in rows], total


async def of_address(tx: Tx, email: str, *, limit: int, offset: int) -> tuple[list[OwnInvitation], int]:
    """A page of the pending invitations to an address, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE_OF_ADDRESS, email, limit, offset)
    return [OwnInvitation(**{**row, "role": Role(row["role"])}) for row in rows], total


async def find(tx: Tx, token_sha256: bytes) -> Answerable | None:
    """The pending invitation with this token; takes no lock."""
    row = await tx.fetchrow(_FIND, token_sha256)
    if row is None:
        return None
    return Answerable(**{**row, "role": Role(row["role"]), "team_ids": tuple(row["team_ids"])})


async def end(tx: Tx, invitation_id: UUID, status: str) -> bool:
    """End a pending invitation; False when it has ended or expired."""
    return bool(await tx.fetchval(_END, invitation_id, status))


async def revoke(tx: Tx, organization_id: UUID, invitation_id: UUID) -> bool:
    """Revoke a pending invitation of the organization; False when there is none."""
    return bool(await tx.fetchval(_REVOKE, organization_id, invitation_id))


async def revoke_all(tx: Tx, organization_id: UUID) -> None:
    """Revoke every pending invitation of a locked organization."""
    await tx.execute(
        "UPDATE organizations_invitation SET status = 'revoked', ended_at = clock_timestamp()"
        " WHERE organization_id = $1 AND status = 'pending'",
        organization_id,
    )


async def forget(tx: Tx) -> None:
    """Delete invitations with their addresses some weeks after their end."""
    await tx.execute(_FORGET, DAYS_KEPT)


async def forget_address(tx: Tx, email: str) -> None:
    """Delete every invitation to an address."""
    await tx.execute("DELETE FROM organizations_invitation WHERE email = $1", email)


def _invitation(row: asyncpg.Record | dict[str, Any]) -> Invitation:
    return Invitation(**{**row, "role": Role(row["role"]), "team_ids": tuple(row["team_ids"])})
