"""Commit to the liabilities: each audit cycle brings the tree to its snapshot.

- Only accounts with events since the tree was made are looked at; the tree must then add up to the circulating units, or it is built
  anew. Accounts are placed anew once a day, by an audit from zero, and when places run short.
- Balances that no tree can hold, or that do not add up, give no commitment; the verdict says that something is wrong.
- The forest in memory belongs to one verdict: after a transaction that was rolled back it is read again.
"""

import asyncio

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store
from .placement import Placed, Placement, free_place, has_room, put, random_places
from .records import CachedForest, Commitment, Holdings, Origin, PlacedHoldings, StoredTree
from .sum_tree import BLOCK_LEAVES, FREE_LEAF, NODE_BYTES, SUM_MAX, change, forest, root_of, sum_of, write


async def commit_liabilities(
    tx: Tx, kept: CachedForest, horizon: journal.Horizon, origin: Origin, circulating: int, *, from_zero: bool
) -> Commitment | None:
    """The tree of this snapshot, or None when no tree adds up to `circulating`. The caller has the turn of the auditor."""
    if not 0 <= circulating <= SUM_MAX:
        return None
    stored = None if from_zero else await store.read_tree(tx)
    found = None
    if stored is not None and not stored.is_due and _is_before(stored, horizon):
        found = await _continued(tx, kept, stored, horizon, origin)
    if found is None or sum_of(found.root) != circulating:
        found = await _placed_anew(tx, kept, origin, circulating)
    return found


async def keep_liabilities(
    tx: Tx, kept: CachedForest, commitment: Commitment | None, verdict_id: int
) -> None:
    """Store the tree as that of a verdict."""
    if commitment is None:
        await store.forget_tree(tx)
        return
    await store.keep_tree(tx, commitment, verdict_id)
    kept.verdict_id = verdict_id


def _is_before(stored: StoredTree, horizon: journal.Horizon) -> bool:
    """Return whether the events since the stored tree can be found by their transactions: not in another database cluster."""
    origin = stored.origin
    return origin.cluster == horizon.cluster and origin.folded_from.position <= horizon.oldest_open


async def _continued(
    tx: Tx, kept: CachedForest, stored: StoredTree, horizon: journal.Horizon, origin: Origin
) -> Commitment | None:
    """Return the stored tree with the movements since, or None when it has no room."""
    moved: set[str] = set()
    async for moves in journal.fold_moves(tx, stored.origin.folded_from, horizon):
        moved.update(move.account for move in moves)
    levels = kept.levels if kept.verdict_id == stored.verdict_id else await read_forest(tx, stored)
    kept.verdict_id, kept.levels = None, levels
    balances = await store.owed_to(tx, moved)
    before = {one.id: one for one in await store.placed(tx, moved)}
    accounts = stored.accounts + len(balances.keys() - before.keys())
    if not has_room(levels[0], accounts):
        return None
    held = {number: balances.get(number, ("", 0))[1] for number in before}
    changed = [
        one._replace(balance=held[number]) for number, one in before.items() if held[number] != one.balance
    ]
    await store.update(tx, changed)
    added = _place(
        levels[0], {number: one for number, one in balances.items() if number not in before}, stored
    )
    await store.add_late(tx, added)
    leaves: dict[int, bytes] = {}
    for one in (*changed, *added):
        leaves[one.slot_a], leaves[one.slot_b] = one.leaves(stored.secret)
    await asyncio.to_thread(change, levels, leaves)
    blocks = bytes(levels[-1])
    return Commitment(origin, stored.secret, stored.placed_at, accounts, blocks, root_of(blocks))


def _place(leaves: bytearray, balances: dict[int, tuple[str, int]], stored: StoredTree) -> list[Placed]:
    places = random_places(len(leaves) // (2 * NODE_BYTES))
    added = []
    for number, (account, balance) in balances.items():
        slots = free_place(leaves, places, 0), free_place(leaves, places, 1)
        one = Placed(number, account, *slots, balance)
        write(leaves, dict(zip(slots, one.leaves(stored.secret), strict=True)))
        added.append(one)
    return added


async def read_forest(tx: Tx, stored: StoredTree) -> list[bytearray]:
    """The forest of the stored tree, from its places."""
    leaves = bytearray(FREE_LEAF * (BLOCK_LEAVES * (len(stored.blocks) // NODE_BYTES)))

    some = await store.all_placed(tx, 0)
    while some:
        # The database reads on while this process hashes.
        hashing = asyncio.create_task(asyncio.to_thread(put, leaves, stored.secret, some))
        some = await store.all_placed(tx, some.ids[-1])
        await hashing
    return await asyncio.to_thread(forest, leaves)


async def _placed_anew(tx: Tx, kept: CachedForest, origin: Origin, circulating: int) -> Commitment | None:
    """A tree with a new secret and new places."""
    kept.verdict_id = None
    await store.forget_tree(tx)
    placement = Placement(await store.count_owed(tx))
    accounts = total = 0
    some, placed = await store.owed(tx, 0), None
    while some:
        if min(some.balances) < 0:
            return None
        accounts, total = accounts + len(some.ids), total + sum(some.balances)
        # The database writes and reads on while this process hashes.
        hashing = asyncio.create_task(asyncio.to_thread(placement.place, some))
        some = await _write_and_read_on(tx, placed, some)
        placed = await hashing
    if total != circulating:
        return None
    raising = asyncio.create_task(asyncio.to_thread(forest, placement.leaves))
    if placed:
        await store.add(tx, placed)
    await store.add_blocks(tx, placement.blocks())
    kept.levels = await raising
    blocks = bytes(kept.levels[-1])
    return Commitment(origin, placement.secret, None, accounts, blocks, root_of(blocks))


async def _write_and_read_on(tx: Tx, placed: PlacedHoldings | None, read: Holdings) -> Holdings | None:
    if placed:
        await store.add(tx, placed)
    return await store.owed(tx, read.ids[-1])
