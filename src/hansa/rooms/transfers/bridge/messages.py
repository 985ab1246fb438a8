"""What two registries send each other about a saga of the bridge, as values. Amounts are minor units.

The registry where a saga begins is its source, the other its destination; the destination decides (Specification 6 W 18).
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Direction(StrEnum):
    """`wrap`: units are locked at their home, the source. `redeem`: wrapped units end at the source, the home unlocks."""

    WRAP = "wrap"
    REDEEM = "redeem"


class MessageType(StrEnum):
    """The member `type` of a message."""

    MINT = "mint"
    UNLOCK = "unlock"
    CANCEL = "cancel"
    MINTED = "minted"
    UNLOCKED = "unlocked"
    CANCELLED = "cancelled"


REQUEST = {Direction.WRAP: MessageType.MINT, Direction.REDEEM: MessageType.UNLOCK}
DONE = {Direction.WRAP: MessageType.MINTED, Direction.REDEEM: MessageType.UNLOCKED}


class Code(StrEnum):
    """Why a saga did not succeed; a destination may name others."""

    CANCELLED = "CANCELLED"
    ID_CONFLICT = "ID_CONFLICT"
    FRAME_ONLY = "FRAME_ONLY"
    AGENT_BLOCKED = "AGENT_BLOCKED"
    ACCOUNT_UNKNOWN = "ACCOUNT_UNKNOWN"
    CURRENCY_DIFFERS = "CURRENCY_DIFFERS"
    SUPPLY_EXHAUSTED = "SUPPLY_EXHAUSTED"
    INSUFFICIENT_LOCK = "INSUFFICIENT_LOCK"
    PEER_REWOUND = "PEER_REWOUND"


@dataclass(frozen=True)
class Terms:
    """What a saga moves. The same id with other terms is refused. `currency` is the code of the unit at its home."""

    saga_id: str
    direction: Direction
    sender_did: str
    receiver_did: str
    amount: int
    currency: str


@dataclass(frozen=True)
class Message:
    """One signed statement about a saga. `raw` is the text as its author signed it, where it came from outside."""

    type: MessageType
    terms: Terms
    code: str | None = None
    raw: str | None = field(default=None, compare=False, repr=False)

    @property
    def is_answer(self) -> bool:
        """Whether it is a decision of the destination, for the source."""
        return self.type in {MessageType.MINTED, MessageType.UNLOCKED, MessageType.CANCELLED}
