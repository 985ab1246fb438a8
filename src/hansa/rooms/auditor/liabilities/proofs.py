"""Proofs out of the stored places: the path from the leaves of an account to the root, and the public blocks."""

import asyncio
from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_each, read_together, reading
from hansa.rooms.auditor.attestations import Attestation, attestation_of_liabilities, prove_records
from hansa.rooms.auditor.transparency import Inclusion

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
    """Proof that an account is counted with its whole balance; `attestation` is None until the cycle is attested, `inclusion` until it is in the log."""

    account: str
    balance: int
    as_of_seq: int
    leaves: list[ProvedLeaf]
    attestation: Attestation | None
    inclusion: Inclusion | None


class PublicBlocks(msgspec.Struct, frozen=True):
    """The lowest public level of the tree."""

    blocks: bytes
    as_of_seq: int
    attestation: Attestation | None
    inclusion: Inclusion | None


async def prove_balance(tx: Tx, account: str) -> BalanceProof:
    """The proof of an account; `tx` must be one snapshot. Raises: NoLiabilities, NotCounted."""
    tree, found, attestation = await read_together(
        tx, _tree, lambda tx: store.placed(tx, [account]), attestation_of_liabilities
    )
    if not found:
        raise NotCounted
    (placed,) = found
    slots = (placed.slot_a, placed.slot_b)
    blocks = [slot >> BLOCK_HEIGHT for slot in slots]
    members, inclusion = await read_together(
        tx,
        lambda tx: read_each(tx, [reading(store.in_block, block) for block in blocks]),
        lambda tx: _inclusion(tx, attestation),
    )
    leaves = [
        ProvedLeaf(slot, part, await _path(tree, in_block, slot))
        for slot, part, in_block in zip(
            slots, parts_of(tree.secret, account.encode(), placed.balance), members, strict=True
        )
    ]
    return BalanceProof(account, placed.balance, tree.origin.as_of_seq, leaves, attestation, inclusion)


async def read_blocks(tx: Tx) -> PublicBlocks:
    """The public blocks; `tx` must be one snapshot. Raises: NoLiabilities."""
    tree, attestation = await read_together(tx, _tree, attestation_of_liabilities)
    return PublicBlocks(tree.blocks, tree.origin.as_of_seq, attestation, await _inclusion(tx, attestation))


async def _tree(tx: Tx) -> StoredTree:
    tree = await store.read_tree(tx)
    if tree is None:
        raise NoLiabilities
    return tree


async def _inclusion(tx: Tx, record: Attestation | None) -> Inclusion | None:
    if record is None:
        return None
    return (await prove_records(tx, [record])).get(str(record.id))


async def _path(tree: StoredTree, in_block: Sequence[Placed], slot: int) -> list[bytes]:
    block = slot >> BLOCK_HEIGHT
    below = await asyncio.to_thread(_path_in_block, in_block, tree.secret, block << BLOCK_HEIGHT, slot)
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
