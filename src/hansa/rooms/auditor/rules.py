"""Verdicts on readings of the supply."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import msgspec

SOUND = "OK"
BREACH = "BREACH"
MISMATCH = "MISMATCH"
PASSED = frozenset({SOUND, "SOLVENT", "LOW"})
"""Results of checks that are no breach."""


class Compared(msgspec.Struct, frozen=True):
    """How far transactions and log were compared with each other.

    Those up to `to_tx` need not be looked at again; those after it have their events at `from_position` or later. The
    `seen_` members become the two once every transaction before `seen_before` has ended.
    """

    to_tx: int
    from_position: int
    seen_tx: int
    seen_position: int
    seen_before: int


NOTHING_COMPARED = Compared(0, 0, 0, 0, 0)


def compared_on(past: Compared, *, newest_tx: int, oldest_open: int, not_begun: int) -> Compared:
    """Return the bounds at which the next comparison begins, after one that found no difference.

    A transaction gets its id of the book after its own: one that had not begun when `seen_tx` was the highest
    has a higher one. So when all that had begun have ended, no new transaction up to `seen_tx` can appear.
    """
    if past.seen_before > oldest_open:
        return past
    return Compared(past.seen_tx, past.seen_position, newest_tx, oldest_open, not_begun)


def staked_guard(gaps: Sequence[int]) -> str:
    """MISMATCH when accounts differ and the sum does not; BREACH when the sum differs too."""
    if not gaps:
        return SOUND
    return BREACH if sum(gaps) else MISMATCH


def status_of(checks: Mapping[str, str]) -> str:
    """OK when every check is passed."""
    return SOUND if PASSED.issuperset(checks.values()) else BREACH


def breach_digest(figures: Mapping[str, object]) -> str:
    """The same for the same trouble, whatever else moved meanwhile."""
    return hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()
