"""A Merkle-sum tree: every node has a sum and a hash that binds the sums and the hashes below it.

A node is 40 bytes: the sum (big-endian, 64 bits) and the hash. Levels are kept as bytes, a node behind the other, so that the
hash of a node is that of its two children as they lie there. Free leaves have a sum of zero and one hash.
"""

from collections.abc import Mapping
from hashlib import sha256
from itertools import pairwise
from struct import Struct

NODE_BYTES = 40
_PAIR = 2 * NODE_BYTES
_SUM_BYTES = 8
SUM_MAX = 2**63 - 1

# Sums are packed as signed numbers, so that one above SUM_MAX is an error and never a wrong node.
NODE = Struct(">q32s").pack
_SUMS = Struct(">q32xq32x")
LEAF = Struct(">x24sq").pack

# A block is the smallest subtree that is public: at its load, it has leaves of more than 1,024 accounts.
BLOCK_HEIGHT = 12
BLOCK_LEAVES = 1 << BLOCK_HEIGHT

FREE_LEAF = bytes(_SUM_BYTES) + sha256(b"\x02").digest()


def leaf(salt: bytes, amount: int, account: bytes) -> bytes:
    """The node of a leaf: its hash is that of a zero byte, the salt of 24 bytes, the amount and the account."""
    return NODE(amount, sha256(LEAF(salt, amount) + account).digest())


def sum_of(node: bytes) -> int:
    """The sum of a node."""
    return int.from_bytes(node[:_SUM_BYTES], "big")


def hash_of(node: bytes) -> bytes:
    """The hash of a node."""
    return node[_SUM_BYTES:]


def parent(pair: bytes | bytearray) -> bytes:
    """The node above two children that lie behind each other."""
    left, right = _SUMS.unpack(pair)
    return NODE(left + right, sha256(b"\x01" + pair).digest())


def node_at(level: bytes | bytearray, index: int) -> bytes:
    """One node of a level."""
    return bytes(level[index * NODE_BYTES : (index + 1) * NODE_BYTES])


def raised(level: bytes | bytearray, height: int) -> bytearray:
    """The level above one of this height; its length is even."""
    free, above = _FREE[height] * 2, _FREE[height + 1]
    # `parent` of each pair, without a call for each: a tree of a million accounts has more than two million of them.
    whole = bytes(level)
    pairs = [whole[place : place + _PAIR] for place in range(0, len(whole), _PAIR)]
    return bytearray(
        b"".join(
            [
                above if pair == free else NODE(left + right, sha256(b"\x01" + pair).digest())
                for pair, (left, right) in zip(pairs, _SUMS.iter_unpack(whole), strict=True)
            ]
        )
    )


def forest(leaves: bytearray) -> list[bytearray]:
    """The levels from these leaves to the roots of their blocks."""
    levels = [leaves]
    for height in range(BLOCK_HEIGHT):
        levels.append(raised(levels[-1], height))
    return levels


def crown(blocks: bytes | bytearray) -> list[bytes]:
    """The levels from the blocks to the root; the lowest is filled up with free blocks to a power of two."""
    count = len(blocks) // NODE_BYTES
    height = BLOCK_HEIGHT
    levels = [bytes(blocks) + _FREE[height] * ((1 << (count - 1).bit_length()) - count)]
    while len(levels[-1]) > NODE_BYTES:
        levels.append(bytes(raised(levels[-1], height)))
        height += 1
    return levels


def root_of(blocks: bytes | bytearray) -> bytes:
    """The root node of the tree with these blocks."""
    return crown(blocks)[-1]


def write(level: bytearray, nodes: Mapping[int, bytes]) -> None:
    """Replace nodes of one level."""
    for index, node in nodes.items():
        level[index * NODE_BYTES : (index + 1) * NODE_BYTES] = node


def change(levels: list[bytearray], leaves: Mapping[int, bytes]) -> None:
    """Replace leaves of a forest and every node above them."""
    write(levels[0], leaves)
    touched = {index >> 1 for index in leaves}
    for below, level in pairwise(levels):
        for index in touched:
            node = parent(below[index * _PAIR : (index + 1) * _PAIR])
            level[index * NODE_BYTES : (index + 1) * NODE_BYTES] = node
        touched = {index >> 1 for index in touched}


def path_to_block(leaves: bytearray, index: int) -> list[bytes]:
    """The siblings from leaf `index` of one block up to the root of the block."""
    return [node_at(level, (index >> height) ^ 1) for height, level in enumerate(forest(leaves)[:-1])]


def path_to_root(blocks: bytes | bytearray, index: int) -> list[bytes]:
    """The siblings from block `index` up to the root."""
    return [node_at(level, (index >> height) ^ 1) for height, level in enumerate(crown(blocks)[:-1])]


def _free_nodes() -> list[bytes]:
    nodes = [FREE_LEAF]
    while len(nodes) <= BLOCK_HEIGHT + 32:
        nodes.append(parent(nodes[-1] * 2))
    return nodes


_FREE = _free_nodes()
