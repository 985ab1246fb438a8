"""Proofs out of the stored places: the path from the leaves of an account to the root, and the public blocks."""

import asyncio
from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.auditor.attestations import Attestation, attestation_of_cycle

from . import store
from .errors import NoLiabilities, NotCounted
from .placement import Part, Placed, free_leaves, parts_of
from .records import StoredTree
from .sum_tree import BLOCK_HEIGHT, BLOCK_LEAVES, NODE_BYTES, leaf, path_to_block, path_to_root


class ProvedLeaf(msgspec.Struct, frozen=True):
    """A leaf at a place of the tree, and its siblings up to the root."""

    index: int
    part: Part
    path: list[bytes]


class BalanceProof(msgspec.Struct, frozen=True):
    """That an account is counted with its whole balance; `attestation` is None until the cycle is attested."""

    account: str
    balance: int
    as_of_seq: int
    leaves: list[ProvedLeaf]
    attestation: Attestation | None


class PublicBlocks(msgspec.Struct, frozen=True):
    """The lowest public level of the tree."""

    blocks: bytes
    as_of_seq: int
    attestation: Attestation | None


async def prove_balance(tx: Tx, account: str) -> BalanceProof:
    """The proof of an account; `tx` must be one snapshot. Raises: NoLiabilities, NotCounted."""
    tree = await _tree(tx)
    found = await store.placed(tx, [account])
    if not found:
        raise NotCounted
    (placed,) = found
    parts = parts_of(tree.secret, account.encode(), placed.balance)
    leaves = [
        ProvedLeaf(slot, part, await _path(tx, tree, slot))
        for slot, part in zip((placed.slot_a, placed.slot_b), parts, strict=True)
    ]
    attestation = await attestation_of_cycle(tx, tree.verdict_id)
    return BalanceProof(account, placed.balance, tree.origin.as_of_seq, leaves, attestation)


async def read_blocks(tx: Tx) -> PublicBlocks:
    """The public blocks; `tx` must be one snapshot. Raises: NoLiabilities."""
    tree = await _tree(tx)
    attestation = await attestation_of_cycle(tx, tree.verdict_id)
    return PublicBlocks(tree.blocks, tree.origin.as_of_seq, attestation)


async def _tree(tx: Tx) -> StoredTree:
    tree = await store.read_tree(tx)
    if tree is None:
        raise NoLiabilities
    return tree


async def _path(tx: Tx, tree: StoredTree, slot: int) -> list[bytes]:
    block = slot >> BLOCK_HEIGHT
    begin = block << BLOCK_HEIGHT
    members = await store.in_block(tx, block)
    below = await asyncio.to_thread(_path_in_block, members, tree.secret, begin, slot)
    return below + path_to_root(tree.blocks, block)


def _path_in_block(members: Sequence[Placed], secret: bytes, begin: int, slot: int) -> list[bytes]:
    leaves = free_leaves(0)
    for one in members:
        account = one.account.encode()
        parts = parts_of(secret, account, one.balance)
        for place, part in zip((one.slot_a - begin, one.slot_b - begin), parts, strict=True):
            if 0 <= place < BLOCK_LEAVES:
                leaves[place * NODE_BYTES : (place + 1) * NODE_BYTES] = leaf(part.salt, part.amount, account)
    return path_to_block(leaves, slot - begin)
