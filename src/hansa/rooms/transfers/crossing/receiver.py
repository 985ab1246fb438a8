"""The receiver's side. It reserves room and promises; it never decides by time, it asks.

It credits each transfer that it once signed as prepared, also when the row was lost in a restore, as long as the peer's limit has room. An
ABORT ends a promise, unless the sender states COMMIT at a later place of its chain: the ABORT is then of a state that a
restore of the sender's registry ended.
"""

import msgspec
from msgspec.structs import replace

from .messages import Body, Code, Message, MessageType, states
from .states import NOTHING, Money, MoneyKind, Received, ReceivedState, Step


class Terms(msgspec.Struct, frozen=True):
    """Facts that the receiver's registry finds before it prepares: its fee, its refusal, the room under the peer's limit."""

    net: int
    fee: int
    headroom: int
    code: str | None = None
    tombstones_full: bool = False


def on_prepare(received: Received | None, message: Message, terms: Terms) -> Step:
    """Promise the credit, or refuse; the same answer for good."""
    body = message.body
    assert body is not None
    if received is None:
        return _first_prepare(body, terms)
    if not message.is_of(received.body):
        return _conflict(received, body)
    return Step(received=received, messages=(answer(received),))


def _first_prepare(body: Body, terms: Terms) -> Step:
    code = terms.code or (Code.PEER_LIMIT if body.amount > terms.headroom else None)
    if code is not None:
        refused = Received(body, ReceivedState.REFUSED, code=code)
        return Step(received=None if terms.tombstones_full else refused, messages=(answer(refused),))
    prepared = Received(body, ReceivedState.PREPARED, terms.net, terms.fee)
    return Step(
        received=prepared,
        messages=(answer(prepared),),
        money=(Money(MoneyKind.RESERVE_IN, body, terms.net, terms.fee),),
    )


def on_commit(received: Received | None, message: Message, terms: Terms) -> Step:
    """Credit the payee once, as was promised."""
    body = message.body
    assert body is not None
    if received is not None and not message.is_of(received.body):
        return _conflict(received, body)
    if received is None or needs_promise(received, message):
        return _replay(received, message, terms)
    if received.state is not ReceivedState.PREPARED:
        return Step(received=received, messages=(answer(received),))
    return _credit(received, message, MoneyKind.COMMIT_IN)


def needs_promise(received: Received | None, message: Message) -> bool:
    """Return whether this COMMIT differs from the record here, so that only this registry's own promise makes it count."""
    if received is None:
        return True
    match received.state:
        case ReceivedState.REFUSED:
            return True
        case ReceivedState.PREPARED:
            return (message.net, message.fee) != (received.net, received.fee)
        case ReceivedState.ABORTED:
            return received.decision is not None and message.own.is_after(received.decision.own)
        case ReceivedState.COMMITTED:
            return False


def is_given_up(received: Received) -> bool:
    """Return whether this registry promised, and an ABORT or an administrator ended it: a promise that it forgot it may have kept before."""
    return received.state in (ReceivedState.ABORTED, ReceivedState.REFUSED) and received.net > 0


def _replay(received: Received | None, message: Message, terms: Terms) -> Step:
    """Apply a COMMIT without a promise here, or without one any more: it counts only with this registry's own promise."""
    body = message.body
    assert body is not None
    promise = message.proof
    if (
        promise is None
        or not states(promise, MessageType.PREPARED, body)
        or (promise.net, promise.fee) != (message.net, message.fee)
    ):
        if received is not None and received.state is ReceivedState.PREPARED:
            return _conflict(received, body)
        refusal = Message(MessageType.REFUSED, body, code=Code.NOT_PREPARED)
        return Step(received=received, messages=(refusal,))
    if body.amount > terms.headroom:
        # The sender repeats its COMMIT; it is credited as soon as there is room.
        return NOTHING
    assert promise.net is not None
    assert promise.fee is not None
    known = Received(body, ReceivedState.PREPARED, promise.net, promise.fee)
    step = _credit(known, message, MoneyKind.REPLAY_IN)
    if received is None or received.state is not ReceivedState.PREPARED:
        return step
    # Promised anew since, by a registry that had forgotten the first promise.
    given_up = Money(MoneyKind.ABORT_IN, body, received.net, received.fee)
    return replace(step, money=(given_up, *step.money))


def _credit(received: Received, message: Message, kind: MoneyKind) -> Step:
    credited = replace(received, state=ReceivedState.COMMITTED, code=None, decision=message)
    return Step(
        received=credited,
        messages=(answer(credited),),
        money=(Money(kind, received.body, received.net, received.fee),),
        entry="receipt",
    )


def on_abort(received: Received | None, message: Message, terms: Terms) -> Step:
    """Give the room back; of an unknown transfer keep a tombstone, so that a late prepare is refused."""
    body = message.body
    assert body is not None
    if received is not None and not message.is_of(received.body):
        return _conflict(received, body)
    if received is not None and received.state in (ReceivedState.COMMITTED, ReceivedState.ABORTED):
        return Step(received=received, messages=(answer(received),))
    if received is None and terms.tombstones_full:
        return NOTHING
    known = received or Received(body, ReceivedState.REFUSED)
    aborted = replace(known, state=ReceivedState.ABORTED, code=Code.ABORTED, decision=message)
    had_room = known.state is ReceivedState.PREPARED
    return Step(
        received=aborted,
        messages=(answer(aborted),),
        money=(Money(MoneyKind.ABORT_IN, body, known.net, known.fee),) if had_room else (),
        entry="receipt",
    )


def on_abandon(received: Received) -> Step:
    """End a transfer that enters for an administrator: the room is free again. A COMMIT that shows the promise counts later."""
    if received.state is not ReceivedState.PREPARED:
        return NOTHING
    refused = replace(received, state=ReceivedState.REFUSED, code=Code.PEER_ABANDONED)
    given_up = Money(MoneyKind.ABORT_IN, received.body, received.net, received.fee)
    return Step(received=refused, money=(given_up,))


def on_closed(received: Received | None, message: Message) -> Step:
    """The sender holds the receipt: nothing is left to be sent."""
    decided = (ReceivedState.COMMITTED, ReceivedState.ABORTED)
    if received is None or not message.is_of(received.body) or received.state not in decided:
        return NOTHING
    return Step(received=replace(received, is_closed=True))


def outstanding(received: Received) -> tuple[Message, ...]:
    """Return the messages for the sender's registry until it answers: the question about the decision, or the receipt."""
    if received.state is ReceivedState.PREPARED:
        return (Message(MessageType.QUERY, received.body),)
    if received.state is ReceivedState.REFUSED or received.is_closed:
        return ()
    return (answer(received),)


def answer(received: Received) -> Message:
    """The stored answer: the same to each repetition."""
    body = received.body
    match received.state:
        case ReceivedState.PREPARED:
            return Message(MessageType.PREPARED, body, net=received.net, fee=received.fee)
        case ReceivedState.REFUSED:
            return Message(MessageType.REFUSED, body, code=received.code)
        case ReceivedState.COMMITTED:
            return _receipt(received, Code.COMMITTED)
        case ReceivedState.ABORTED:
            return _receipt(received, Code.ABORTED)


def _receipt(received: Received, code: Code) -> Message:
    return Message(
        MessageType.RECEIPT,
        received.body,
        net=received.net,
        fee=received.fee,
        code=code,
        proof=received.decision,
        place=received.place,
    )


def _conflict(received: Received, body: Body) -> Step:
    return Step(received=received, messages=(Message(MessageType.REFUSED, body, code=Code.ID_CONFLICT),))
