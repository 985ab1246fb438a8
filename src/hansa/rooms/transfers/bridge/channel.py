"""The messages of the bridge between this registry and its peers; never within a transaction.

A message lost in transit is sent again: the rows of sagas record which question is not answered, and when it is due.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.store import lock_pair

from . import pairing, sagas, store
from .envelope import read_message, signed_text
from .inbox import apply_message
from .messages import Message

PATH = "/api/v1/federation/bridge/messages"
BATCH = 100

_log = structlog.get_logger()


def _read(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
    return [read_message(text, keys)]


async def _apply(
    tx: Tx, exchange: federation.mailbox.Exchange[Message], messages: Sequence[Message]
) -> Sequence[Message]:
    corridor = Corridor.to(exchange.peer, exchange.runtime)
    answers = [await apply_message(tx, corridor, message) for message in messages]
    return [answer for answer in answers if answer is not None]


async def _sign(runtime: Runtime, messages: Sequence[Message], _: bool) -> list[str]:
    key = await federation.SIGNATORY.of(runtime).present_key()
    return [signed_text(key, message) for message in messages]


CHANNEL: federation.mailbox.Channel[Message] = federation.mailbox.Channel(
    PATH,
    asks=_read,
    answers=_read,
    parties=lambda message: (message.terms.sender_did, message.terms.receiver_did),
    apply=_apply,
    sign=_sign,
)


async def due_messages(tx: Tx, corridor: Corridor, only: UUID | None = None) -> list[Message]:
    """Return the messages due to the peer now, questions before decisions; deadlines that have passed are recorded first."""
    pair = await lock_pair(tx, corridor.key)
    messages: list[Message] = []
    timestamp = await clock.seconds(tx)
    for stored in await store.take_due(tx, corridor.key, BATCH, only):
        move = sagas.on_due(stored.saga, timestamp)
        if move.passed:
            await store.write(tx, move)
        messages += sagas.outstanding(move.saga or stored.saga)
    if only is None:
        for decision in await store.take_unconfirmed(tx, corridor.key, BATCH):
            messages += sagas.unconfirmed(decision)
    return [pairing.stamped(pair, message) for message in messages]


async def ask_now(runtime: Runtime, corridor: Corridor, saga_id: UUID) -> None:
    """Ask about one saga at once; without an answer the job asks again."""
    messages = await runtime.database.transaction(lambda tx: due_messages(tx, corridor, saga_id))
    if not messages:
        return
    try:
        await CHANNEL.send(runtime, corridor.peer, messages)
    except federation.mailbox.PeerUnavailable as unavailable:
        _log.info("the bridge got no answer", peer=corridor.frame, reason=unavailable.reason)


async def _due(runtime: Runtime, peer: federation.PeerRecord) -> Sequence[Message]:
    return await runtime.database.transaction(lambda tx: due_messages(tx, Corridor.to(peer, runtime)))


BRIDGE_OUTBOX = federation.mailbox.Outbox(
    delivery="transfers: bridge messages to a peer",
    sweep="transfers: sagas of the bridge that are due",
    has_peer_due=store.HAS_PEER_DUE,
    peers_due=store.peers_due,
    sendings=(federation.mailbox.Sending(CHANNEL, _due),),
    at_once=4,
    forget=store.rest,
)
