"""Ask a peer about the sagas that wait for it, and take its answers in; never within a transaction.

What is lost in transit is asked again: the rows of sagas say what is not answered, and when it is due.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.store import lock_pair, now

from . import pairing, sagas, store
from .envelope import read_message, signed_text
from .messages import Message
from .taking_in import take_in

PATH = "/api/v1/federation/bridge/messages"
DELIVERY = "transfers: bridge messages to a peer"
SWEEP_SECONDS = 2.0
BATCH = 100

_log = structlog.get_logger()


async def exchange(runtime: Runtime, corridor: Corridor, messages: Sequence[Message]) -> None:
    """Send messages and take the answers in. Raises: PeerSilent."""
    texts = await federation.post_messages(runtime, corridor.peer, PATH, await signed(runtime, messages))
    await take_in_texts(runtime, corridor, texts)


async def signed(runtime: Runtime, messages: Sequence[Message]) -> list[str]:
    """The messages with the signature of this registry."""
    if not messages:
        return []
    key = await federation.SIGNATORY.of(runtime).present_key()
    return [signed_text(key, message) for message in messages]


async def take_in_texts(runtime: Runtime, corridor: Corridor, texts: Sequence[str]) -> list[Message]:
    """Take in what a peer sent, a transaction for each message; what is not its message is counted and left out."""
    answers: list[Message] = []
    corridor = replace(corridor, peer=await federation.with_present_keys(runtime, corridor.peer, texts))
    for text in texts:
        message = read_message(text, corridor.peer)
        if message is None:
            await runtime.database.act(
                lambda tx: federation.count_refusal(tx, corridor.peer.id, "message_malformed")
            )
            continue
        if not await _are_known(runtime, corridor, message):
            continue
        answer = await _taken_in(runtime, corridor, message)
        if answer is not None:
            answers.append(answer)
    return answers


async def _are_known(runtime: Runtime, corridor: Corridor, message: Message) -> bool:
    """Whether it is known which registry has both agents; False while the frame of this trust domain does not answer."""
    try:
        if corridor.is_within_frame:
            await federation.learn_holders(runtime, [message.terms.sender_did, message.terms.receiver_did])
    except federation.FrameSilent as silence:
        # Nothing was changed; the peer sends it again.
        _log.warning("message of the bridge not applied", type=message.type.value, code=silence.code)
        return False
    return True


async def _taken_in(runtime: Runtime, corridor: Corridor, message: Message) -> Message | None:
    try:
        return await runtime.database.act(lambda tx: take_in(tx, corridor, message))
    except Refused as refusal:
        # Nothing was changed; the peer sends it again.
        _log.warning("message of the bridge not applied", type=message.type.value, code=refusal.code)
        return None


async def due_messages(tx: Tx, corridor: Corridor, only: UUID | None = None) -> list[Message]:
    """What the peer is to be sent now, questions before decisions; deadlines that have passed are recorded first."""
    pair = await lock_pair(tx, corridor.key)
    messages: list[Message] = []
    moment = await now(tx)
    for kept in await store.take_due(tx, corridor.key, BATCH, only):
        move = sagas.on_due(kept.saga, moment)
        if move.passed:
            await store.write(tx, move)
        messages += sagas.outstanding(move.saga or kept.saga)
    if only is None:
        for decision in await store.take_unconfirmed(tx, corridor.key, BATCH):
            messages += sagas.unconfirmed(decision)
    return [pairing.stamped(pair, message) for message in messages]


async def ask_now(runtime: Runtime, corridor: Corridor, saga_id: UUID) -> None:
    """Ask about one saga at once; without an answer the job asks again."""
    messages = await runtime.database.act(lambda tx: due_messages(tx, corridor, saga_id))
    if not messages:
        return
    try:
        await exchange(runtime, corridor, messages)
    except federation.PeerSilent as silence:
        _log.info("the bridge got no answer", peer=corridor.frame, reason=silence.reason)


async def deliver(runtime: Runtime, job: jobs.Job) -> None:
    """Ask a peer about all that is due. Raises: PutOff."""
    peer = await runtime.database.look(lambda tx: federation.peer_by_spiffe_id(tx, job.key))
    if peer is None or peer.ledger_id is None:
        raise jobs.PutOff("the peer is not known any more")
    corridor = Corridor.to(peer, runtime)
    while messages := await runtime.database.act(lambda tx: due_messages(tx, corridor)):
        try:
            await exchange(runtime, corridor, messages)
        except federation.PeerSilent as silence:
            raise jobs.PutOff(silence.reason) from None


async def _enqueue_due(tx: Tx) -> None:
    await jobs.enqueue_many(tx, DELIVERY, [jobs.NewJob(peer) for peer in await store.peers_due(tx)])


BRIDGE_JOBS = (
    jobs.LeasedKind(
        DELIVERY, deliver, at_once=4, retries=jobs.Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)
    ),
    jobs.sweep_of(
        "transfers: sagas of the bridge that are due",
        SWEEP_SECONDS,
        store.HAS_PEER_DUE,
        _enqueue_due,
        once_a_turn=True,
    ),
)
