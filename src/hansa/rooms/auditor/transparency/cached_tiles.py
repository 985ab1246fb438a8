"""Tiles that this process has read before: a tile never changes, so it is read from the database once."""

from collections import OrderedDict

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Database

from . import proofs

KEPT_MAX_BYTES = 16 * 1024 * 1024

Tile = tuple[int | None, int, int | None]


class CachedTiles:
    """Reads tiles, and keeps those that were asked for last within a bound of bytes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[Tile, bytes] = OrderedDict()
        self._kept_bytes = 0

    async def read(self, level: int | None, number: int, width: int | None) -> bytes:
        """Return the tile of `proofs.read_tile`, from memory where kept. Raises: TileUnknown, Unavailable."""
        tile = (level, number, width)
        if tile in self._kept:
            self._kept.move_to_end(tile)
            return self._kept[tile]
        content = await self._database.read_replicated(lambda tx: proofs.read_tile(tx, *tile))
        self._kept_bytes += len(content) - len(self._kept.pop(tile, b""))
        self._kept[tile] = content
        while self._kept_bytes > KEPT_MAX_BYTES:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1])
        return content


TILES: Slot[CachedTiles] = Slot(
    "auditor: tiles of the log", build=lambda runtime: CachedTiles(runtime.database)
)
