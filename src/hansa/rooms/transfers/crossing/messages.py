"""Messages that two registries send each other about transfers between them, as values. Amounts are minor units.

Every message names its transfer whole and bears two positions: where the author's own chain stands, and how far it has
seen the chain of the other. Who wrote a message is known by its signature before it comes here.
"""

import hashlib
from enum import StrEnum

import msgspec

from hansa.rooms import federation

Position = federation.mailbox.Position
NOWHERE = federation.mailbox.NOWHERE
MESSAGES_MAX = 500
"""Of one request: of the texts, and of the messages in them."""
SHOWN_MAX_CHARACTERS = 11_000
"""Of a text that is shown to its author: inside a message about the heads it is below the limit of a message."""
DROPPED = ""
"""The text of a statement that was dropped: it was here, and proves nothing any more."""
PAYMENT_TOKEN, CONTRACT = "payment_token", "contract"
PAYING = frozenset({PAYMENT_TOKEN, CONTRACT})


Place = tuple[int, int]
"""Epoch and number of an entry of a chain."""


class MessageType(StrEnum):
    """The member `type` of a message."""

    PREPARE = "prepare"
    PREPARED = "prepared"
    REFUSED = "refused"
    COMMIT = "commit"
    ABORT = "abort"
    QUERY = "query"
    STATE = "state"
    RECEIPT = "receipt"
    HEADS = "heads"
    HEADS_STATE = "heads_state"


class Code(StrEnum):
    """The codes of the protocol and of a receiver that refuses; a refusal may bear others."""

    COMMITTED = "COMMITTED"
    ABORTED = "ABORTED"
    CLOSED = "CLOSED"
    RESERVED = "RESERVED"
    ID_CONFLICT = "ID_CONFLICT"
    FEE_MISMATCH = "FEE_MISMATCH"
    PEER_LIMIT = "PEER_LIMIT"
    PEER_REWOUND = "PEER_REWOUND"
    NOT_PREPARED = "NOT_PREPARED"
    TIMEOUT = "TIMEOUT"
    UNKNOWN = "UNKNOWN"
    AGENT_BLOCKED = "AGENT_BLOCKED"
    ACCOUNT_UNKNOWN = "ACCOUNT_UNKNOWN"
    CURRENCY_DIFFERS = "CURRENCY_DIFFERS"
    BELOW_MIN_AMOUNT_OUT = "BELOW_MIN_AMOUNT_OUT"
    POOL_DIFFERS = "POOL_DIFFERS"
    PEER_ABANDONED = "PEER_ABANDONED"
    """An administrator ended what was under way with the peer."""


class Swap(msgspec.Struct, frozen=True):
    """Amount that a receiver of another currency gets: at least `min_amount_out`, in minor units of `currency_received`.

    `amount_out` is fixed by a sender's registry that is the home of the pool; None: the receiver's fixes it.
    """

    currency_received: str
    min_amount_out: int
    amount_out: int | None = None
    quote_id: str | None = None

    @property
    def text(self) -> str:
        """Every member, for the digest of the transfer."""
        return f"{self.currency_received} {self.min_amount_out} {self.amount_out} {self.quote_id}"


class Body(msgspec.Struct, frozen=True):
    """Contents of a transfer. The same id with another body is refused.

    `purpose` is the thing that the transfer pays for, in lower-case characters and `_`: PAYMENT_TOKEN, CONTRACT, or None for a plain transfer.
    """

    transfer_id: str
    sender_did: str
    receiver_did: str
    amount: int
    currency: str
    memo: str | None = None
    swap: Swap | None = None
    purpose: str | None = None

    @property
    def digest(self) -> str:
        """Names the transfer with everything in it."""
        unit = self.currency if self.purpose is None else f"{self.currency} {self.purpose}"
        parts = (self.transfer_id, self.sender_did, self.receiver_did, str(self.amount), unit)
        swapped = () if self.swap is None else (self.swap.text,)
        text = "\n".join((*parts, "" if self.memo is None else "+" + self.memo, *swapped))
        return hashlib.sha256(text.encode()).hexdigest()


class Message(msgspec.Struct, frozen=True):
    """One signed statement. `proof` is a statement of the addressee that this one relies on, with its signature."""

    type: MessageType
    body: Body | None = None
    net: int | None = None
    fee: int | None = None
    code: str | None = None
    nonce: str | None = None
    own: Position = NOWHERE
    seen: Position = NOWHERE
    proof: "Message | None" = None
    raw: str | None = None
    """The statement as its author signed it, where it came from outside."""
    claim: str | None = None
    """The text of a proof that was not verified yet: it is read only where something rests on it."""
    place: Place | None = None
    """Of a receipt: its entry in the author's chain."""
    to: str | None = None
    """SPIFFE id of the addressee: a position counts for the pair with it alone. None where an older release signed it."""

    def is_of(self, body: Body) -> bool:
        """Return whether the message is about exactly this transfer."""
        return self.body == body

    @property
    def can_be_shown(self) -> bool:
        """Return whether its author can be shown the text later, inside of another message."""
        return self.raw is None or len(self.raw) <= SHOWN_MAX_CHARACTERS


def states(message: Message | None, kind: MessageType, body: Body) -> bool:
    """Return whether this is a statement of that type about exactly this transfer."""
    return message is not None and message.type is kind and message.is_of(body)


def positions_at(own: Position, seen: Position, to: str | None = None, raw: str | None = None) -> Message:
    """Positions of the two chains without a transfer, as a message about something else bears them; `raw` is its text."""
    return Message(MessageType.STATE, own=own, seen=seen, to=to, raw=raw)
