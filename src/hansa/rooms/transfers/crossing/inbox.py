"""Apply messages of a peer: chain, rows, events and units of all of them in one transaction.

- The pair is locked first, so that one request of a peer is applied after the other; the engine of the ledger comes last.
- Rows, heads and findings are read once for all messages; each message then sees the changes of the ones before it.
- A refused message changes nothing. Where one message undoes the transaction, the caller applies each alone.

Places of the own chain that a peer shows: in a text that this registry signed for it, of any kind that bears positions.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import pair_chain, protocol, received_store, sent_store, store
from .corridor import Corridor
from .envelope import ENVELOPE, MalformedMessage, position_in, proved
from .inputs import NO_TERMS, InputReader
from .messages import NOWHERE, SHOWN_MAX_CHARACTERS, Code, Message, Position, positions_at
from .protocol import Inputs
from .reopening import reopen
from .sender import SenderInputs
from .states import Received, ReceivedState, Sent, SentState, Step
from .writing import Changes, write_changes

SHOWN = [
    federation.mailbox.Envelope(typ, SHOWN_MAX_CHARACTERS)
    for typ in (ENVELOPE.typ, "fed-bridge+jws", "fed-slash+jws")
]


def dids_in(messages: Sequence[Message]) -> set[str]:
    """The agents that the messages name."""
    bodies = [message.body for message in messages if message.body is not None]
    return {did for body in bodies for did in (body.sender_did, body.receiver_did)}


async def apply_messages(tx: Tx, corridor: Corridor, messages: Sequence[Message]) -> list[Message]:
    """Apply messages whose signatures were verified, in order; the answers bear the positions after the last.

    Raises: ApplyAlone where there are several, the refusals of the ledger.
    """
    taking = await _Taking.begun(tx, corridor, messages)
    answers = [answer for message in messages for answer in await taking.answers_to(message)]
    await write_changes(tx, corridor, taking.changes)
    for reason, count in taking.refused.items():
        await federation.count_refusal(tx, corridor.peer.id, reason, count)
    return [pair_chain.stamped(taking.changes.pair, one) for one in answers]


class _Taking(msgspec.Struct):
    """Messages of one request at work: the known state of their transfers, and the changes."""

    tx: Tx
    corridor: Corridor
    changes: Changes
    heads: dict[tuple[int, int], str]
    sent: dict[str, Sent]
    of_others: frozenset[str]
    """Ids of transfers that left for another peer."""
    received: dict[str, Received]
    reader: InputReader
    elsewhere: Mapping[str, str | None]
    """The DIDs of the messages that other registries of this trust domain hold, and which."""
    now: float
    is_alone: bool
    refused: dict[str, int] = msgspec.field(default_factory=dict)

    @classmethod
    async def begun(cls, tx: Tx, corridor: Corridor, messages: Sequence[Message]) -> "_Taking":
        """Lock the pair and the rows, and read the facts that the messages need."""
        pair = await store.lock_pair(tx, corridor.key)
        own: list[UUID] = []
        theirs: list[UUID] = []
        for message in messages:
            if message.body is not None:
                ids = own if protocol.concerns_sent(message) else theirs
                ids.append(UUID(message.body.transfer_id))
        sent, of_others = await sent_store.lock_sent(tx, corridor.key, own)
        received = await received_store.lock_received(tx, corridor.key, theirs)
        return cls(
            tx,
            corridor,
            Changes(pair, pair),
            await store.heads_at(tx, corridor.key, {one.seen for one in messages}),
            sent,
            of_others,
            received,
            await InputReader.of(tx, corridor, messages, received),
            await federation.held_elsewhere(tx, dids_in(messages)) if corridor.is_within_frame else {},
            await clock.seconds(tx),
            is_alone=len(messages) == 1,
        )

    async def answers_to(self, message: Message) -> Sequence[Message]:
        """Apply one message. Raises: ApplyAlone."""
        if not pair_chain.is_plausible(self.changes.pair, message):
            return self._refuse("message_implausible")
        answers, is_forged = await self._observe(message)
        if is_forged:
            return [*answers, *self._refuse("position_forged")]
        pair = self.changes.pair
        if message.body is None or pair_chain.is_outdated(pair, message):
            return answers
        own, other = message.body.receiver_did, message.body.sender_did
        if protocol.concerns_sent(message):
            own, other = other, own
        if not self.corridor.is_between(own, other, self.elsewhere):
            return self._refuse("foreign_namespace")
        transfer_id = message.body.transfer_id
        if protocol.rests_on_proof(self.sent.get(transfer_id), self.received.get(transfer_id), message):
            try:
                message = proved(message, await federation.mailbox.own_keys(self.tx))
            except MalformedMessage:
                return self._refuse("message_malformed")
        concerns_sent = protocol.concerns_sent(message)
        step = await (self._on_sent(message) if concerns_sent else self._on_received(message))
        return [*answers, *step.messages]

    async def _observe(self, message: Message) -> tuple[list[Message], bool]:
        """Judge the positions; return the answers, and whether the message makes a statement about the own chain that nothing proves."""
        recorded = self.heads.get((message.seen.epoch, message.seen.seq))
        if pair_chain.contradicts(self.changes.pair, message, recorded):
            message = await self._with_proof(message)
        observed = pair_chain.observe(self.changes.pair, message, recorded, uuid4().hex)
        self.changes.pair = observed.pair
        if observed.resend:
            if not self.is_alone:
                raise federation.mailbox.ApplyAlone
            # Before the row of the message itself is read anew and changed.
            await reopen(self.tx, self.corridor.key, self.corridor.reopened)
            await self._read_again(message)
        return list(observed.messages), observed.is_forged

    async def _with_proof(self, message: Message) -> Message:
        """A message about the heads with the own statement that it shows, if it is one for this peer."""
        if message.claim is None or message.type not in pair_chain.HEADS:
            return message
        place = presented_place(message.claim, await federation.mailbox.own_keys(self.tx), self.corridor.key)
        return message if place is None else replace(message, proof=positions_at(place, NOWHERE))

    async def _read_again(self, message: Message) -> None:
        if message.body is not None:
            named = [UUID(message.body.transfer_id)]
            self.sent, _ = await sent_store.lock_sent(self.tx, self.corridor.key, named)
            self.received = await received_store.lock_received(self.tx, self.corridor.key, named)

    async def _on_sent(self, message: Message) -> Step:
        assert message.body is not None
        transfer_id = message.body.transfer_id
        if transfer_id in self.of_others:
            return Step()
        sent = self.sent.get(transfer_id)
        sender_inputs = await self.reader.sender_inputs(self.changes.pair, sent, message)
        step = protocol.receive(sent, None, message, Inputs(NO_TERMS, sender_inputs), self.now)
        if sender_inputs.tombstones_full:
            self._refuse("transfer_tombstones")
        if step.sent is not None and step.sent != sent:
            self.sent[transfer_id] = step.sent
            self.reader.sent_tombstones.new += sent is None and step.sent.code == Code.UNKNOWN
            self.reader.has_doubt |= step.sent.state is SentState.IN_DOUBT
            self._change(step)
        return step

    async def _on_received(self, message: Message) -> Step:
        assert message.body is not None
        transfer_id = message.body.transfer_id
        received = self.received.get(transfer_id)
        terms = await self.reader.terms(self.changes.pair, received, message)
        step = protocol.receive(None, received, message, Inputs(terms, SenderInputs()), self.now)
        if terms.tombstones_full:
            self._refuse("transfer_tombstones")
        if step.received is not None and step.received != received:
            self.received[transfer_id] = step.received
            is_tombstone = step.received.state in {ReceivedState.REFUSED, ReceivedState.ABORTED}
            self.reader.received_tombstones.new += received is None and is_tombstone
            self._change(step)
            if step.entry is not None:
                self.received[transfer_id] = placed = self.changes.received[transfer_id]
                return step.saying(*(replace(one, place=placed.place) for one in step.messages))
        return step

    def _change(self, step: Step) -> None:
        self.changes.add(step)
        self.reader.move(step.money)
        own = self.changes.pair.own
        if step.entry is not None:
            self.heads[own.epoch, own.seq] = own.head

    def _refuse(self, reason: str) -> Sequence[Message]:
        self.refused[reason] = self.refused.get(reason, 0) + 1
        return ()


def presented_place(text: str, own_keys: Mapping[str, bytes], peer: str) -> Position | None:
    """The place at which this registry, which has or had these keys, signed the text for this peer; None where it did not.

    A text for another peer proves nothing: its place is of another chain.
    """
    for envelope in SHOWN:
        try:
            payload = envelope.verify(text, own_keys)
            return position_in(payload) if payload.get("to") == peer else None
        except MalformedMessage:
            continue
    return None
