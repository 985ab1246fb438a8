"""Comparison of two checkpoints that a log signed: whether they belong to one log (C2SP tlog-checkpoint). No I/O.

Each witness sees the log as it was shown to it. Two witnesses compare their checkpoints: of one size the roots are equal, or
the log has forked; of two sizes each has to be the beginning of the checkpoint that the log shows now.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from hansa_verify import log

ForkKind = Literal["same_size", "not_consistent"]


class Seen(msgspec.Struct, frozen=True):
    """A checkpoint with the log's signature, as one witness was shown it."""

    size: int
    root: bytes
    note: str


class Growth(msgspec.Struct, frozen=True):
    """Answer of the log about an older size: its present checkpoint, and the hashes that lead there."""

    size: int
    root: bytes
    hashes: Sequence[bytes]


def fork_at_one_size(own: Seen, other: Seen) -> bool:
    """Return whether the log signed two trees of one size."""
    return own.size == other.size and own.root != other.root


def continues(seen: Seen, growth: Growth) -> bool:
    """Return whether the log's present checkpoint continues this one."""
    return growth.size >= seen.size and log.proves_consistency(
        seen.size, growth.size, seen.root, growth.root, growth.hashes
    )
