"""Send messages to a peer and take its answers in, in batches; never within a transaction.

What is lost on the way is sent again: rows of transfers say what the peer has not answered, and when it is due.
"""

from collections.abc import Sequence
from uuid import UUID

import msgspec
import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime, Slot
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation

from . import pair_chain, receiver, sender, store
from .envelope import MalformedMessage, read_message, signed_text
from .messages import Message
from .pair_chain import Pair
from .peer_keys import keys_of_peer, own_keys
from .sender import Judgement
from .states import Sent, SentState
from .taking_in import DELIVERY, Corridor, take_in, write_step

PATH = "/api/v1/federation/transfers/messages"
BATCH = 200
ROUNDS = 4
OK = 200
LIMITS = CallLimits(seconds=10.0, body_bytes=2 * 1024 * 1024)

SIGNATORY: Slot[federation.Signatory] = Slot("transfers: signatory of messages to peers")

_log = structlog.get_logger()


class _Answers(msgspec.Struct):
    messages: list[str]


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
        texts = await _sent(runtime, corridor, messages)
        messages = await take_in_texts(runtime, corridor, texts)


async def _sent(runtime: Runtime, corridor: Corridor, messages: Sequence[Message]) -> list[str]:
    body = {"messages": await signed(runtime, messages)}
    try:
        answer = await federation.call_peer(runtime, corridor.peer, "POST", PATH, body, limits=LIMITS)
    except OutgoingTrouble as trouble:
        raise PeerSilent(trouble.reason) from None
    except (PeerClosed, federation.FederationOff) as refusal:
        raise PeerSilent(refusal.code.lower()) from None
    if answer.status != OK:
        raise PeerSilent(f"status_{answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=_Answers).messages
    except msgspec.DecodeError:
        raise PeerSilent("unreadable_answer") from None


async def signed(runtime: Runtime, messages: Sequence[Message]) -> list[str]:
    """The messages with the signature of this registry."""
    if not messages:
        return []
    key = await SIGNATORY.of(runtime).present_key()
    return [signed_text(key, message) for message in messages]


async def take_in_texts(runtime: Runtime, corridor: Corridor, texts: Sequence[str]) -> list[Message]:
    """Take in what a peer sent, a transaction for each message; what is not its message is counted and left out."""
    answers: list[Message] = []
    peer_keys = keys_of_peer(corridor.peer)
    own = await runtime.database.look(own_keys)
    for text in texts:
        try:
            message = read_message(text, peer_keys, own)
        except MalformedMessage:
            await runtime.database.act(
                lambda tx: federation.count_refusal(tx, corridor.peer.id, "message_malformed")
            )
            continue
        answers += await _taken_in(runtime, corridor, message)
    return answers


async def _taken_in(runtime: Runtime, corridor: Corridor, message: Message) -> list[Message]:
    try:
        return await runtime.database.act(lambda tx: take_in(tx, corridor, message))
    except Refused as refusal:
        # Nothing was changed; the peer sends it again.
        _log.warning("message of a peer not applied", type=message.type.value, code=refusal.code)
        return []


async def deliver(runtime: Runtime, job: jobs.Job) -> None:
    """Send a peer all that is due. Raises: PutOff."""
    peer = await runtime.database.look(lambda tx: federation.peer_by_spiffe_id(tx, job.key))
    if peer is None or peer.ledger_id is None:
        raise jobs.PutOff("the peer is not known any more")
    corridor = Corridor.to(peer, runtime)
    while messages := await runtime.database.act(lambda tx: due_messages(tx, corridor)):
        try:
            await exchange(runtime, corridor, messages)
        except PeerSilent as silence:
            raise jobs.PutOff(silence.reason) from None


async def due_messages(tx: Tx, corridor: Corridor) -> list[Message]:
    """What the peer is to be sent now; deadlines that have passed are decided first."""
    pair = await store.lock_pair(tx, corridor.key)
    messages: list[Message] = []
    for sent in await store.take_due_sent(tx, corridor.key, BATCH // 2):
        pair, decided = await _decided_by_time(tx, corridor, pair, sent)
        messages += sender.outstanding(decided)
    for received in await store.take_due_received(tx, corridor.key, BATCH // 2):
        messages += receiver.outstanding(received)
    if await store.take_question(tx, corridor.key):
        messages += pair_chain.questions(pair)
    return [pair_chain.stamped(pair, message) for message in messages]


async def _decided_by_time(tx: Tx, corridor: Corridor, pair: Pair, sent: Sent) -> tuple[Pair, Sent]:
    step = sender.on_time(sent, Judgement(may_decide=pair.may_decide), await store.now(tx))
    if step.sent is None:
        return pair, sent
    return await write_step(tx, corridor, pair, step), step.sent


async def abort_now(tx: Tx, corridor: Corridor, transfer_id: UUID) -> None:
    """ABORT a transfer that is not decided: its caller waits no longer."""
    pair = await store.lock_pair(tx, corridor.key)
    row = await store.sent_row(tx, transfer_id, lock=True)
    assert row is not None
    sent = store.sent_of(row)
    step = sender.on_time(sent, Judgement(may_decide=pair.may_decide), sent.deadline)
    if sent.state is SentState.RESERVED and step.sent is not None:
        await write_step(tx, corridor, pair, step)


async def enqueue_due(tx: Tx) -> None:
    """Let every peer be sent what is due."""
    await jobs.enqueue_many(tx, DELIVERY, [jobs.NewJob(peer) for peer in await store.peers_due(tx)])
