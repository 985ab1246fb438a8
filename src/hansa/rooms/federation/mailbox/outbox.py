"""The outbox of a room: the messages that its rows have for each peer, sent until the peer has answered them.

No text is stored. Each message bears the positions of the moment in which it is signed, so rows hold its subject and its due time.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.peers import PeerRecord, peer_by_spiffe_id

from .channel import Channel
from .delivery import PeerUnavailable

SWEEP_SECONDS = 2.0
RETRIES = jobs.Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)

M = TypeVar("M")


class Sending(msgspec.Struct, Generic[M], frozen=True):
    """Channel and the messages that are due on it.

    `due` returns the messages that the peer is to be sent now, and sets when they are due again. `rounds`: how often the messages
    that follow from the answers are sent at once.
    """

    channel: Channel[M]
    due: Callable[[Runtime, PeerRecord], Awaitable[Sequence[M]]]
    rounds: int = 1

    async def send_all(self, runtime: Runtime, peer: PeerRecord) -> None:
        """Send until nothing is due. Raises: PeerUnavailable."""
        while messages := await self.due(runtime, peer):
            await converse(runtime, peer, self.channel, messages, rounds=self.rounds)


async def converse(
    runtime: Runtime, peer: PeerRecord, channel: Channel[M], messages: Sequence[M], *, rounds: int
) -> None:
    """Send messages, apply the answers, and send the messages that follow from them, as often as `rounds`. Raises: PeerUnavailable."""
    for _ in range(rounds):
        if not messages:
            return
        messages = await channel.send(runtime, peer, messages)


class Outbox(msgspec.Struct, frozen=True):
    """Two background jobs of a room: one enqueues the peers that are due, the other sends one of them all that it has not answered.

    `ready` raises while this process may not send. `forget` ends the messages due to a peer that is not known any more; without it such a
    peer is tried again.
    """

    delivery: str
    sweep: str
    has_peer_due: Callable[[Tx], Awaitable[bool]]
    peers_due: Callable[[Tx], Awaitable[Sequence[str]]]
    sendings: tuple[Sending[Any], ...]
    at_once: int
    ready: Callable[[Runtime], Awaitable[None]] | None = None
    forget: Callable[[Tx, str], Awaitable[None]] | None = None

    @property
    def kinds(self) -> tuple[jobs.JobKind, ...]:
        """The kinds of jobs of this outbox."""
        return (
            jobs.LeasedKind(self.delivery, self.deliver, at_once=self.at_once, retries=RETRIES),
            jobs.sweep_of(self.sweep, SWEEP_SECONDS, self.has_peer_due, self.enqueue_due, once_a_turn=True),
        )

    async def enqueue_due(self, tx: Tx) -> None:
        """Enqueue the sending of due messages to every peer."""
        await jobs.enqueue_many(tx, self.delivery, [jobs.NewJob(peer) for peer in await self.peers_due(tx)])

    async def deliver(self, runtime: Runtime, job: jobs.Job) -> None:
        """Send a peer, named by its SPIFFE id, all that is due. Raises: PutOff."""
        if self.ready is not None:
            await self.ready(runtime)
        peer = await runtime.database.query(lambda tx: peer_by_spiffe_id(tx, job.key))
        if peer is None or peer.ledger_id is None:
            if self.forget is None:
                raise jobs.PutOff("the peer is not known any more")
            forget = self.forget
            await runtime.database.transaction(lambda tx: forget(tx, job.key))
            return
        try:
            for sending in self.sendings:
                await sending.send_all(runtime, peer)
        except PeerUnavailable as unavailable:
            raise jobs.PutOff(unavailable.reason) from None
