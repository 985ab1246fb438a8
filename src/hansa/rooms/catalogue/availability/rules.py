"""Places of probes in the counts of a day, the tree over all agents of a day, and the places of its hashes."""

from collections.abc import Iterator, Sequence
from datetime import date

from hansa.foundation.values import merkle
from hansa_verify import CLASSES_MS, availability_leaf

from .records import Hours

HOUR_MEMBERS = 1 + len(CLASSES_MS)
HASH_BYTES = 32
HOURS = 24
COUNT_MAX = 32_767


def class_of(milliseconds: float) -> int:
    """The class of the time of an answer, from 1; a slower one than any class is in the last."""
    return next(
        (number for number, longest in enumerate(CLASSES_MS, start=1) if milliseconds <= longest),
        len(CLASSES_MS),
    )


def hours_of(counts: Sequence[int]) -> Hours:
    """The hours of the stored counts of a day."""
    portions = (counts[begin : begin + HOUR_MEMBERS] for begin in range(0, len(counts), HOUR_MEMBERS))
    return [list(one) if one[0] else None for one in portions]


def counts_of(hours: object) -> list[int] | None:
    """The counts of hours that another registry states; None where they have another form."""
    if not isinstance(hours, list) or len(hours) != HOURS:
        return None
    counts: list[int] = []
    for one in hours:
        members = [0] * HOUR_MEMBERS if one is None else one
        is_sound = (
            isinstance(members, list)
            and len(members) == HOUR_MEMBERS
            and all(type(count) is int and 0 <= count <= COUNT_MAX for count in members)
            and (one is None or 0 < members[0] >= sum(members[1:]))
        )
        if not is_sound:
            return None
        counts += members
    return counts


def leaves_of(day: date, probed: Sequence[tuple[str, Sequence[int]]]) -> list[bytes]:
    """The hashes of the leaves of agents with these counts on a day."""
    return [availability_leaf(did, day.isoformat(), hours_of(counts)) for did, counts in probed]


def tree_of(leaves: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The root over the leaves of a day, and the hashes of the tree level by level."""
    nodes = merkle.appended(0, {}, leaves)
    return merkle.fold((0, len(leaves)), nodes), b"".join(nodes[node] for node in sorted(nodes))


def nodes_of_path(index: int, size: int) -> list[list[merkle.Node]]:
    """The nodes from which each hash of the path of a leaf is folded, the nearest first."""
    return [merkle.nodes_of(leaves) for leaves in merkle.inclusion_path(index, size)]


def offset_of(node: merkle.Node, size: int) -> int:
    """The place of the hash of a node among those of a tree of `size` leaves."""
    level, number = node
    return HASH_BYTES * (sum(size >> below for below in range(level)) + number)


def path_of(index: int, size: int, hashes: Iterator[bytes]) -> list[bytes]:
    """The path of a leaf, of the hashes of its nodes in order."""
    return [
        merkle.fold(leaves, {node: next(hashes) for node in merkle.nodes_of(leaves)})
        for leaves in merkle.inclusion_path(index, size)
    ]
