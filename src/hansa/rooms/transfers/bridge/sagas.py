"""The saga of the bridge, without I/O: (state, message, now) -> (state, messages). Service and simulator run it.

- The source locks, asks the destination, and waits for its signed answer, however long that takes. Silence refunds nothing.
- After five minutes the source asks the destination to cancel. The destination has decided by then, or records a
  cancellation against a late request; in both cases it answers with its record.
- An administrator of the source may end a saga with a destination that is lost. Where the destination shows later that it had carried
  the saga out, that counts as after a restore.
- A decision is recorded once and is the answer to every repetition. It is repeated until the source has confirmed it.
- After a restore each side shows the other the statements that it had signed. They bind: a source that forgot a saga locks again the units that
  were minted, a destination that forgot a decision carries it out again, and one that decided otherwise since takes that back.
"""

import dataclasses
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from .messages import DONE, REQUEST, Code, Direction, Message, MessageType, Terms

TIMEOUT_SECONDS = 300.0


class State(StrEnum):
    """State of a saga at its source. The history names the states that it passed in one commit as well."""

    LOCKED = "LOCKED"
    MINT_REQUESTED = "MINT_REQUESTED"
    BURNED = "BURNED"
    UNLOCK_REQUESTED = "UNLOCK_REQUESTED"
    TIMED_OUT = "TIMED_OUT"
    COMPLETED = "COMPLETED"
    REFUNDED = "REFUNDED"
    FAILED = "FAILED"
    IN_DOUBT = "IN_DOUBT"
    """Minted before this registry was restored, and there are no units to be locked for it now."""


ENDED = frozenset({State.COMPLETED, State.REFUNDED, State.FAILED})


class Money(StrEnum):
    """Movement of units in the commit of a move."""

    LOCK = "lock"
    KEEP = "keep"
    RETURN = "return"
    BURN = "burn"
    END_BURN = "end_burn"
    RETURN_BURNED = "return_burned"
    MINT = "mint"
    UNLOCK = "unlock"
    RELOCK = "relock"
    """As LOCK and KEEP at once, of a saga that this registry began and then forgot."""
    BURN_AGAIN = "burn_again"
    """As BURN and END_BURN at once, of a saga that this registry began and then forgot."""
    TAKE_BACK_MINTED = "take_back_minted"
    """The wrapped units of a mint that this registry had cancelled before it was restored."""
    TAKE_BACK_UNLOCKED = "take_back_unlocked"
    """As TAKE_BACK_MINTED, of own units: they are locked again."""


class Saga(msgspec.Struct, frozen=True):
    """A saga at its source. `deadline` is in seconds since 1970.

    `is_closed`: the destination knows the outcome as well, nothing is sent about it any more. A saga that has ended is opened again
    when a restore may have lost the decision.
    """

    terms: Terms
    state: State
    deadline: float
    code: str | None = None
    answer: Message | None = None
    is_closed: bool = False

    @property
    def has_ended(self) -> bool:
        """Return whether the outcome is known."""
        return self.state in ENDED

    @property
    def is_abandoned(self) -> bool:
        """Return whether an administrator ended it, and the destination has not agreed."""
        return self.code == Code.PEER_ABANDONED and self.answer is None


class Decision(msgspec.Struct, frozen=True):
    """Decision that the destination recorded. `request` is a statement with which the source signed that it began the saga.

    `is_in_doubt`: it was cancelled before a restore and unlocked after it, and nobody has the units to be taken back.
    """

    terms: Terms
    is_done: bool
    code: str | None = None
    request: Message | None = None
    is_closed: bool = False
    """The source confirmed that it has the decision."""
    is_in_doubt: bool = False


class Inputs(msgspec.Struct, frozen=True):
    """Facts that a registry finds for a message, in the transaction that applies it.

    `refusal` is why a first request would be refused; `may_decide` is false as long as a restored registry does not know its
    own decisions. `has_units`: whether a statement signed before a restore can be carried out, or taken back, now.
    `is_current`: nothing later was seen of the author's chain. A late message may be of a fork that a restore ended: it is a
    signature that binds, and no sign that its author still knows it. `is_repeated`: the other registry repeats its decisions.
    """

    refusal: str | None = None
    may_decide: bool = True
    has_units: bool = True
    is_current: bool = True
    is_repeated: bool = True


class Move(msgspec.Struct, frozen=True):
    """Result of a message or a moment at the source; `passed` are the states for the history, in order.

    `saga` is None where the source knows none and needs none. `entry` is the record in the chain of the pair.
    """

    saga: Saga | None
    passed: tuple[str, ...] = ()
    money: Money | None = None
    entry: str | None = None
    confirms: bool = False
    """Whether the source has the decision of the destination, for good."""


class Decided(msgspec.Struct, frozen=True):
    """Result of a message at the destination: the decision after it, the units that move, and the answer.

    `is_new`: the decision is to be written. `entry` is the record in the chain of the pair.
    """

    decision: Decision | None
    answer: Message | None
    is_new: bool = False
    money: Money | None = None
    entry: str | None = None


NOTHING = Decided(None, None)
ENTRY_DECIDED, ENTRY_ENDED = "saga_decided", "saga_ended"


class _Course(msgspec.Struct, frozen=True):
    """The states and the movements of one direction."""

    first: tuple[str, State]
    requested: State
    done: tuple[str, State]
    undone: tuple[str | State, ...]
    begin: Money
    keep: Money
    give_back: Money
    carry_out: Money
    again: Money
    take_back: Money


_COURSES = {
    Direction.WRAP: _Course(
        first=("INITIATED", State.LOCKED),
        requested=State.MINT_REQUESTED,
        done=("MINTED", State.COMPLETED),
        undone=("REFUNDING", State.REFUNDED),
        begin=Money.LOCK,
        keep=Money.KEEP,
        give_back=Money.RETURN,
        carry_out=Money.MINT,
        again=Money.RELOCK,
        take_back=Money.TAKE_BACK_MINTED,
    ),
    Direction.REDEEM: _Course(
        first=("BURN_REQUESTED", State.BURNED),
        requested=State.UNLOCK_REQUESTED,
        done=("UNLOCKED", State.COMPLETED),
        undone=(State.FAILED,),
        begin=Money.BURN,
        keep=Money.END_BURN,
        give_back=Money.RETURN_BURNED,
        carry_out=Money.UNLOCK,
        again=Money.BURN_AGAIN,
        take_back=Money.TAKE_BACK_UNLOCKED,
    ),
}


def begin(terms: Terms, now: float) -> Move:
    """Set the units aside at the source."""
    course = _COURSES[terms.direction]
    saga = Saga(terms, course.first[1], now + TIMEOUT_SECONDS)
    return Move(saga, course.first, course.begin)


def on_due(saga: Saga, now: float) -> Move:
    """The destination is to be asked now."""
    if saga.has_ended or saga.state in {State.TIMED_OUT, State.IN_DOUBT}:
        return Move(saga)
    if now >= saga.deadline:
        return Move(replace(saga, state=State.TIMED_OUT), (State.TIMED_OUT,))
    requested = _COURSES[saga.terms.direction].requested
    return Move(saga) if saga.state is requested else Move(replace(saga, state=requested), (requested,))


def outstanding(saga: Saga) -> tuple[Message, ...]:
    """Return the messages for the destination until it answers; of a saga that has ended, with the answer that the destination signed."""
    if saga.is_closed or saga.state is State.IN_DOUBT:
        return ()
    cancels = saga.state in {State.TIMED_OUT, State.REFUNDED, State.FAILED}
    kind = MessageType.CANCEL if cancels else REQUEST[saga.terms.direction]
    return (Message(kind, saga.terms, proof=saga.answer if saga.has_ended else None),)


def on_answer(saga: Saga | None, message: Message, inputs: Inputs) -> Move:
    """The destination has decided: the units are kept, or given back."""
    if saga is not None and message.terms != saga.terms:
        return Move(saga)
    if saga is None or saga.state is State.IN_DOUBT:
        return _on_forgotten(saga, message, inputs)
    if saga.is_abandoned:
        return _on_abandoned(saga, message, inputs)
    return (_on_ended if saga.has_ended else _on_first)(saga, message, inputs)


def on_abandon(saga: Saga) -> Move:
    """End a saga with the destination for an administrator: the units set aside are given back."""
    if saga.has_ended:
        return Move(saga)
    course = _COURSES[saga.terms.direction]
    ended = replace(saga, state=State(course.undone[-1]), code=Code.PEER_ABANDONED, is_closed=True)
    # Of a saga in doubt nothing is set aside.
    money = None if saga.state is State.IN_DOUBT else course.give_back
    return Move(ended, tuple(course.undone), money, ENTRY_ENDED)


def receipt_of(move: Move, message: Message) -> Message | None:
    """The confirmation of a decision that the destination repeats; None where it does not repeat it, or it does not count here."""
    if not (move.confirms and message.shows_request):
        return None
    code = Code.CANCELLED if message.type is MessageType.CANCELLED else Code.COMPLETED
    return Message(MessageType.RECEIPT, message.terms, code)


def _on_first(saga: Saga, message: Message, inputs: Inputs) -> Move:
    course = _COURSES[saga.terms.direction]
    # Once the destination repeats its decision it is known that it was not lost meanwhile.
    is_closed = not inputs.is_repeated or (message.shows_request and inputs.is_current)
    if message.type is DONE[saga.terms.direction]:
        completed = replace(saga, state=State.COMPLETED, answer=message, is_closed=is_closed)
        return Move(completed, course.done, course.keep, ENTRY_ENDED, confirms=is_closed)
    if message.type is not MessageType.CANCELLED:
        return Move(saga)
    undone = State(course.undone[-1])
    code = message.code or Code.CANCELLED
    ended = replace(saga, state=undone, answer=message, code=code, is_closed=is_closed)
    return Move(ended, tuple(course.undone), course.give_back, ENTRY_ENDED, confirms=is_closed)


def _on_ended(saga: Saga, message: Message, inputs: Inputs) -> Move:
    """Apply a decision that the destination repeats. One that contradicts its earlier signature is answered with that signature."""
    expected = DONE[saga.terms.direction] if saga.state is State.COMPLETED else MessageType.CANCELLED
    if not inputs.is_current:
        return Move(saga)
    agrees = message.type is expected
    return Move(replace(saga, is_closed=agrees), confirms=agrees)


def _on_abandoned(saga: Saga, message: Message, inputs: Inputs) -> Move:
    """The destination was away when an administrator ended the saga: it agrees, or it had carried the saga out."""
    if message.type is MessageType.CANCELLED:
        return Move(replace(saga, answer=message, is_closed=True), confirms=inputs.is_current)
    return _on_forgotten(saga, message, inputs)


def _on_forgotten(saga: Saga | None, message: Message, inputs: Inputs) -> Move:
    """After a restore, the own signature under the request is binding where the destination carried it out."""
    terms = message.terms
    if message.type is MessageType.CANCELLED and message.shows_request and saga is None:
        return Move(None, confirms=inputs.is_current)
    if not message.shows_request or message.type is not DONE[terms.direction]:
        return Move(saga)
    course = _COURSES[terms.direction]
    before = (*course.first, course.requested) if saga is None else ()
    known = Saga(terms, course.requested, 0.0) if saga is None else replace(saga, code=None)
    if inputs.has_units:
        completed = replace(known, state=State.COMPLETED, answer=message, is_closed=inputs.is_current)
        passed = (*before, *course.done)
        return Move(completed, passed, course.again, ENTRY_ENDED, confirms=inputs.is_current)
    if terms.direction is Direction.REDEEM:
        # The wrapped units are set aside by another redemption, or not minted again yet: the destination repeats its decision.
        return Move(saga)
    is_new = saga is None or saga.has_ended
    return Move(replace(known, state=State.IN_DOUBT), (*before, State.IN_DOUBT) if is_new else ())


def decide(decision: Decision | None, message: Message, inputs: Inputs) -> Decided:
    """Decide at the destination: carry out, refuse or cancel once, and answer the same for good.

    A message that no source sends changes nothing and gets no answer.
    """
    terms = message.terms
    if message.type is MessageType.RECEIPT:
        return _on_receipt(decision, message) if inputs.is_current else NOTHING
    if message.type not in {MessageType.CANCEL, REQUEST[terms.direction]}:
        return NOTHING
    if decision is not None and decision.terms != terms:
        return Decided(None, Message(MessageType.CANCELLED, terms, Code.ID_CONFLICT))
    shown = message.outcome_shown
    if shown is not None and (decision is None or decision.is_done is not shown or decision.is_in_doubt):
        return _on_own_signature(decision, message, inputs, is_done=shown)
    if decision is not None:
        return Decided(decision, answer_of(decision))
    return _on_first_request(message, inputs) if inputs.may_decide else NOTHING


def _on_first_request(message: Message, inputs: Inputs) -> Decided:
    terms = message.terms
    code = Code.CANCELLED if message.type is MessageType.CANCEL else inputs.refusal
    if code is not None:
        return _recorded(Decision(terms, is_done=False, code=code, request=message))
    carry_out = _COURSES[terms.direction].carry_out
    return replace(_recorded(Decision(terms, is_done=True, request=message)), money=carry_out)


def _on_own_signature(
    decision: Decision | None, message: Message, inputs: Inputs, *, is_done: bool
) -> Decided:
    """Apply the own signature from before a restore that the source shows: it is the decision of this registry."""
    money = signed_money(decision, message)
    if money is not None and not inputs.has_units:
        # The source repeats what it shows. Nothing else stops for units that are wrapped: they come back to their holder.
        if money is not Money.TAKE_BACK_UNLOCKED or decision is None or decision.is_in_doubt:
            return NOTHING
        return Decided(replace(decision, is_in_doubt=True, is_closed=True), None, is_new=True)
    assert message.proof is not None
    code = None if is_done else message.proof.code or Code.CANCELLED
    return replace(_recorded(Decision(message.terms, is_done, code, request=message)), money=money)


def signed_money(decision: Decision | None, message: Message) -> Money | None:
    """Return the movement that this registry still owes, because the source shows its signature under another outcome."""
    shown, was_done = message.outcome_shown, decision is not None and decision.is_done
    if shown is None or shown is was_done:
        return None
    course = _COURSES[message.terms.direction]
    return course.carry_out if shown else course.take_back


def _on_receipt(decision: Decision | None, message: Message) -> Decided:
    """The source has this decision: it is not repeated any more."""
    if decision is None or decision.terms != message.terms or decision.is_closed:
        return NOTHING
    confirmed = Code.COMPLETED if decision.is_done else Code.CANCELLED
    if message.code != confirmed:
        return NOTHING
    return Decided(replace(decision, is_closed=True), None, is_new=True)


def answer_of(decision: Decision) -> Message:
    """The stored answer, the same to each repetition."""
    kind = DONE[decision.terms.direction] if decision.is_done else MessageType.CANCELLED
    return Message(kind, decision.terms, decision.code)


def unconfirmed(decision: Decision) -> tuple[Message, ...]:
    """Return the messages for the source until it confirms: the decision, with the source's own signature under the request."""
    if decision.is_closed:
        return ()
    return (dataclasses.replace(answer_of(decision), proof=decision.request),)


def _recorded(decision: Decision) -> Decided:
    return Decided(decision, answer_of(decision), is_new=True, entry=ENTRY_DECIDED)
