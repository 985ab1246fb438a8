"""The messages about transfers between this registry and its peers, in batches; never within a transaction.

A message lost in transit is sent again: rows of transfers record which one the peer has not answered, and when it is due.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import pair_chain, received_store, receiver, sender, sent_store, store
from .corridor import Corridor
from .envelope import read_messages, signed_texts
from .high_water import HIGH_WATER
from .inbox import apply_messages, dids_in
from .messages import MESSAGES_MAX, Message
from .sender import SenderInputs
from .writing import Changes, write_changes

DELIVERY = "transfers: messages to a peer"
PATH = "/api/v1/federation/transfers/messages"
BATCH = 200
ROUNDS = 4

READING_TRANSFERS: Slot[set[str]] = Slot(
    "transfers: peers that read several transfers in one text", build=lambda _: set()
)


async def _apply(
    tx: Tx, exchange: federation.mailbox.Exchange[Message], messages: Sequence[Message]
) -> Sequence[Message]:
    return await apply_messages(tx, Corridor.to(exchange.peer, exchange.runtime), messages)


async def _sign(runtime: Runtime, messages: Sequence[Message], together: bool) -> list[str]:
    key = await federation.SIGNATORY.of(runtime).present_key()
    return signed_texts(key, messages, together=together)


async def _stamp(
    runtime: Runtime, peer: federation.PeerRecord, messages: Sequence[Message]
) -> Sequence[Message]:
    assert peer.spiffe_id is not None
    name = peer.spiffe_id
    pair = await runtime.database.query(lambda tx: store.find_pair(tx, name))
    return [pair_chain.stamped(pair, one) for one in messages]


def _read(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
    return read_messages(text, keys)


CHANNEL: federation.mailbox.Channel[Message] = federation.mailbox.Channel(
    PATH,
    asks=_read,
    answers=_read,
    parties=lambda message: dids_in([message]),
    apply=_apply,
    sign=_sign,
    stamp=_stamp,
    is_together=True,
    messages_max=MESSAGES_MAX,
    readers=READING_TRANSFERS,
)


async def _due(runtime: Runtime, peer: federation.PeerRecord) -> Sequence[Message]:
    return await runtime.database.transaction(lambda tx: due_messages(tx, Corridor.to(peer, runtime)))


async def due_messages(tx: Tx, corridor: Corridor) -> list[Message]:
    """Return the messages due to the peer now; deadlines that have passed are decided first."""
    pair = await store.lock_pair(tx, corridor.key)
    changes = Changes(pair, pair)
    now = await clock.seconds(tx)
    messages: list[Message] = []
    for sent in await sent_store.take_due_sent(tx, corridor.key, BATCH // 2):
        step = sender.on_time(sent, SenderInputs(may_decide=pair.may_decide), now)
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
        step = sender.on_time(sent, SenderInputs(may_decide=pair.may_decide), sent.deadline)
        if step.sent is not None:
            changes.add(step)
    if changes.sent:
        await jobs.enqueue(tx, DELIVERY, corridor.key)
    await write_changes(tx, corridor, changes)


OUTBOX = federation.mailbox.Outbox(
    delivery=DELIVERY,
    sweep="transfers: what peers are due to be sent",
    has_peer_due=store.HAS_PEER_DUE,
    peers_due=store.peers_due,
    sendings=(federation.mailbox.Sending(CHANNEL, _due, rounds=ROUNDS),),
    at_once=8,
    ready=lambda runtime: HIGH_WATER.of(runtime).require_compared(),
    # Decisions wait in case that the peer comes back.
    forget=store.rest,
)
