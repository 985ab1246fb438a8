"""Commit to what is owed: each audit cycle brings the tree to its snapshot.

- Only accounts with events since the tree was made are looked at; the tree must then add up to what circulates, or it is built
  anew. Accounts are placed anew once a day, by an audit from zero, and when places run short.
- Balances that no tree can hold, or that do not add up, give no commitment; the verdict says that something is wrong.
- The forest in memory belongs to one verdict: after a transaction that was rolled back it is read again.
"""

import asyncio

from hansa.foundation.plumbing.database import Tx
from hansa.rooms import journal

from . import store
from .placement import Placed, free_leaves, free_place, has_room, new_secret, put, random_places, shuffled
from .records import Commitment, KeptForest, Origin, StoredTree
from .sum_tree import BLOCK_LEAVES, FREE_LEAF, NODE_BYTES, SUM_MAX, change, forest, root_of, sum_of


async def commit_liabilities(
    tx: Tx, kept: KeptForest, horizon: journal.Horizon, origin: Origin, circulating: int, *, from_zero: bool
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


async def keep_liabilities(tx: Tx, kept: KeptForest, commitment: Commitment | None, verdict_id: int) -> None:
    """Store the tree as that of a verdict."""
    if commitment is None:
        await store.forget_tree(tx)
        return
    await store.keep_tree(tx, commitment, verdict_id)
    kept.verdict_id = verdict_id


def _is_before(stored: StoredTree, horizon: journal.Horizon) -> bool:
    """Whether the events since the stored tree can be found by their transactions: not in another database cluster."""
    origin = stored.origin
    return origin.cluster == horizon.cluster and origin.folded_from.position <= horizon.oldest_open


async def _continued(
    tx: Tx, kept: KeptForest, stored: StoredTree, horizon: journal.Horizon, origin: Origin
) -> Commitment | None:
    """The stored tree with what moved since, or None when it has no room."""
    moved: set[str] = set()
    async for moves in journal.fold_moves(tx, stored.origin.folded_from, horizon):
        moved.update(move.account for move in moves)
    levels = kept.levels if kept.verdict_id == stored.verdict_id else await read_forest(tx, stored)
    kept.verdict_id, kept.levels = None, levels
    balances = await store.owed_to(tx, moved)
    before = {one.account: one for one in await store.placed(tx, moved)}
    accounts = stored.accounts + len(balances.keys() - before.keys())
    if not has_room(levels[0], accounts):
        return None
    changed = [
        Placed(account, one.slot_a, one.slot_b, balances.get(account, 0))
        for account, one in before.items()
        if balances.get(account, 0) != one.balance
    ]
    await store.update(tx, changed)
    added = _place(levels[0], {name: held for name, held in balances.items() if name not in before}, stored)
    await store.add(tx, added)
    leaves: dict[int, bytes] = {}
    for one in (*changed, *added):
        leaves[one.slot_a], leaves[one.slot_b] = one.leaves(stored.secret)
    await asyncio.to_thread(change, levels, leaves)
    blocks = bytes(levels[-1])
    return Commitment(origin, stored.secret, stored.placed_at, accounts, blocks, root_of(blocks))


def _place(leaves: bytearray, balances: dict[str, int], stored: StoredTree) -> list[Placed]:
    places = random_places(len(leaves) // (2 * NODE_BYTES))
    added = []
    for account, balance in balances.items():
        one = Placed(account, free_place(leaves, places, 0), free_place(leaves, places, 1), balance)
        put(leaves, [one], stored.secret)
        added.append(one)
    return added


async def read_forest(tx: Tx, stored: StoredTree) -> list[bytearray]:
    """The forest of the stored tree, from its places."""
    leaves = bytearray(FREE_LEAF * (BLOCK_LEAVES * (len(stored.blocks) // NODE_BYTES)))
    async for some in store.all_placed(tx):
        await asyncio.to_thread(put, leaves, some, stored.secret)
    return await asyncio.to_thread(forest, leaves)


async def _placed_anew(tx: Tx, kept: KeptForest, origin: Origin, circulating: int) -> Commitment | None:
    """A tree with a new secret and new places."""
    kept.verdict_id = None
    await store.forget_tree(tx)
    leaves, secret = free_leaves(await store.count_owed(tx)), new_secret()
    pairs = len(leaves) // (2 * NODE_BYTES)
    places = zip(shuffled(pairs), shuffled(pairs), strict=True)
    accounts = total = 0
    async for balances in store.owed(tx):
        added = [
            Placed(account, 2 * even, 2 * odd + 1, balance)
            for (account, balance), (even, odd) in zip(balances, places, strict=False)
        ]
        if min(one.balance for one in added) < 0:
            return None
        accounts, total = accounts + len(added), total + sum(one.balance for one in added)
        # The database writes rows while this process hashes.
        await asyncio.gather(store.add(tx, added), asyncio.to_thread(put, leaves, added, secret))
    if total != circulating:
        return None
    kept.levels = await asyncio.to_thread(forest, leaves)
    blocks = bytes(kept.levels[-1])
    return Commitment(origin, secret, None, accounts, blocks, root_of(blocks))
