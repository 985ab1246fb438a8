"""State of one transfer on either side, the money that a step moves, and the result of a step."""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from .messages import Body, Message, Place


class SentState(StrEnum):
    """At the sender's registry, which alone decides."""

    RESERVED = "reserved"
    COMMITTED = "committed"
    ABORTED = "aborted"
    IN_DOUBT = "in_doubt"
    """Committed before this registry was restored, and there are no units for it now."""


class ReceivedState(StrEnum):
    """At the receiver's registry."""

    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"
    REFUSED = "refused"


class Sent(msgspec.Struct, frozen=True):
    """A transfer that leaves this registry. `expected_fee` is the border fee of the receiver's signed card."""

    body: Body
    state: SentState
    deadline: float = 0.0
    expected_fee: int = 0
    prepared: Message | None = None
    code: str | None = None
    receipt: Message | None = None
    """The receiver's; until it is here, the decision is sent again and again."""

    @property
    def is_closed(self) -> bool:
        """Return whether nothing is left to be sent."""
        return self.receipt is not None and self.state in (SentState.COMMITTED, SentState.ABORTED)


class Received(msgspec.Struct, frozen=True):
    """A transfer that enters this registry."""

    body: Body
    state: ReceivedState
    net: int = 0
    fee: int = 0
    code: str | None = None
    decision: Message | None = None
    """COMMIT or ABORT, with the sender's signature."""
    is_closed: bool = False
    """The sender confirmed the receipt."""
    place: Place | None = None
    """Of its receipt in the own chain."""


class MoneyKind(StrEnum):
    """Movement of units in the commit of a step."""

    RESERVE_OUT = "reserve_out"
    COMMIT_OUT = "commit_out"
    ABORT_OUT = "abort_out"
    REPLAY_OUT = "replay_out"
    """As reserve and commit at once, of a transfer that this registry committed and then forgot."""
    SHORTFALL_OUT = "shortfall_out"
    """As REPLAY_OUT, paid by the account for shortfalls: the payer does not hold the units now."""
    RESERVE_IN = "reserve_in"
    COMMIT_IN = "commit_in"
    ABORT_IN = "abort_in"
    REPLAY_IN = "replay_in"
    """As reserve and commit at once, of a transfer that this registry prepared and then forgot."""


class Money(msgspec.Struct, frozen=True):
    """Units that a step moves, or for which it reserves room; `amount` is net and fee together."""

    kind: MoneyKind
    body: Body
    net: int = 0
    fee: int = 0

    @property
    def amount(self) -> int:
        """The whole amount that crosses."""
        return self.body.amount


class Step(msgspec.Struct, frozen=True):
    """Result of one message or one moment: the new row, the answers, the money, and whether the chain grows.

    `entry` is the decision or receipt that the chain records, None when nothing was decided.
    """

    sent: Sent | None = None
    received: Received | None = None
    messages: tuple[Message, ...] = ()
    money: tuple[Money, ...] = ()
    entry: str | None = None

    def saying(self, *messages: Message) -> "Step":
        """The same step with these answers."""
        return replace(self, messages=messages)


NOTHING = Step()
"""The message changes nothing and gets no answer."""
