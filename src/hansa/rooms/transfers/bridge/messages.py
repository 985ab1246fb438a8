"""Messages that two registries send each other about a saga of the bridge, as values. Amounts are minor units.

The registry where a saga begins is its source, the other its destination; the destination decides (Specification 6 W 18).
Every message bears the two positions of the pair, as those of transfers do; a peer that states none is taken at its word.
"""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from hansa.rooms.transfers.crossing import messages as crossing
from hansa.rooms.transfers.crossing.messages import NOWHERE, Position


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
    RECEIPT = "receipt"


REQUEST = {Direction.WRAP: MessageType.MINT, Direction.REDEEM: MessageType.UNLOCK}
DONE = {Direction.WRAP: MessageType.MINTED, Direction.REDEEM: MessageType.UNLOCKED}
ASKING = frozenset({*REQUEST.values(), MessageType.CANCEL})
ANSWERS = frozenset({MessageType.MINTED, MessageType.UNLOCKED, MessageType.CANCELLED})


class Code(StrEnum):
    """Why a saga did not succeed; a destination may name others. COMPLETED and CANCELLED: the outcomes that a receipt confirms."""

    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    ID_CONFLICT = "ID_CONFLICT"
    FRAME_ONLY = "FRAME_ONLY"
    AGENT_BLOCKED = "AGENT_BLOCKED"
    ACCOUNT_UNKNOWN = "ACCOUNT_UNKNOWN"
    CURRENCY_DIFFERS = "CURRENCY_DIFFERS"
    SUPPLY_EXHAUSTED = "SUPPLY_EXHAUSTED"
    INSUFFICIENT_LOCK = "INSUFFICIENT_LOCK"
    PEER_REWOUND = "PEER_REWOUND"
    PEER_ABANDONED = "PEER_ABANDONED"
    """An administrator of the source ended what was under way with the destination."""


class Terms(msgspec.Struct, frozen=True):
    """Units that a saga moves. The same id with other terms is refused. `currency` is the code of the unit at its home."""

    saga_id: str
    direction: Direction
    sender_did: str
    receiver_did: str
    amount: int
    currency: str

    def digest(self, *, is_done: bool) -> str:
        """Names the saga with everything in it, and its outcome."""
        parts = (self.saga_id, self.direction, self.sender_did, self.receiver_did, str(self.amount))
        return hashlib.sha256("\n".join((*parts, self.currency, str(is_done))).encode()).hexdigest()

    @property
    def holder(self) -> str:
        """The agent that holds the wrapped units, before or after."""
        return self.receiver_did if self.direction is Direction.WRAP else self.sender_did


@dataclass(frozen=True)
class Message:
    """One signed statement about a saga. `raw` is the text as its author signed it, where it came from outside.

    `proof` is a statement of the addressee about the same saga, with its signature; `claim` is its text before it is verified.
    """

    type: MessageType
    terms: Terms
    code: str | None = None
    own: Position = NOWHERE
    seen: Position = NOWHERE
    to: str | None = None
    """SPIFFE id of the addressee, as those of transfers name it."""
    proof: "Message | None" = None
    raw: str | None = field(default=None, compare=False, repr=False)
    claim: str | None = field(default=None, compare=False, repr=False)

    @property
    def is_answer(self) -> bool:
        """Return whether it is a decision of the destination, for the source."""
        return self.type in ANSWERS

    @property
    def has_positions(self) -> bool:
        """Return whether its author states where the two chains of the pair are."""
        return self.own != NOWHERE

    @property
    def positions(self) -> crossing.Message:
        """The two positions as the pair judges them."""
        return crossing.positions_at(self.own, self.seen, self.to, self.raw)

    @property
    def outcome_shown(self) -> bool | None:
        """Decision of the addressee on exactly this saga, by its own signature: carried out, or not; None where none is shown."""
        shown = self.proof
        if shown is None or shown.terms != self.terms or not shown.is_answer:
            return None
        return shown.type is not MessageType.CANCELLED

    @property
    def shows_request(self) -> bool:
        """Return whether the addressee itself began exactly this saga, by its own signature."""
        shown = self.proof
        return shown is not None and shown.terms == self.terms and shown.type in ASKING
