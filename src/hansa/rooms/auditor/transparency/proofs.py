"""Proofs and tiles out of the stored nodes, as of the published checkpoint, or the newest where it is too small.

Tiles that this process has read before: a tile never changes, so it is read from the database once.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values import merkle
from hansa.rooms import catalogue
from hansa_verify.log import NOTE_MAX_CHARACTERS

from . import store
from .errors import LeafUnknown, LogEmpty, TileUnknown

TILE_WIDTH = 256
TILE_HEIGHT = 8
KEPT_MAX_BYTES = 16 * 1024 * 1024
Tile = tuple[int | None, int, int | None]


class Inclusion(msgspec.Struct, frozen=True):
    """That leaf `index` is in the tree of `size` leaves."""

    index: int
    size: int
    hashes: list[bytes]


class Growth(msgspec.Struct, frozen=True):
    """That the log of `size` leaves under `note` continues that of `old_size` leaves."""

    old_size: int
    size: int
    hashes: list[bytes]
    note: str


class ProvedLeaf(msgspec.Struct, frozen=True):
    """A leaf with its proof and the checkpoint that it leads to."""

    leaf: store.Leaf
    inclusion: Inclusion
    checkpoint: str


async def read_checkpoint(tx: Tx, least_size: int = 0) -> tuple[int, str]:
    """The size and the note of the published checkpoint, of at least so many leaves. Raises: LogEmpty.

    It is the newest one that the witnesses have cosigned, until the next one is; where that is too small, or none was
    cosigned of late, the newest one with the cosignatures that it has.
    """
    cosigned, newest = await read_together(tx, store.cosigned_checkpoint, store.newest_checkpoint)
    if cosigned is not None and cosigned[0] >= least_size:
        size, note, lines = cosigned
        return size, _with_lines(note, lines)
    size, note = _found(newest)
    return size, _with_lines(note, await store.cosignatures_of(tx, size))


def _with_lines(note: str, lines: Sequence[str]) -> str:
    """Append the lines to the note, within the length that a verifier reads. With very many witnesses, the shorter Ed25519 lines come first."""
    for line in lines:
        if len(note) + len(line) < NOTE_MAX_CHARACTERS:
            note += f"{line}\n"
    return note


async def prove_leaf(tx: Tx, index: int | None, kind: str | None, object_id: str | None) -> ProvedLeaf:
    """The proof of a leaf, by its index or by the newest leaf of an object. Raises: LogEmpty, LeafUnknown."""
    await _bare_checkpoint(tx)
    if index is None and kind is not None and object_id is not None:
        index = (await store.find_leaves(tx, kind, [object_id])).get(object_id)
    leaf = None if index is None else await store.read_leaf(tx, index)
    if leaf is None:
        raise LeafUnknown
    size, note = await read_checkpoint(tx, leaf.index + 1)
    inclusions = await _prove(tx, [leaf.index], size)
    return ProvedLeaf(leaf, inclusions[leaf.index], note)


async def prove_objects(tx: Tx, kind: str, object_ids: Sequence[str]) -> dict[str, Inclusion]:
    """The proofs of those objects that are in the log."""
    places, cosigned, found = await read_together(
        tx,
        lambda tx: store.find_leaves(tx, kind, object_ids),
        store.cosigned_checkpoint,
        store.newest_checkpoint,
    )
    if not places:
        return {}
    newest, _ = _found(found)
    size = newest if cosigned is None else cosigned[0]
    published, later = await read_together(
        tx,
        lambda tx: _prove(tx, [index for index in places.values() if index < size], size),
        lambda tx: _prove(tx, [index for index in places.values() if index >= size], newest),
    )
    proofs = published | later
    return {object_id: proofs[index] for object_id, index in places.items()}


async def prove_statements(tx: Tx, kind: str, object_ids: Sequence[str]) -> catalogue.LoggedStatements:
    """The newest leaves of those objects that are in the log, all proved under one checkpoint."""
    places = await store.find_leaves(tx, kind, object_ids) if object_ids else {}
    if not places:
        return catalogue.LoggedStatements(None, {})
    size, note = await read_checkpoint(tx, max(places.values()) + 1)
    indexes = list(places.values())
    leaves, inclusions = await read_together(
        tx, lambda tx: store.read_leaves(tx, indexes), lambda tx: _prove(tx, indexes, size)
    )
    return catalogue.LoggedStatements(
        note,
        {
            leaf.object_id: catalogue.LoggedEntry(
                leaf.index, leaf.entry.decode(), inclusions[leaf.index].hashes
            )
            for leaf in leaves
        },
    )


async def prove_consistency(tx: Tx, old_size: int) -> tuple[int, list[bytes], str]:
    """The published size, the proof that the log of `old_size` leaves is its beginning, and the checkpoint.

    Raises: LogEmpty, LeafUnknown when there were never so many leaves.
    """
    size, note = await read_checkpoint(tx, old_size)
    if old_size > size:
        raise LeafUnknown
    return size, await _path(tx, old_size, size), note


async def prove_growth(tx: Tx, old_size: int) -> Growth:
    """Return the proof of `prove_consistency` without cosignatures; from nothing where there were never so many leaves. Raises: LogEmpty."""
    size, note = await _bare_checkpoint(tx)
    begin = old_size if old_size <= size else 0
    return Growth(begin, size, await _path(tx, begin, size), note)


async def read_tile(tx: Tx, level: int | None, number: int, width: int | None) -> bytes:
    """A tile of hashes, or of entries when `level` is None; whole, or its first `width` members. Raises: TileUnknown."""
    count = TILE_WIDTH if width is None else width
    begin = number * TILE_WIDTH
    if level is None:
        entries = await store.entries_between(tx, begin, begin + count)
        members = [len(entry).to_bytes(2, "big") + entry for entry in entries]
    else:
        members = await store.hashes_between(tx, level * TILE_HEIGHT, begin, begin + count)
    if len(members) != count:
        raise TileUnknown
    return b"".join(members)


async def _bare_checkpoint(tx: Tx) -> tuple[int, str]:
    return _found(await store.newest_checkpoint(tx))


def _found(found: tuple[int, str] | None) -> tuple[int, str]:
    if found is None:
        raise LogEmpty
    return found


async def _path(tx: Tx, old_size: int, size: int) -> list[bytes]:
    """The proof that the log of `old_size` leaves is the beginning of that of `size` leaves."""
    path = merkle.consistency_path(old_size, size)
    hashes = await store.read_nodes(tx, {node for leaves in path for node in merkle.nodes_of(leaves)})
    return [merkle.fold(leaves, hashes) for leaves in path]


async def _prove(tx: Tx, indexes: Sequence[int], size: int) -> dict[int, Inclusion]:
    """The proofs of these leaves in the tree of `size` leaves, each of which is in it."""
    paths = {index: merkle.inclusion_path(index, size) for index in indexes}
    nodes = {node for path in paths.values() for leaves in path for node in merkle.nodes_of(leaves)}
    hashes = await store.read_nodes(tx, nodes)
    return {
        index: Inclusion(index, size, [merkle.fold(leaves, hashes) for leaves in path])
        for index, path in paths.items()
    }


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
        content = await self._database.read_replicated(lambda tx: read_tile(tx, *tile))
        self._kept_bytes += len(content) - len(self._kept.pop(tile, b""))
        self._kept[tile] = content
        while self._kept_bytes > KEPT_MAX_BYTES:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1])
        return content


TILES: Slot[CachedTiles] = Slot(
    "auditor: tiles of the log", build=lambda runtime: CachedTiles(runtime.database)
)
