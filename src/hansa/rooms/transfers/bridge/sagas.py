"""The saga of the bridge, without I/O: (state, message, now) -> (state, messages). Service and simulator run it.

- The source locks, asks the destination, and waits for its signed answer, however long that takes. Silence refunds nothing.
- After five minutes the source asks the destination to cancel. The destination has decided by then, or records a
  cancellation against a late request; either way it answers what it recorded.
- A decision is recorded once and is the answer to every repetition.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from .messages import DONE, REQUEST, Code, Direction, Message, MessageType, Terms

TIMEOUT_SECONDS = 300.0


class State(StrEnum):
    """Where a saga stands at its source. The history names the states that it passed in one commit as well."""

    LOCKED = "LOCKED"
    MINT_REQUESTED = "MINT_REQUESTED"
    BURNED = "BURNED"
    UNLOCK_REQUESTED = "UNLOCK_REQUESTED"
    TIMED_OUT = "TIMED_OUT"
    COMPLETED = "COMPLETED"
    REFUNDED = "REFUNDED"
    FAILED = "FAILED"


ENDED = frozenset({State.COMPLETED, State.REFUNDED, State.FAILED})


class Money(StrEnum):
    """What happens to units in the commit of a move."""

    LOCK = "lock"
    KEEP = "keep"
    RETURN = "return"
    BURN = "burn"
    END_BURN = "end_burn"
    RETURN_BURNED = "return_burned"
    MINT = "mint"
    UNLOCK = "unlock"


@dataclass(frozen=True)
class Saga:
    """A saga at its source. `deadline` is in seconds since 1970."""

    terms: Terms
    state: State
    deadline: float
    code: str | None = None
    answer: Message | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the outcome is known."""
        return self.state in ENDED


@dataclass(frozen=True)
class Decision:
    """What the destination recorded, for good."""

    terms: Terms
    is_done: bool
    code: str | None = None


@dataclass(frozen=True)
class Move:
    """What a message or a moment results in at the source; `passed` are the states for the history, in order."""

    saga: Saga
    passed: tuple[str, ...] = ()
    money: Money | None = None


@dataclass(frozen=True)
class Decided:
    """What a request results in at the destination: a decision, new where money or `is_new` says so, and the answer."""

    decision: Decision | None
    answer: Message | None
    is_new: bool = False
    money: Money | None = None


@dataclass(frozen=True)
class _Course:
    """The states and the movements of one direction."""

    first: tuple[str, State]
    requested: State
    done: tuple[str, State]
    undone: tuple[str | State, ...]
    begin: Money
    keep: Money
    give_back: Money
    carry_out: Money


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
    ),
}


def begin(terms: Terms, now: float) -> Move:
    """Set the units aside at the source."""
    course = _COURSES[terms.direction]
    saga = Saga(terms, course.first[1], now + TIMEOUT_SECONDS)
    return Move(saga, course.first, course.begin)


def on_due(saga: Saga, now: float) -> Move:
    """The destination is to be asked now."""
    if saga.has_ended or saga.state is State.TIMED_OUT:
        return Move(saga)
    if now >= saga.deadline:
        return Move(replace(saga, state=State.TIMED_OUT), (State.TIMED_OUT,))
    requested = _COURSES[saga.terms.direction].requested
    return Move(saga) if saga.state is requested else Move(replace(saga, state=requested), (requested,))


def outstanding(saga: Saga) -> tuple[Message, ...]:
    """What the destination is sent until it answers."""
    if saga.has_ended:
        return ()
    if saga.state is State.TIMED_OUT:
        return (Message(MessageType.CANCEL, saga.terms),)
    return (Message(REQUEST[saga.terms.direction], saga.terms),)


def on_answer(saga: Saga, message: Message) -> Move:
    """The destination has decided: the units are kept, or given back."""
    if saga.has_ended or message.terms != saga.terms:
        return Move(saga)
    course = _COURSES[saga.terms.direction]
    if message.type is DONE[saga.terms.direction]:
        completed = replace(saga, state=State.COMPLETED, answer=message)
        return Move(completed, course.done, course.keep)
    if message.type is not MessageType.CANCELLED:
        return Move(saga)
    undone = State(course.undone[-1])
    ended = replace(saga, state=undone, answer=message, code=message.code or Code.CANCELLED)
    return Move(ended, tuple(course.undone), course.give_back)


def decide(decision: Decision | None, message: Message, refusal: str | None) -> Decided:
    """The destination's side: carry out, refuse or cancel once, and answer the same for good.

    `refusal` is why a first request would be refused. What is no request changes nothing and gets no answer.
    """
    terms = message.terms
    if decision is not None:
        if decision.terms != terms:
            return Decided(None, Message(MessageType.CANCELLED, terms, Code.ID_CONFLICT))
        return Decided(decision, answer_of(decision))
    if message.type is MessageType.CANCEL:
        return _recorded(Decision(terms, is_done=False, code=Code.CANCELLED))
    if message.type is not REQUEST[terms.direction]:
        return Decided(None, None)
    if refusal is not None:
        return _recorded(Decision(terms, is_done=False, code=refusal))
    carry_out = _COURSES[terms.direction].carry_out
    return replace(_recorded(Decision(terms, is_done=True)), money=carry_out)


def answer_of(decision: Decision) -> Message:
    """The stored answer, the same to each repetition."""
    kind = DONE[decision.terms.direction] if decision.is_done else MessageType.CANCELLED
    return Message(kind, decision.terms, decision.code)


def _recorded(decision: Decision) -> Decided:
    return Decided(decision, answer_of(decision), is_new=True)
