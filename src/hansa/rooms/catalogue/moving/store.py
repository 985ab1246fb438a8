"""Every SQL statement of moving cards."""

from hansa.foundation.plumbing.storage.database import Tx


async def number_of(tx: Tx, did: str) -> int | None:
    """The number of the native card of an agent."""
    number: int | None = await tx.fetchval(
        "SELECT id FROM catalogue_card WHERE did = $1 AND source_registry IS NULL", did
    )
    return number


async def forget_host(tx: Tx, card_id: int) -> None:
    """Forget the host that the owner of a card named."""
    await tx.execute("UPDATE catalogue_card SET host = NULL WHERE id = $1 AND host IS NOT NULL", card_id)
