"""Every SQL statement of moving cards."""

from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx

_LEFT_AT = """
WITH stating AS (SELECT jsonb_build_object('supportedInterfaces', jsonb_build_array(jsonb_build_object('url', $2::text))) AS address)
SELECT max(v.valid_until) FROM stating s, catalogue_card c JOIN catalogue_card_version v ON v.card_id = c.id
WHERE c.did = $1 AND c.source_registry IS NULL AND v.card_data::jsonb @> s.address AND NOT c.card_data::jsonb @> s.address
"""


async def number_of(tx: Tx, did: str) -> int | None:
    """The number of the native card of an agent."""
    number: int | None = await tx.fetchval(
        "SELECT id FROM catalogue_card WHERE did = $1 AND source_registry IS NULL", did
    )
    return number


async def left_at(tx: Tx, did: str, url: str) -> datetime | None:
    """The time since which the card of an agent states an address no more; None where it states it, or never did in the kept versions."""
    left: datetime | None = await tx.fetchval(_LEFT_AT, did, url)
    return left


async def forget_host(tx: Tx, card_id: int) -> None:
    """Forget the host that the owner of a card named."""
    await tx.execute("UPDATE catalogue_card SET host = NULL WHERE id = $1 AND host IS NOT NULL", card_id)
