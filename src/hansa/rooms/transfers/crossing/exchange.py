"""Send messages to a peer and take its answers in, in batches; never within a transaction.

What is lost in transit is sent again: rows of transfers say what the peer has not answered, and when it is due.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import msgspec
import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime, Slot
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import federation

from . import pair_chain, received_store, receiver, sender, sent_store, store
from .corridor import Corridor
from .envelope import MalformedMessage, read_messages, signed_texts
from .high_water import HIGH_WATER
from .messages import MESSAGES_MAX, Message
from .sender import Judgement
from .taking_in import ApplyAlone, dids_in, take_in
from .writing import Changes, write_changes

DELIVERY = "transfers: messages to a peer"
PATH = "/api/v1/federation/transfers/messages"
BATCH = 200
ROUNDS = 4
OK = 200
LIMITS = CallLimits(seconds=10.0, body_bytes=2 * 1024 * 1024)

_log = structlog.get_logger()


READING_TRANSFERS: Slot[set[str]] = Slot(
    "transfers: peers that read several transfers in one text", build=lambda _: set()
)
"""The SPIFFE ids of those whose last answer to this process said so."""


class _Answers(msgspec.Struct):
    messages: list[str]
    reads_transfers: bool = False


class PeerSilent(Exception):
    """The peer did not answer, or not with messages; `reason` may be stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def exchange(
    runtime: Runtime, corridor: Corridor, messages: Sequence[Message], *, rounds: int = ROUNDS
) -> None:
    """Send messages, take the answers in, and send what follows from them. Raises: PeerSilent."""
    for _ in range(rounds):
        if not messages:
            return
        messages = await answers_to(runtime, corridor, messages)


async def answers_to(runtime: Runtime, corridor: Corridor, messages: Sequence[Message]) -> list[Message]:
    """Send messages with the positions of this moment and take the answers in; what follows from them. Raises: PeerSilent."""
    pair = await runtime.database.look(lambda tx: store.find_pair(tx, corridor.key))
    texts = await _sent(runtime, corridor, [pair_chain.stamped(pair, one) for one in messages])
    return await take_in_texts(runtime, corridor, texts)


async def _sent(runtime: Runtime, corridor: Corridor, messages: Sequence[Message]) -> list[str]:
    reading = READING_TRANSFERS.of(runtime)
    texts = await signed(runtime, messages, together=corridor.key in reading)
    body = {"messages": texts, "reads_transfers": True}
    try:
        answer = await federation.call_peer(runtime, corridor.peer, "POST", PATH, body, limits=LIMITS)
    except OutgoingTrouble as trouble:
        raise PeerSilent(trouble.reason) from None
    except (PeerClosed, federation.FederationOff) as refusal:
        raise PeerSilent(refusal.code.lower()) from None
    if answer.status != OK:
        raise PeerSilent(f"status_{answer.status}")
    try:
        answers = msgspec.json.decode(answer.body, type=_Answers)
    except msgspec.DecodeError:
        raise PeerSilent("unreadable_answer") from None
    if answers.reads_transfers:
        reading.add(corridor.key)
    else:
        reading.discard(corridor.key)
    return answers.messages


async def signed(runtime: Runtime, messages: Sequence[Message], *, together: bool) -> list[str]:
    """The messages with the signature of this registry; `together` as in `signed_texts`."""
    if not messages:
        return []
    key = await federation.SIGNATORY.of(runtime).present_key()
    return signed_texts(key, messages, together=together)


async def take_in_texts(runtime: Runtime, corridor: Corridor, texts: Sequence[str]) -> list[Message]:
    """Take in what a peer sent, in one transaction; what is not its message, or one too many, is counted and left out."""
    messages: list[Message] = []
    malformed = 0
    corridor = replace(corridor, peer=await federation.with_present_keys(runtime, corridor.peer, texts))
    peer_keys = federation.keys_in_force(corridor.peer)
    for text in texts:
        try:
            messages += read_messages(text, peer_keys)
        except MalformedMessage:
            malformed += 1
    if len(messages) > MESSAGES_MAX:
        malformed += len(messages) - MESSAGES_MAX
        del messages[MESSAGES_MAX:]
    if malformed:
        await runtime.database.act(
            lambda tx: federation.count_refusal(tx, corridor.peer.id, "message_malformed", malformed)
        )
    if corridor.is_within_frame:
        try:
            await federation.learn_holders(runtime, dids_in(messages))
        except federation.FrameSilent as silence:
            _log.warning("messages of a peer not applied", code=silence.code)
            return []
    return await _taken_in(runtime, corridor, messages) if messages else []


async def _taken_in(runtime: Runtime, corridor: Corridor, messages: Sequence[Message]) -> list[Message]:
    try:
        return await runtime.database.act(lambda tx: take_in(tx, corridor, messages))
    except ApplyAlone:
        pass
    except Refused as refusal:
        # Nothing was changed; what is not answered the peer sends again.
        if len(messages) == 1 or isinstance(refusal, Unavailable):
            types = sorted({message.type.value for message in messages})
            _log.warning("messages of a peer not applied", types=types, code=refusal.code)
            return []
    return [answer for message in messages for answer in await _taken_in(runtime, corridor, [message])]


async def deliver(runtime: Runtime, job: jobs.Job) -> None:
    """Send a peer all that is due. Raises: PutOff."""
    await HIGH_WATER.of(runtime).require_compared()
    peer = await runtime.database.look(lambda tx: federation.peer_by_spiffe_id(tx, job.key))
    if peer is None or peer.ledger_id is None:
        # What is decided waits in case that the peer comes back.
        await runtime.database.act(lambda tx: store.rest(tx, job.key))
        return
    corridor = Corridor.to(peer, runtime)
    while messages := await runtime.database.act(lambda tx: due_messages(tx, corridor)):
        try:
            await exchange(runtime, corridor, messages)
        except PeerSilent as silence:
            raise jobs.PutOff(silence.reason) from None


async def due_messages(tx: Tx, corridor: Corridor) -> list[Message]:
    """What the peer is to be sent now; deadlines that have passed are decided first."""
    pair = await store.lock_pair(tx, corridor.key)
    changes = Changes(pair, pair)
    now = await store.now(tx)
    messages: list[Message] = []
    for sent in await sent_store.take_due_sent(tx, corridor.key, BATCH // 2):
        step = sender.on_time(sent, Judgement(may_decide=pair.may_decide), now)
        if step.sent is not None:
            changes.add(step)
        messages += sender.outstanding(step.sent or sent)
    for received in await received_store.take_due_received(tx, corridor.key, BATCH // 2):
        messages += receiver.outstanding(received)
    if await store.take_question(tx, corridor.key):
        messages += pair_chain.questions(pair)
    await write_changes(tx, corridor, changes)
    return [pair_chain.stamped(changes.pair, message) for message in messages]


async def abort_now(tx: Tx, corridor: Corridor, transfer_ids: Sequence[UUID]) -> None:
    """ABORT those of the transfers that are not decided: their callers wait no longer."""
    pair = await store.lock_pair(tx, corridor.key)
    changes = Changes(pair, pair)
    found, _ = await sent_store.lock_sent(tx, corridor.key, transfer_ids)
    for sent in found.values():
        step = sender.on_time(sent, Judgement(may_decide=pair.may_decide), sent.deadline)
        if step.sent is not None:
            changes.add(step)
    if changes.sent:
        await jobs.enqueue(tx, DELIVERY, corridor.key)
    await write_changes(tx, corridor, changes)


async def enqueue_due(tx: Tx) -> None:
    """Let every peer be sent what is due."""
    await jobs.enqueue_many(tx, DELIVERY, [jobs.NewJob(peer) for peer in await store.peers_due(tx)])
