"""One message, or one moment, in: the new state, the answers and the money out. No I/O; the service and the simulator run this.

The rows of a transfer are of the two directions: `sent` under this registry's ids, `received` under the peer's.
"""

import msgspec

from . import receiver, sender
from .messages import Code, Message, MessageType
from .receiver import Terms
from .sender import SenderInputs
from .states import NOTHING, Received, Sent, SentState, Step

OF_RECEIVER = frozenset({MessageType.PREPARED, MessageType.REFUSED, MessageType.QUERY})


class Inputs(msgspec.Struct, frozen=True):
    """Facts that were read for a message, in the transaction that applies it."""

    terms: Terms
    sender_inputs: SenderInputs


def concerns_sent(message: Message) -> bool:
    """Return whether the message is about a transfer that left this registry; else about one that enters it."""
    if message.type is MessageType.RECEIPT:
        return message.code != Code.CLOSED
    return message.type in OF_RECEIVER


def rests_on_proof(sent: Sent | None, received: Received | None, message: Message) -> bool:
    """Return whether the message makes a statement that is not known here, so that only this registry's own signature makes it credible."""
    if message.type is MessageType.COMMIT:
        return receiver.needs_promise(received, message)
    if message.type is MessageType.RECEIPT and concerns_sent(message):
        decided = {SentState.COMMITTED: Code.COMMITTED, SentState.ABORTED: Code.ABORTED}
        return sent is None or decided.get(sent.state) != message.code
    return False


def receive(
    sent: Sent | None, received: Received | None, message: Message, inputs: Inputs, now: float
) -> Step:
    """Apply a message whose signature and positions were judged. A message that changes nothing is the empty step."""
    if message.body is None:
        return NOTHING
    if concerns_sent(message):
        return _at_sender(sent, message, inputs.sender_inputs, now)
    return _at_receiver(received, message, inputs.terms)


def _at_sender(sent: Sent | None, message: Message, sender_inputs: SenderInputs, now: float) -> Step:
    match message.type:
        case MessageType.PREPARED:
            return sender.on_prepared(sent, message, sender_inputs, now)
        case MessageType.REFUSED:
            return sender.on_refused(sent, message, sender_inputs)
        case MessageType.QUERY:
            return sender.on_query(sent, message, sender_inputs)
        case _:
            return sender.on_receipt(sent, message, sender_inputs)


def _at_receiver(received: Received | None, message: Message, terms: Terms) -> Step:
    match message.type:
        case MessageType.PREPARE:
            return receiver.on_prepare(received, message, terms)
        case MessageType.COMMIT:
            return receiver.on_commit(received, message, terms)
        case MessageType.ABORT:
            return receiver.on_abort(received, message, terms)
        case MessageType.RECEIPT:
            return receiver.on_closed(received, message)
        case _:
            return NOTHING
