"""Positions of the two chains of a pair of registries, as messages bear them."""

from typing import Annotated, Any

import msgspec

NO_HEAD = "0" * 64
ADDRESSEE_MAX_CHARACTERS = 2048
"""Longest SPIFFE id."""
NUMBER_MAX = 2**53

Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Head = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Addressee = Annotated[str, msgspec.Meta(max_length=ADDRESSEE_MAX_CHARACTERS)]


class Position(msgspec.Struct, frozen=True):
    """A place in a chain of decisions and receipts; epoch 0 is the place before any."""

    epoch: Number = 0
    seq: Number = 0
    head: Head = NO_HEAD

    def is_after(self, other: "Position") -> bool:
        """Return whether this place comes later, whatever the hashes are."""
        return (self.epoch, self.seq) > (other.epoch, other.seq)

    @property
    def members(self) -> dict[str, Any]:
        """The position as members of a message."""
        return {"epoch": self.epoch, "seq": self.seq, "head": self.head}


NOWHERE = Position()
"""Position of a chain before its first message."""


class DeclaredPosition(msgspec.Struct, frozen=True):
    """Position of the addressee's chain in a message; no member of it may be left out."""

    epoch: Number
    seq: Number
    head: Head


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Positions in a payload: of the author's own chain, and of the addressee's as far as the author has seen it.

    A payload of a registry that states no positions has `NOWHERE` for both.
    """

    epoch: Number = 0
    seq: Number = 0
    head: Head = NO_HEAD
    seen: DeclaredPosition | None = None
    to: Addressee | None = None

    @property
    def own_position(self) -> Position:
        """The position of the author's chain."""
        return Position(self.epoch, self.seq, self.head)

    @property
    def seen_position(self) -> Position:
        """The position of the addressee's chain."""
        seen = self.seen
        return NOWHERE if seen is None else Position(seen.epoch, seen.seq, seen.head)


def placed_members(own: Position, seen: Position, to: str | None) -> dict[str, Any]:
    """Write both positions and the addressee as members of a message."""
    addressee = {} if to is None else {"to": to}
    return {**addressee, **own.members, "seen": seen.members}
