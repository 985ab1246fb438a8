"""The Merkle tree of RFC 6962 over stored hashes: which nodes a root, a proof or a tile needs, and how they are folded.

A node (level, index) is the complete subtree over the leaves from index * 2^level on. A range [begin, end) of leaves that is
not complete is folded from the nodes that it consists of, right to left.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

Node = tuple[int, int]
Range = tuple[int, int]

EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\x00" + entry).digest()


def inner_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


def nodes_of(leaves: Range) -> list[Node]:
    """The complete subtrees of which a range consists, left to right; the range begins where its largest one may."""
    begin, end = leaves
    nodes = []
    while begin < end:
        level = (end - begin).bit_length() - 1
        nodes.append((level, begin >> level))
        begin += 1 << level
    return nodes


def fold(leaves: Range, hashes: Mapping[Node, bytes]) -> bytes:
    """The root of a range."""
    nodes = nodes_of(leaves)
    if not nodes:
        return EMPTY_ROOT
    root = hashes[nodes[-1]]
    for node in reversed(nodes[:-1]):
        root = inner_hash(hashes[node], root)
    return root


def inclusion_path(index: int, size: int) -> list[Range]:
    """The ranges whose roots prove leaf `index` in the tree of `size` leaves, the nearest first (RFC 6962, 2.1.1)."""
    begin, end = 0, size
    path: list[Range] = []
    while end - begin > 1:
        middle = begin + _split(end - begin)
        if index < middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((begin, middle))
            begin = middle
    return path[::-1]


def consistency_path(old_size: int, size: int) -> list[Range]:
    """The ranges whose roots prove that the first `old_size` leaves are those of an older tree (RFC 6962, 2.1.2)."""
    if old_size in {0, size}:
        return []
    begin, end, is_whole = 0, size, True
    path: list[Range] = []
    while old_size != end:
        middle = begin + _split(end - begin)
        if old_size <= middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((begin, middle))
            begin, is_whole = middle, False
    return [*([] if is_whole else [(begin, end)]), *path[::-1]]


def appended(size: int, frontier: Mapping[Node, bytes], leaves: Sequence[bytes]) -> dict[Node, bytes]:
    """The nodes that become complete when these leaf hashes are appended; `frontier` has those of [0, size)."""
    known = dict(frontier)
    new: dict[Node, bytes] = {}
    for index, leaf in enumerate(leaves, start=size):
        node, found = (0, index), leaf
        while True:
            known[node] = new[node] = found
            level, number = node
            if number % 2 == 0:
                break
            node, found = (level + 1, number >> 1), inner_hash(known[level, number - 1], found)
    return new


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)
