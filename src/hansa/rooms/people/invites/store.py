"""Every statement on invitations.

A use is one conditional UPDATE: of two at once the second waits for the first and then finds the uses that remain.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx

from .records import Invite, NewInvite

_SHOWN = """
i.id, i.code_prefix, i.author_id, CASE WHEN d.closed_at IS NULL THEN d.name END AS author_name, i.note, i.areas, i.max_uses, i.uses, i.created_at,
i.expires_at,
CASE WHEN i.revoked_at IS NOT NULL THEN 'revoked' WHEN i.uses = i.max_uses THEN 'used_up'
  WHEN i.expires_at <= clock_timestamp() THEN 'expired' ELSE 'active' END AS state
"""

_ADD = """
INSERT INTO people_invite (code_hash, code_prefix, author_id, note, areas, max_uses, expires_at)
SELECT c.code_hash, c.code_prefix, $3, $4, $5, $6, now() + make_interval(days => $7)
FROM unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS c (code_hash, code_prefix, position) ORDER BY c.position
RETURNING id
"""

_FIND = f"""
SELECT {_SHOWN} FROM people_invite i JOIN people_developer d ON d.id = i.author_id WHERE i.id = ANY($1) ORDER BY i.id
"""  # noqa: S608

_LIST = f"""
SELECT {_SHOWN} FROM people_invite i JOIN people_developer d ON d.id = i.author_id
ORDER BY i.id DESC LIMIT $1 OFFSET $2
"""  # noqa: S608

_REVOKE = """
UPDATE people_invite SET revoked_at = now()
WHERE (code_hash = $1 OR id = $2) AND revoked_at IS NULL AND uses < max_uses RETURNING id
"""

# What the author has ceased to administer since, the code gives no more.
_USE = """
UPDATE people_invite i SET uses = uses + 1 FROM people_developer d
WHERE i.code_hash = $1 AND i.revoked_at IS NULL AND i.uses < i.max_uses
  AND (i.expires_at IS NULL OR i.expires_at > clock_timestamp()) AND d.id = i.author_id
RETURNING i.id, ARRAY(
  SELECT unnest(i.areas) INTERSECT SELECT unnest(d.areas) WHERE NOT plumbing_is_barred_author(d.id)
) AS areas
"""


async def add_invites(tx: Tx, new: NewInvite, codes: Sequence[tuple[bytes, str]]) -> list[Invite]:
    """Write an invitation for each hash and prefix of a code, in their order."""
    rows = await tx.fetch(
        _ADD,
        [code_hash for code_hash, _ in codes],
        [prefix for _, prefix in codes],
        new.author_id,
        new.note,
        list(new.areas),
        new.max_uses,
        new.lifetime_days,
    )
    return await find_invites(tx, [row["id"] for row in rows])


async def find_invites(tx: Tx, ids: Sequence[int]) -> list[Invite]:
    return [Invite(**row) for row in await tx.fetch(_FIND, list(ids))]


async def list_invites(tx: Tx, *, limit: int, offset: int) -> tuple[list[Invite], int]:
    """A page of invitations, newest first, and how many there are in all."""
    rows = await tx.fetch(_LIST, limit, offset)
    total: int = await tx.fetchval("SELECT count(*) FROM people_invite")
    return [Invite(**row) for row in rows], total


async def revoke_invite(tx: Tx, *, code_hash: bytes | None, invite_id: int | None) -> int | None:
    """Revoke the invitation with this code or id; None when there is none that is neither used up nor revoked."""
    revoked: int | None = await tx.fetchval(_REVOKE, code_hash, invite_id)
    return revoked


async def use_invite(tx: Tx, code_hash: bytes) -> tuple[int, list[str]] | None:
    """Take one use; the invitation's id and the areas that it gives, or None when it is not good."""
    row = await tx.fetchrow(_USE, code_hash)
    return (row["id"], row["areas"]) if row else None


async def add_use(tx: Tx, invite_id: int, developer_id: int) -> None:
    await tx.execute(
        "INSERT INTO people_invite_use (developer_id, invite_id) VALUES ($1, $2)", developer_id, invite_id
    )
