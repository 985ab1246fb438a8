"""A channel: the messages on one subject between this registry and its peers, sent and received alike.

- A room declares its messages: how a text is read, which agents a message names, how it is applied, how an answer is signed.
- Messages are applied in a transaction, which undoes a refused message. A message that is lost or refused is sent again by its author.
- The outbox has the messages that the rows of a room have for each peer, sent until the peer has answered them. No text is
  stored: each message bears the positions of the moment in which it is signed, so rows hold its subject and its due time.
- Nothing here is called within a transaction.

Post a request to a peer. A peer that does not answer is one error, with a reason that may be stored.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms.federation.did_claims import FrameUnavailable, learn_holders
from hansa.rooms.federation.identity import FederationOff
from hansa.rooms.federation.peer_trust import call_peer
from hansa.rooms.federation.peers import (
    CALL_LIMITS,
    PeerRecord,
    count_refusal,
    keys_in_force,
    peer_by_spiffe_id,
    with_present_keys,
)

from .envelope import MalformedMessage

M = TypeVar("M")
MALFORMED = "message_malformed"
_log = structlog.get_logger()
SWEEP_SECONDS = 2.0
RETRIES = jobs.Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)
OK = 200


class ApplyAlone(Exception):
    """Message that changes rows read for the others: each is to be applied in a transaction of its own."""


class Exchange(msgspec.Struct, Generic[M], frozen=True):
    """One request between two registries, as those who apply its messages see it.

    `sent`: the messages of this registry to which the peer answers; empty where the peer asks.
    """

    runtime: Runtime
    peer: PeerRecord
    sent: Sequence[M] = ()

    @property
    def spiffe_id(self) -> str:
        """The name of the peer in every row."""
        assert self.peer.spiffe_id is not None
        return self.peer.spiffe_id


Read = Callable[[str, Mapping[str, bytes]], Sequence[M]]
"""Return the messages of one text by the holder of these keys. Raises: MalformedMessage."""
Apply = Callable[[Tx, Exchange[M], Sequence[M]], Awaitable[Sequence[M]]]
"""Apply messages in order; the answers to them. Raises: MalformedMessage, ApplyAlone, Refused."""
Sign = Callable[[Runtime, Sequence[M], bool], Awaitable[list[str]]]
"""Sign messages, several in one text where the reader reads that."""
Stamp = Callable[[Runtime, PeerRecord, Sequence[M]], Awaitable[Sequence[M]]]
"""Return messages with the positions of this moment."""


class Channel(msgspec.Struct, Generic[M], frozen=True):
    """The messages on one subject.

    `asks` reads requests to the own route, `answers` a peer's answers; `parties` are the agents that a message names.
    `stamp` is called before messages are sent. `is_together`: the messages of one request are one transaction; otherwise each is
    its own. `messages_max`: of one request; those beyond it are counted as malformed. `readers`: SPIFFE ids of the peers whose last
    answer to this process said that they read several messages in one text; None where none are signed so.
    """

    path: str
    asks: Read[M]
    answers: Read[M]
    parties: Callable[[M], Collection[str]]
    apply: Apply[M]
    sign: Sign[M]
    stamp: Stamp[M] | None = None
    is_together: bool = False
    messages_max: int | None = None
    readers: Slot[set[str]] | None = None

    async def receive(
        self, runtime: Runtime, peer: PeerRecord, texts: Sequence[str], *, reads_transfers: bool = False
    ) -> list[str]:
        """Apply the messages that a peer sent to the own route; return the signed answers."""
        answers = await self._apply_texts(Exchange(runtime, peer), self.asks, texts)
        return await self.sign(runtime, answers, reads_transfers) if answers else []

    async def send(self, runtime: Runtime, peer: PeerRecord, messages: Sequence[M]) -> Sequence[M]:
        """Send messages and apply the answers; return the messages that follow from these. Raises: PeerUnavailable."""
        if self.stamp is not None:
            messages = await self.stamp(runtime, peer, messages)
        exchange = Exchange(runtime, peer, messages)
        answers = await self._post(exchange, messages)
        return await self._apply_texts(exchange, self.answers, answers)

    async def _post(self, exchange: Exchange[M], messages: Sequence[M]) -> list[str]:
        runtime, peer = exchange.runtime, exchange.peer
        if self.readers is None:
            texts = await self.sign(runtime, messages, False)
            return (await post_messages(runtime, peer, self.path, texts)).messages
        readers = self.readers.of(runtime)
        texts = await self.sign(runtime, messages, exchange.spiffe_id in readers)
        declared = await post_messages(runtime, peer, self.path, texts, reads_transfers=True)
        (readers.add if declared.reads_transfers else readers.discard)(exchange.spiffe_id)
        return declared.messages

    async def _apply_texts(self, exchange: Exchange[M], read: Read[M], texts: Sequence[str]) -> list[M]:
        peer = await with_present_keys(exchange.runtime, exchange.peer, texts)
        exchange = msgspec.structs.replace(exchange, peer=peer)
        messages, malformed = _read(read, texts, exchange.peer)
        if self.messages_max is not None and len(messages) > self.messages_max:
            malformed += len(messages) - self.messages_max
            del messages[self.messages_max :]
        if malformed:
            await _count_malformed(exchange, malformed)
        parts = [messages] if self.is_together and messages else [[one] for one in messages]
        return [answer for part in parts for answer in await self._apply_known(exchange, part)]

    async def _apply_known(self, exchange: Exchange[M], messages: Sequence[M]) -> Sequence[M]:
        """Apply messages once it is known which registries have their agents; none while the frame of this trust domain is silent."""
        runtime = exchange.runtime
        if exchange.peer.trust_domain == runtime.settings.trust_domain:
            try:
                await learn_holders(runtime, {did for one in messages for did in self.parties(one)})
            except FrameUnavailable as silence:
                # Nothing was changed; the peer sends them again.
                _log.warning("messages of a peer not applied", path=self.path, code=silence.code)
                return ()
        return await self._apply(exchange, messages)

    async def _apply(self, exchange: Exchange[M], messages: Sequence[M]) -> Sequence[M]:
        try:
            return await exchange.runtime.database.transaction(lambda tx: self.apply(tx, exchange, messages))
        except ApplyAlone:
            pass
        except MalformedMessage:
            await _count_malformed(exchange, len(messages))
            return ()
        except Refused as refusal:
            # Nothing was changed; what is not answered the peer sends again.
            if len(messages) == 1 or isinstance(refusal, Unavailable):
                _log.warning("messages of a peer not applied", path=self.path, code=refusal.code)
                return ()
        return [answer for one in messages for answer in await self._apply(exchange, [one])]


def _read(read: Read[M], texts: Iterable[str], peer: PeerRecord) -> tuple[list[M], int]:
    """The messages of the peer, and how many texts are none."""
    keys = keys_in_force(peer)
    messages: list[M] = []
    malformed = 0
    for text in texts:
        try:
            messages += read(text, keys)
        except MalformedMessage:
            malformed += 1
    return messages, malformed


async def _count_malformed(exchange: Exchange[M], times: int) -> None:
    await exchange.runtime.database.transaction(
        lambda tx: count_refusal(tx, exchange.peer.id, MALFORMED, times)
    )


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


class PeerUnavailable(Exception):
    """The peer did not answer, or not as the protocol has it; `reason` may be stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Answers(msgspec.Struct):
    """Messages in the answer of a peer. `reads_transfers`: it reads several transfers in one text."""

    messages: list[str]
    reads_transfers: bool = False


async def post(
    runtime: Runtime, peer: PeerRecord, path: str, body: Any, *, limits: CallLimits = CALL_LIMITS
) -> Answer:
    """Post a JSON body to a route of a peer; any status is an answer. Never within a transaction. Raises: PeerUnavailable."""
    try:
        return await call_peer(runtime, peer, "POST", path, body, limits=limits)
    except OutgoingTrouble as error:
        raise PeerUnavailable(error.reason) from None
    except (PeerClosed, FederationOff) as refusal:
        raise PeerUnavailable(refusal.code.lower()) from None


async def post_messages(
    runtime: Runtime, peer: PeerRecord, path: str, texts: Sequence[str], **members: object
) -> Answers:
    """Post messages, and further members beside them; the messages in answer. Never within a transaction. Raises: PeerUnavailable."""
    answer = await post(runtime, peer, path, {"messages": list(texts), **members})
    if answer.status != OK:
        raise PeerUnavailable(f"status_{answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=Answers)
    except msgspec.DecodeError:
        raise PeerUnavailable("unreadable_answer") from None
