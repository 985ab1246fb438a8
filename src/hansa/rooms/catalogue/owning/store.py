"""Every SQL statement of an owner's acts, but for the document itself.

Locks: `lock_card` holds the card's row until the transaction ends; `lock_listing` makes the listing cards of one
developer wait for each other.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

_LOCK_CARD = {
    UUID: "SELECT id FROM catalogue_card WHERE uuid = $1 FOR NO KEY UPDATE",
    str: "SELECT id FROM catalogue_card WHERE did = $1 FOR NO KEY UPDATE",
    int: "SELECT id FROM catalogue_card WHERE id = $1 FOR NO KEY UPDATE",
}

_SET_ACTIVE = """
UPDATE catalogue_card SET is_active = $2 WHERE id = $1 AND is_active <> $2 AND status <> 'revoked'
"""

_SET_UNLISTED = """
UPDATE catalogue_card SET unlisted = $2 WHERE id = $1 AND unlisted <> $2 AND status <> 'revoked'
"""

_COUNT_LISTING_CARDS = """
SELECT count(*) FROM catalogue_card WHERE developer_id = $1 AND did IS NULL AND status <> 'revoked'
"""

# The conflict locks the row until the transaction ends.
_LOCK_IMPORTER = """
INSERT INTO catalogue_importer (developer_id) VALUES ($1)
ON CONFLICT (developer_id) DO UPDATE SET developer_id = excluded.developer_id
"""

_COUNT_UNVERIFIED = """
SELECT count(*) FROM catalogue_card WHERE developer_id = $1 AND mcp_name IS NOT NULL AND namespace_verified_at IS NULL
  AND is_active AND status <> 'revoked' AND id IS DISTINCT FROM $2
"""


async def lock_card(tx: Tx, key: UUID | str | int) -> int | None:
    """The number of the card with that UUID, DID or number, locked until the transaction ends."""
    number: int | None = await tx.fetchval(_LOCK_CARD[type(key)], key)
    return number


async def set_active(tx: Tx, card_id: int, *, is_active: bool) -> None:
    """Write the owner's switch; nothing where it stands so already."""
    await tx.execute(_SET_ACTIVE, card_id, is_active)


async def set_unlisted(tx: Tx, card_id: int, *, unlisted: bool) -> None:
    """Write the listing; nothing where it stands so already."""
    await tx.execute(_SET_UNLISTED, card_id, unlisted)


async def count_listing_cards(tx: Tx, developer_id: int) -> int:
    """How many cards without an agent the developer has. They are counted one creation after the other."""
    await tx.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('catalogue: listing cards', $1))", developer_id
    )
    count: int = await tx.fetchval(_COUNT_LISTING_CARDS, developer_id)
    return count


async def lock_importer(tx: Tx, developer_id: int) -> None:
    """Let the imports of a developer wait for each other."""
    await tx.execute(_LOCK_IMPORTER, developer_id)


async def count_unverified(tx: Tx, developer_id: int, card_id: int | None) -> int:
    """How many active cards of imported servers without a verified namespace the developer has beside this one."""
    count: int = await tx.fetchval(_COUNT_UNVERIFIED, developer_id, card_id)
    return count


async def forget_importer(tx: Tx, developer_id: int) -> None:
    """Forget that the developer has imported a server."""
    await tx.execute("DELETE FROM catalogue_importer WHERE developer_id = $1", developer_id)
