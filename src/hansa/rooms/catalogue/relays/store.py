"""Every SQL statement about signed items that are passed on, and about homes that are known by a relay.

Locks: items from a peer are written under the lock of its row in `catalogue_peer_sync`. Of two relays of one home the nearer
one wins in the statement that writes the home.
"""

import json
from collections.abc import Sequence
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.exports import SIGNED

from .records import SignedItem, StoredHome

PAGE_MAX_BYTES = 6 * 1024 * 1024

# The same item again keeps its place; an older one of another relay changes nothing.
_KEEP_ITEMS = """
INSERT INTO catalogue_signed_item (did, source_registry, epoch, version, position, item)
SELECT g.did, $1, g.epoch, g.version, plumbing_position(), g.item::json
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[]) AS g (did, epoch, version, item)
WHERE EXISTS (SELECT FROM catalogue_card c WHERE c.did = g.did AND c.source_registry = $1)
ORDER BY g.did
ON CONFLICT (did) DO UPDATE SET source_registry = excluded.source_registry, epoch = excluded.epoch,
  version = excluded.version, position = excluded.position, item = excluded.item
WHERE catalogue_signed_item.source_registry <> excluded.source_registry
  OR ((excluded.epoch, excluded.version) >= (catalogue_signed_item.epoch, catalogue_signed_item.version)
    AND catalogue_signed_item.item::text <> excluded.item::text)
"""

_REMOVE_ITEMS = "DELETE FROM catalogue_signed_item WHERE source_registry = $1"

_FORGET_ITEMS = "DELETE FROM catalogue_signed_item"

# Every mirror of a peer has its item where its home was read with RELAY_CARDS from the start.
_READ_ANEW = """
UPDATE catalogue_peer_sync SET cards_next = NULL, relayed_next = NULL
WHERE EXISTS (SELECT FROM catalogue_card c WHERE c.source_registry IS NOT NULL
  AND NOT EXISTS (SELECT FROM catalogue_signed_item s WHERE s.did = c.did))
"""

_PAGE = f"""
SELECT id, position, source_registry, item::text AS item, found FROM (
  SELECT s.*, count(*) OVER () AS found, sum(length(item::text)) OVER (ORDER BY position, id) - length(item::text) AS bytes_before
  FROM (
    SELECT * FROM catalogue_signed_item
    WHERE (position, id) > ($1, $2) AND position < plumbing_oldest_open() AND source_registry <> $4
    ORDER BY position, id LIMIT $3 + 1
  ) s
) s WHERE bytes_before < {PAGE_MAX_BYTES} ORDER BY position, id LIMIT $3
"""  # noqa: S608

_COLUMNS = (
    "ledger_id, peer_id, relay_ledger_id, hop_distance, registry_url, registry_name, settlement_currency, keys, epoch, trouble,"
    " extract(epoch FROM clock_timestamp() - read_at)::float8 AS age_seconds"
)

_HOMES = f"SELECT {_COLUMNS} FROM catalogue_home ORDER BY ledger_id"  # noqa: S608

# A farther relay takes over only where the nearer one may not be read any more ($11: the peers that may).
_KEEP_HOME = """
INSERT INTO catalogue_home AS h (ledger_id, peer_id, relay_ledger_id, hop_distance, registry_url, registry_name,
  settlement_currency, keys, trouble, read_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() - $10 * interval '1 second')
ON CONFLICT (ledger_id) DO UPDATE SET peer_id = excluded.peer_id, relay_ledger_id = excluded.relay_ledger_id,
  hop_distance = excluded.hop_distance, registry_url = excluded.registry_url, registry_name = excluded.registry_name,
  settlement_currency = excluded.settlement_currency, keys = excluded.keys, trouble = excluded.trouble,
  read_at = excluded.read_at
WHERE h.peer_id = excluded.peer_id OR excluded.hop_distance < h.hop_distance OR h.peer_id <> ALL ($11::bigint[])
RETURNING 1
"""

_SET_EPOCH = "UPDATE catalogue_home SET epoch = $2 WHERE ledger_id = $1"

_FORGET_VERSIONS = """
UPDATE catalogue_card SET peer_version = NULL, peer_status_version = NULL WHERE source_registry = $1
"""

_REMOVE_HOME = "DELETE FROM catalogue_home WHERE ledger_id = $1"

_HOMES_BY = "SELECT ledger_id FROM catalogue_home WHERE peer_id = $1 ORDER BY ledger_id"

_PLACE = "SELECT relayed_next, relayed_epoch FROM catalogue_peer_sync WHERE peer_id = $1"

_MOVE = """
UPDATE catalogue_peer_sync SET relayed_next = $3 WHERE peer_id = $1 AND relayed_next IS NOT DISTINCT FROM $2 RETURNING 1
"""

_BEGIN_ANEW = "UPDATE catalogue_peer_sync SET relayed_next = NULL, relayed_epoch = $2 WHERE peer_id = $1"

_TRY_TROUBLED_AGAIN = """
UPDATE catalogue_peer_sync SET relayed_next = NULL WHERE peer_id = $1 AND EXISTS (SELECT FROM catalogue_home
  WHERE peer_id = $1 AND trouble IS NOT NULL AND read_at < clock_timestamp() - $2 * interval '1 second')
"""

_READ_RELAYS_ANEW = "UPDATE catalogue_peer_sync SET relayed_next = NULL"

# The home's statement travels with the card; receipts are for registries that read the home itself.
_STATE = """
UPDATE catalogue_card c SET peer_status = g.status, peer_status_version = g.version,
  status = CASE WHEN $5 = 'enforce' THEN g.status ELSE 'active' END
FROM unnest($2::text[], $3::bigint[], $4::text[]) AS g (did, version, status)
WHERE c.did = g.did AND (c.source_registry = $1) IS TRUE AND c.peer_status <> g.status
  AND g.version > coalesce(c.peer_status_version, -1) AND g.version >= coalesce(c.peer_version, -1)
"""


async def keep_items(tx: Tx, source_registry: str, items: Sequence[dict[str, Any]]) -> None:
    """Keep the signed items of cards that are mirrored from this registry."""
    if not items:
        return
    newest = {item["did"]: item for item in sorted(items, key=lambda item: item["version"])}
    items = list(newest.values())
    columns = [[item[name] for item in items] for name in ("did", "epoch", "version")]
    texts = [json.dumps(_passed_on(item), separators=(",", ":")) for item in items]
    await tx.execute(_KEEP_ITEMS, source_registry, *columns, texts)


def _passed_on(item: dict[str, Any]) -> dict[str, Any]:
    """Return the members that the home signed, the card and the signature; other members that the sender wrote into the item are left out."""
    signature = {name: item["signature"][name] for name in ("protected", "signature")}
    updated_at = item.get("updated_at")
    return {
        **{name: item.get(name) for name in SIGNED},
        "updated_at": updated_at if isinstance(updated_at, str) else None,
        "card_data": item.get("card_data"),
        "signature": signature,
    }


async def remove_items(tx: Tx, source_registry: str) -> None:
    """Pass on nothing of this registry any more."""
    await tx.execute(_REMOVE_ITEMS, source_registry)


async def settle(tx: Tx, *, is_relay: bool) -> None:
    """Without RELAY_CARDS nothing is kept; with it peers are read anew where an item is lacking."""
    await tx.execute(_READ_ANEW if is_relay else _FORGET_ITEMS)


async def page(tx: Tx, position: int, after: int, limit: int, reader: str) -> tuple[list[SignedItem], bool]:
    """The next items in the order in which they came, without those of the reader itself; and whether more follow."""
    rows = await tx.fetch(_PAGE, position, after, limit, reader)
    items = [SignedItem(row["id"], row["position"], row["source_registry"], row["item"]) for row in rows]
    return items, bool(rows) and rows[0]["found"] > len(rows)


async def homes(tx: Tx) -> list[StoredHome]:
    """Every registry that is known by a relay."""
    found = [dict(row) for row in await tx.fetch(_HOMES)]
    return [StoredHome(**{**row, "keys": row["keys"] and json.loads(row["keys"])}) for row in found]


async def keep_home(tx: Tx, home: StoredHome, open_peers: Sequence[int]) -> bool:
    """Write a home as its relay states it now; False where a nearer relay brings it."""
    keys = None if home.keys is None else json.dumps(home.keys)
    said = (home.ledger_id, home.peer_id, home.relay_ledger_id, home.hop_distance, home.registry_url)
    signed = (home.registry_name, home.settlement_currency, keys, home.trouble)
    return await tx.fetchval(_KEEP_HOME, *said, *signed, home.age_seconds, open_peers) is not None


async def begin_epoch(tx: Tx, ledger_id: str, epoch: int, *, is_restored: bool) -> None:
    """Items of this epoch are taken from now on; after a restore at the home its versions count from nothing."""
    await tx.execute(_SET_EPOCH, ledger_id, epoch)
    if is_restored:
        await tx.execute(_FORGET_VERSIONS, ledger_id)


async def remove_home(tx: Tx, ledger_id: str) -> None:
    """Know a registry by no relay any more."""
    await tx.execute(_REMOVE_HOME, ledger_id)


async def homes_by(tx: Tx, peer_id: int) -> list[str]:
    """The ledger ids of the registries that this peer brings."""
    return [row["ledger_id"] for row in await tx.fetch(_HOMES_BY, peer_id)]


async def place(tx: Tx, peer_id: int) -> tuple[str | None, int | None] | None:
    """How far the relayed items of a peer were read, and its epoch then; None: it is not read."""
    row = await tx.fetchrow(_PLACE, peer_id)
    return None if row is None else (row["relayed_next"], row["relayed_epoch"])


async def move(tx: Tx, peer_id: int, since: str | None, following: str) -> bool:
    """Move the place; False where another process has moved it, or the peer is gone."""
    return await tx.fetchval(_MOVE, peer_id, since, following) is not None


async def begin_anew(tx: Tx, peer_id: int, epoch: int | None) -> None:
    """Read the relayed items of a peer from the start."""
    await tx.execute(_BEGIN_ANEW, peer_id, epoch)


async def try_troubled_again(tx: Tx, peer_id: int, after_seconds: float) -> None:
    """Read the feed of a peer from the start where it brings a home whose address was in trouble so long ago."""
    await tx.execute(_TRY_TROUBLED_AGAIN, peer_id, after_seconds)


async def read_relays_anew(tx: Tx) -> None:
    """Read every relay from the start: items left out for a nearer source may be wanted now."""
    await tx.execute(_READ_RELAYS_ANEW)


async def state(tx: Tx, source_registry: str, stated: Sequence[tuple[str, int, str]], mode: str) -> None:
    """Keep the statuses that relayed items state; in `enforce` the mirrors have them."""
    if stated:
        columns = [list(column) for column in zip(*stated, strict=True)]
        await tx.execute(_STATE, source_registry, *columns, mode)
