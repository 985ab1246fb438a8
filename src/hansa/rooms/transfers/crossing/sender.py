"""The sender's side. It alone decides: COMMIT once the receiver is prepared, else ABORT, by time too, never after COMMIT.

A decision that bears this registry's own signature is binding, also when the row that recorded it was lost in a restore.
Where a restore left both, COMMIT holds: nothing that was committed is refunded, and the receiver's registry credits it.
"""

import msgspec
from msgspec.structs import replace

from .messages import Body, Code, Message, MessageType, Swap, states
from .states import NOTHING, Money, MoneyKind, Sent, SentState, Step


class SenderInputs(msgspec.Struct, frozen=True):
    """Facts that the sender's registry finds before it decides.

    `may_decide` is false as long as a restored registry does not know its decisions. `has_units` says whether the
    payer, or the account for shortfalls, covers a transfer that has to be replayed; `is_shortfall`, that it is the latter.
    `tombstones_full`: the peer named as many transfers that are unknown here as are recorded for one peer.
    """

    code: str | None = None
    may_decide: bool = True
    has_units: bool = True
    is_shortfall: bool = False
    tombstones_full: bool = False


def reserve(body: Body, expected_fee: int, deadline: float) -> Step:
    """Take the units from the payer and ask the receiver's registry to prepare."""
    sent = Sent(body, SentState.RESERVED, deadline, expected_fee)
    return Step(sent=sent, messages=outstanding(sent), money=(Money(MoneyKind.RESERVE_OUT, body),))


def outstanding(sent: Sent) -> tuple[Message, ...]:
    """Return the messages for the receiver's registry until it answers."""
    if sent.is_closed or sent.state is SentState.IN_DOUBT:
        return ()
    return (_statement(sent),)


def _statement(sent: Sent) -> Message:
    match sent.state:
        case SentState.RESERVED:
            swap = sent.body.swap
            if swap is None or swap.amount_out is None:
                return Message(MessageType.PREPARE, sent.body)
            return Message(MessageType.PREPARE, sent.body, net=swap.amount_out, fee=sent.expected_fee)
        case SentState.ABORTED:
            return Message(MessageType.ABORT, sent.body, code=sent.code)
        case _:
            prepared = sent.prepared
            net, fee = (prepared.net, prepared.fee) if prepared else (None, None)
            return Message(MessageType.COMMIT, sent.body, net=net, fee=fee, proof=prepared)


def on_prepared(sent: Sent | None, message: Message, sender_inputs: SenderInputs, now: float) -> Step:
    """The receiver's registry is prepared: decide."""
    assert message.body is not None
    if sent is None:
        return _on_unknown(message.body, sender_inputs)
    if not message.is_of(sent.body) or sent.state is SentState.IN_DOUBT:
        return NOTHING
    if sent.state is not SentState.RESERVED:
        return Step(sent=sent, messages=(_statement(sent),))
    if not sender_inputs.may_decide:
        return NOTHING
    code = sender_inputs.code or _why_aborted(sent, message, now)
    return _commit(sent, message) if code is None else _abort(sent, code)


def _why_aborted(sent: Sent, message: Message, now: float) -> str | None:
    if now >= sent.deadline:
        return Code.TIMEOUT
    if sent.body.swap is not None:
        return _why_not_swapped(sent.body.swap, message)
    if (message.net, message.fee) != (sent.body.amount - sent.expected_fee, sent.expected_fee):
        return Code.FEE_MISMATCH
    return None


def _why_not_swapped(swap: Swap, message: Message) -> str | None:
    """Return why a swap is refused that pays neither the amount fixed here nor at least the minimum; None where it is accepted."""
    net = message.net or 0
    if swap.amount_out is not None and net != swap.amount_out:
        return Code.FEE_MISMATCH
    return Code.BELOW_MIN_AMOUNT_OUT if net < swap.min_amount_out else None


def _commit(sent: Sent, message: Message) -> Step:
    committed = replace(sent, state=SentState.COMMITTED, prepared=replace(message, proof=None))
    return Step(
        sent=committed,
        messages=(_statement(committed),),
        money=(Money(MoneyKind.COMMIT_OUT, sent.body, message.net or 0, message.fee or 0),),
        entry="commit",
    )


def on_refused(sent: Sent | None, message: Message, sender_inputs: SenderInputs) -> Step:
    """The receiver's registry refuses: the transfer is aborted for its reason."""
    if sent is None or not message.is_of(sent.body) or sent.state is not SentState.RESERVED:
        return NOTHING
    if not sender_inputs.may_decide:
        return NOTHING
    return _abort(sent, message.code or Code.ABORTED)


def on_query(sent: Sent | None, message: Message, sender_inputs: SenderInputs) -> Step:
    """Answer the question of the receiver's registry about the outcome of the transfer."""
    assert message.body is not None
    if sent is None:
        return _on_unknown(message.body, sender_inputs)
    if not message.is_of(sent.body):
        return Step(sent=sent, messages=(Message(MessageType.STATE, message.body, code=Code.ID_CONFLICT),))
    if sent.state in (SentState.RESERVED, SentState.IN_DOUBT):
        return Step(sent=sent, messages=(Message(MessageType.STATE, sent.body, code=Code.RESERVED),))
    return Step(sent=sent, messages=(_statement(sent),))


def on_time(sent: Sent, sender_inputs: SenderInputs, now: float) -> Step:
    """The deadline has come: ABORT, unless the decision is recorded."""
    if sent.state is not SentState.RESERVED or now < sent.deadline or not sender_inputs.may_decide:
        return NOTHING
    return _abort(sent, Code.TIMEOUT)


def on_abandon(sent: Sent) -> Step:
    """End a transfer that leaves for an administrator: ABORT, unless the decision is recorded.

    A COMMIT of before a restore that the peer shows later counts all the same.
    """
    if sent.state is SentState.RESERVED:
        return _abort(sent, Code.PEER_ABANDONED)
    if sent.state is SentState.IN_DOUBT:
        return Step(sent=replace(sent, state=SentState.ABORTED, code=Code.PEER_ABANDONED), entry="abort")
    return NOTHING


def on_receipt(sent: Sent | None, message: Message, sender_inputs: SenderInputs) -> Step:
    """The receiver's registry carried the decision out, and shows it with this registry's signature."""
    body = message.body
    assert body is not None
    if sent is not None and not message.is_of(sent.body):
        return NOTHING
    if message.code == Code.COMMITTED:
        step = _credited(sent, body, message, sender_inputs)
    elif message.code == Code.ABORTED:
        step = _not_credited(sent, body, message)
    else:
        return NOTHING
    if step.sent is None or step.sent.receipt is None:
        return step
    return step.saying(Message(MessageType.RECEIPT, body, code=Code.CLOSED))


def _credited(sent: Sent | None, body: Body, message: Message, sender_inputs: SenderInputs) -> Step:
    if sent is not None and sent.state is SentState.COMMITTED:
        return Step(sent=replace(sent, receipt=message))
    if not states(message.proof, MessageType.COMMIT, body):
        return NOTHING
    known = sent or Sent(body, SentState.ABORTED)
    proof = message.proof
    assert proof is not None
    committed = replace(
        known, state=SentState.COMMITTED, code=None, receipt=message, prepared=proof.proof or known.prepared
    )
    net, fee = proof.net or 0, proof.fee or 0
    if known.state is SentState.RESERVED:
        return Step(sent=committed, money=(Money(MoneyKind.COMMIT_OUT, body, net, fee),), entry="commit")
    if not sender_inputs.has_units:
        return Step(sent=replace(committed, state=SentState.IN_DOUBT, receipt=None))
    kind = MoneyKind.SHORTFALL_OUT if sender_inputs.is_shortfall else MoneyKind.REPLAY_OUT
    return Step(sent=committed, money=(Money(kind, body, net, fee),), entry="commit")


def _not_credited(sent: Sent | None, body: Body, message: Message) -> Step:
    if sent is not None and sent.state is SentState.ABORTED:
        return Step(sent=replace(sent, receipt=message))
    if not states(message.proof, MessageType.ABORT, body):
        return NOTHING
    if sent is None:
        return Step(sent=Sent(body, SentState.ABORTED, code=Code.ABORTED, receipt=message), entry="abort")
    if sent.state is not SentState.RESERVED:
        # The ABORT is of a state that a restore ended: COMMIT is stated at a later place, and the promise is shown with it.
        stored = replace(sent, receipt=None)
        return Step(sent=stored, messages=(_statement(stored),))
    step = _abort(sent, Code.ABORTED)
    assert step.sent is not None
    return replace(step, sent=replace(step.sent, receipt=message))


def _on_unknown(body: Body, sender_inputs: SenderInputs) -> Step:
    """ABORT is binding, so that it is recorded with its answer; without room for the record there is no answer."""
    if not sender_inputs.may_decide or sender_inputs.tombstones_full:
        return NOTHING
    aborted = Sent(body, SentState.ABORTED, code=Code.UNKNOWN)
    return Step(sent=aborted, messages=(_statement(aborted),), entry="abort")


def _abort(sent: Sent, code: str) -> Step:
    aborted = replace(sent, state=SentState.ABORTED, code=code)
    return Step(
        sent=aborted,
        messages=(_statement(aborted),),
        money=(Money(MoneyKind.ABORT_OUT, sent.body),),
        entry="abort",
    )
