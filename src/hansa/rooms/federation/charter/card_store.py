"""Every SQL statement about the registry card.

Locks: who writes or signs the card locks its one row first.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

_LOCK = "SELECT FROM federation_registry_card FOR UPDATE"

_WRITTEN = """
SELECT editable, licence, fx, stock_card, encode(sha256(icon), 'hex') AS icon_digest, updated_at,
  (SELECT min(valid_from) FROM federation_registry_key) AS founded_at
FROM federation_registry_card
"""

_WRITE = "UPDATE federation_registry_card SET editable = $1::json, updated_at = clock_timestamp()"

_WRITE_LICENCE = "UPDATE federation_registry_card SET licence = $1::json"

_WRITE_FX = "UPDATE federation_registry_card SET fx = $1::json"

_WRITE_STOCK_CARD = "UPDATE federation_registry_card SET stock_card = $1::json"

_ICON = "SELECT icon, icon_type FROM federation_registry_card WHERE icon IS NOT NULL"

_WRITE_ICON = "UPDATE federation_registry_card SET icon = $1, icon_type = $2, updated_at = clock_timestamp()"

_NEWEST = """
SELECT version, card_etag, kid, signed_at, expires_at, document
FROM federation_registry_card_version ORDER BY version DESC LIMIT 1
"""

_ONE = """
SELECT version, card_etag, kid, signed_at, expires_at, document
FROM federation_registry_card_version WHERE version = $1
"""

_PEERS = "SELECT count(*) FROM federation_peer WHERE approval = 'approved' AND NOT removing"

_ADD = """
INSERT INTO federation_registry_card_version (version, card_etag, kid, signed_at, expires_at, document)
VALUES ($1, $2, $3, $4, $5, $6)
"""


class WrittenCard(msgspec.Struct, frozen=True):
    """Blocks that the operator wrote, and when; `founded_at` is None before the first key, `licence`, `fx` and `stock_card` without one."""

    editable: dict[str, Any]
    licence: dict[str, Any] | None
    fx: dict[str, Any] | None
    stock_card: dict[str, Any] | None
    icon_digest: str | None
    updated_at: datetime
    founded_at: datetime | None


class CardVersion(msgspec.Struct, frozen=True):
    """A signed version of the card; `document` is its JSON text, without `economic` and `stats`."""

    version: int
    card_etag: str
    kid: str
    signed_at: datetime
    expires_at: datetime
    document: str


async def lock_card(tx: Tx) -> None:
    """Let no other transaction write or sign the card until this one ends."""
    await tx.execute(_LOCK)


async def written_card(tx: Tx) -> WrittenCard:
    """Return the blocks that the operator wrote."""
    row = await tx.fetchrow(_WRITTEN)
    assert row is not None
    blocks = {
        name: None if row[name] is None else json.loads(row[name]) for name in ("licence", "fx", "stock_card")
    }
    return WrittenCard(**{**row, "editable": json.loads(row["editable"]), **blocks})


async def write_card(tx: Tx, editable: Mapping[str, Any]) -> None:
    """Replace the blocks that the operator wrote. The card is locked."""
    await tx.execute(_WRITE, json.dumps(editable))


async def write_licence(tx: Tx, licence: Mapping[str, Any] | None) -> None:
    """Replace the statement of the card on the licence. The card is locked."""
    await tx.execute(_WRITE_LICENCE, None if licence is None else json.dumps(licence))


async def write_fx(tx: Tx, fx: Mapping[str, Any] | None) -> None:
    """Replace the statement of the card on swaps. The card is locked."""
    await tx.execute(_WRITE_FX, None if fx is None else json.dumps(fx))


async def write_stock_card(tx: Tx, stock_card: Mapping[str, Any]) -> None:
    """Replace the statement of the card on the stock card. The card is locked."""
    await tx.execute(_WRITE_STOCK_CARD, json.dumps(stock_card))


async def icon(tx: Tx) -> tuple[bytes, str] | None:
    """The icon and its media type, or None without one."""
    row = await tx.fetchrow(_ICON)
    return None if row is None else (row["icon"], row["icon_type"])


async def write_icon(tx: Tx, image: bytes, media_type: str) -> None:
    """Replace the icon. The card is locked."""
    await tx.execute(_WRITE_ICON, image, media_type)


async def peer_count(tx: Tx) -> int:
    """How many registries are peers, as the public list of peers has them."""
    count: int = await tx.fetchval(_PEERS)
    return count


async def newest_version(tx: Tx) -> CardVersion | None:
    """The version that is served, or None before the first."""
    row = await tx.fetchrow(_NEWEST)
    return None if row is None else CardVersion(**row)


async def one_version(tx: Tx, version: int) -> CardVersion | None:
    """That version, or None."""
    row = await tx.fetchrow(_ONE, version)
    return None if row is None else CardVersion(**row)


async def add_version(tx: Tx, added: CardVersion) -> None:
    """Add the next version. The card is locked."""
    times = (added.signed_at, added.expires_at)
    await tx.execute(_ADD, added.version, added.card_etag, added.kid, *times, added.document)
