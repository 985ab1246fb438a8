"""Names that organizations reserve: the first part of a humanReadableId is for the cards of one organization alone.

Locks: the name, shared by cards that are about to use it, exclusively by a reservation. Of both at once the second sees the first.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from .errors import HumanReadableIdTaken

_KEY = "hashtextextended('catalogue: name ' || $1, 0)"

# In the order of text, `/` is followed by `0`.
_USED_BY_OTHERS = """
SELECT human_readable_id FROM catalogue_card
WHERE source_registry IS NULL AND human_readable_id >= $1 || '/' AND human_readable_id < $1 || '0'
  AND human_readable_id LIKE $1 || '/%' AND developer_id <> ALL ($2) LIMIT 1
"""

_RESERVE = "INSERT INTO catalogue_reserved_name (name, organization_id) VALUES ($1, $2)"

_HOLDER = "SELECT organization_id FROM catalogue_reserved_name WHERE name = $1"

_PUBLIC_NAME = """
SELECT name FROM catalogue_reserved_name WHERE organization_id = $1 AND catalogue_is_public_owner(organization_id)
"""


async def reserve_name(tx: Tx, name: str, organization_id: UUID, founder_id: int) -> None:
    """Reserve `name/…` for an organization, for good. Raises: HumanReadableIdTaken, where the card of another developer has such a name."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_KEY})", name)
    used: str | None = await tx.fetchval(_USED_BY_OTHERS, name, [founder_id])
    if used is not None:
        raise HumanReadableIdTaken(context={"human_readable_id": used})
    await tx.execute(_RESERVE, name, organization_id)


async def require_free_name(tx: Tx, human_readable_id: str, organization_id: UUID | None) -> None:
    """Require that a card of this owner may have the name. Raises: HumanReadableIdTaken."""
    name = human_readable_id.partition("/")[0]
    await tx.execute(f"SELECT pg_advisory_xact_lock_shared({_KEY})", name)
    holder: UUID | None = await tx.fetchval(_HOLDER, name)
    if holder is not None and holder != organization_id:
        raise HumanReadableIdTaken(context={"human_readable_id": human_readable_id})


async def public_name_of(tx: Tx, organization_id: UUID | None) -> str | None:
    """The name that a public organization has reserved; None of a private one, and without an organization."""
    if organization_id is None:
        return None
    name: str | None = await tx.fetchval(_PUBLIC_NAME, organization_id)
    return name
