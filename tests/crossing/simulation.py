"""Seeded histories: two or three registries, a network that loses, doubles, delays, reorders and corrupts, and worse.

A heap of events with a virtual clock. Faults end at HEALED; what is under way then has to come to its end. The same seed
gives the same history.
"""

import heapq
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from msgspec.structs import replace

from hansa.rooms.transfers.crossing.messages import Body, Message, MessageType, Position
from hansa.rooms.transfers.crossing.states import ReceivedState, SentState

from .model import Registry, Toward, require, require_quiet, total

HEALED = 200.0
ENDED = 4000.0
UNITS = 100_000
RESEND_SECONDS = 7.0
LATE_SECONDS = (3.0, 30.0, 100.0)
"""By how much a late message is delayed."""
QUIET_ASK_SECONDS = HEALED + max(LATE_SECONDS) + 5
"""When the heads are asked once more: the service asks a quiet peer every five minutes, also after the last message that was late."""
SWITCHED_OFF = "off"

Covered = tuple[tuple[SentState | None, ReceivedState | None] | None, MessageType, str]
"""The state of a transfer where a message came, None where no transfer can be meant; the message, and what befell it."""


@dataclass(frozen=True)
class Faults:
    """How likely each fault is for one message, and which events a history has."""

    lost: float
    doubled: float
    late: float
    corrupted: float
    crashes: int
    restores: int
    drift: float


@dataclass
class History:
    """One run. `coverage` counts state x message x fault."""

    may_be_attacked: ClassVar[bool] = True
    quiet_after: ClassVar[float] = QUIET_ASK_SECONDS + 60
    """A registry for which nothing is waiting goes on until then."""
    seed: int
    is_attacked: bool = False
    honest: dict[str, Registry] = field(default_factory=dict)
    malicious: str | None = None
    coverage: dict[Covered, int] = field(default_factory=dict)
    trace: list[tuple[object, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.count = 0
        self.now = 0.0
        self.backups: dict[str, Registry] = {}
        self.resting: set[str] = set()
        """The registries that send nothing by themselves any more, until a late message gives them something to send."""
        self.heard: list[tuple[str, Message]] = []
        """Everything that honest registries signed for the malicious one."""
        roll = self.rng.random
        self.faults = Faults(
            roll() * 0.3, roll() * 0.3, roll() * 0.5, roll() * 0.1,
            self.rng.choice((0, 0, 1, 3)), self.rng.choice((0, 0, 0, 1, 2)), roll() * 3,
        )  # fmt: skip
        self._found()

    def run(self) -> "History":
        """Play the history to its end. Raises: Broken."""
        while self.queue:
            self.now, _, event = heapq.heappop(self.queue)
            if self.now > ENDED:
                break
            event()
        for one in self.honest:
            for other in self.honest:
                if one < other:
                    self.require_ended(self.honest[one], self.honest[other])
        if self.malicious is None:
            expected = self.founded + self.issued_since() - self.given_up()
            require(total(self.honest.values()) == expected, "units of honest registries changed")
        else:
            gained = total(self.honest.values()) - self.founded
            require(gained <= self.limit_of_malicious, "a malicious peer gained more than its limit", gained)
            for one in self.honest.values():
                kept = one.toward[self.malicious]
                require(
                    kept.pair.may_decide or one.was_restored, "a malicious peer stops decisions", one.name
                )
        return self

    def registry(self, name: str, limit: int, blocked: frozenset[str]) -> Registry:
        """A registry of this history, before it has peers."""
        return Registry(name, UNITS, limit, UNITS, blocked)

    def begin(self) -> None:
        """What is done once all registries have their peers."""

    def require_ended(self, one: Registry, other: Registry) -> None:
        """Check the rules between two registries once nothing is under way. Raises: Broken."""
        require_quiet(one, other)

    def issued_since(self) -> int:
        """Units that were issued since, less those that were destroyed."""
        return 0

    def given_up(self) -> int:
        """Units that left one registry and reached no other, because administrators gave them up."""
        return 0

    def _found(self) -> None:
        rng = self.rng
        names = ["a", "b", "c"][: rng.choice((2, 2, 2, 3))]
        if (rng.random() < 0.25 and self.may_be_attacked) or self.is_attacked:
            self.malicious = names.pop() if len(names) == 3 else "m"
        self.limit_of_malicious = 0
        blocked = frozenset(f"{late}t{n}" for n in range(6) for late in ("", "-late") if rng.random() < 0.08)
        for name in names:
            limit = 10 * UNITS if self.malicious is None else 2000
            one = self.registry(name, limit, blocked)
            peers = [other for other in (*names, self.malicious) if other not in (None, name)]
            one.toward = {str(peer): Toward() for peer in peers}
            self.honest[name] = one
            if self.malicious is not None:
                self.limit_of_malicious += limit
        self.begin()
        self.founded = total(self.honest.values())
        self.clock = {name: rng.uniform(-self.faults.drift, self.faults.drift) for name in names}
        self._plan(names)

    def _plan(self, names: list[str]) -> None:
        rng = self.rng
        for n in range(rng.randint(1, 5)):
            payer = rng.choice(names)
            payee = rng.choice(list(self.honest[payer].toward))
            self._at(rng.uniform(0, 60), lambda n=n, payer=payer, payee=payee: self._begin(n, payer, payee))
        for name in names:
            self._at(rng.uniform(0, RESEND_SECONDS), lambda name=name: self._tick(name))
            self._at(rng.uniform(0, 80), lambda name=name: self._back_up(name))
            for moment in (HEALED + 5, QUIET_ASK_SECONDS):
                self._at(moment, lambda name=name: self._ask(name))
        for _ in range(self.faults.restores):
            name = rng.choice(names)
            self._at(rng.uniform(20, HEALED), lambda name=name: self._restore(name))
        for _ in range(rng.randint(5, 25) if self.malicious else 0):
            self._at(rng.uniform(0, HEALED), self._attack)

    def _at(self, time: float, event: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.queue, (time, self.count, event))

    def _clock(self, name: str) -> float:
        return self.now + self.clock[name]

    def _begin(self, n: int, payer: str, payee: str) -> None:
        body = Body(f"t{n}", f"did:{payer}", f"did:{payee}", self.rng.randint(1, 900), "AVT")
        fee = 0 if self.rng.random() < 0.05 else None
        deadline = self._clock(payer) + self.rng.choice((0.5, 5.0, 40.0))
        self._transmit(payer, payee, self.honest[payer].send(payee, body, deadline, fee))

    def _tick(self, name: str) -> None:
        one = self.honest[name]
        for peer in one.toward:
            self._transmit(name, peer, one.tick(peer, self._clock(name)))
        if self.now < self.quiet_after or self._waits(name):
            self._at(self.now + RESEND_SECONDS * self.rng.uniform(0.8, 1.2), lambda: self._tick(name))

        else:
            self.resting.add(name)

    def _waits(self, name: str) -> bool:
        one = self.honest[name]
        return any(peer != self.malicious and one.is_waiting(peer) for peer in one.toward)

    def _ask(self, name: str) -> None:
        for peer, kept in self.honest[name].toward.items():
            if kept.is_peer:
                self.honest[name].ask_heads(peer)

    def _back_up(self, name: str) -> None:
        self.backups[name] = self.honest[name].copy()

    def _restore(self, name: str) -> None:
        if name in self.backups:
            drawn = self.rng.random()
            noticed = "noticed" if drawn < 0.5 else "file missing" if drawn < 0.7 else "not noticed"
            self.honest[name] = self.honest[name].restored(self.backups[name], noticed=noticed)
            self.trace.append((self.now, "restore", name, noticed))

    def _transmit(self, author: str, to: str, messages: list[Message]) -> None:
        for message in messages:
            if to == self.malicious:
                self.heard.append((author, message))
                if self.rng.random() < 0.5:
                    self._answer_maliciously(author, message)
                continue
            self._carry(author, to, message)

    def _carry(self, author: str, to: str, message: Message) -> None:
        rng, faults = self.rng, self.faults
        is_faulty = self.now < HEALED
        copies = 1
        if is_faulty and rng.random() < faults.lost:
            self._covered(to, message, "lost")
            return
        if is_faulty and rng.random() < faults.corrupted:
            # Its signature is not that of the author any more: refused before it is read.
            self._covered(to, message, "corrupted")
            return
        if is_faulty and rng.random() < faults.doubled:
            copies = 2
            self._covered(to, message, "doubled")
        for _ in range(copies):
            delay = rng.uniform(0.01, 0.2)
            if is_faulty and rng.random() < faults.late:
                delay += rng.choice(LATE_SECONDS)
                self._covered(to, message, "late")
            self._at(self.now + delay, lambda: self._deliver(author, to, message))

    def _deliver(self, author: str, to: str, message: Message) -> None:
        fault = "none"
        if self.faults.crashes and self.now < HEALED and self.rng.random() < 0.02 * self.faults.crashes:
            fault = self.rng.choice(("crash before the commit", "crash after the commit"))
        self._covered(to, message, fault)
        if fault == "crash before the commit":
            return
        answers = self.honest[to].receive(author, message, self._clock(to))
        if fault == "none":
            self._transmit(to, author, answers)
        if to in self.resting and self._waits(to):
            self.resting.remove(to)
            self._at(self.now + RESEND_SECONDS, lambda: self._tick(to))

    def _covered(self, to: str, message: Message, fault: str) -> None:
        states = None
        if message.body is not None:
            toward = self.honest[to].toward
            author = self._author(message.body, toward)
            if author is not None:
                sent = toward[author].sent.get(message.body.transfer_id)
                taken = toward[author].received.get(message.body.transfer_id)
                states = (sent and sent.state, taken and taken.state)
        key = (states, message.type, fault)
        self.coverage[key] = self.coverage.get(key, 0) + 1
        self.trace.append((self.now, to, *key))

    @staticmethod
    def _author(body: Body, toward: Mapping[str, Toward]) -> str | None:
        """The one party of a transfer that is a peer."""
        payer, payee = body.sender_did.removeprefix("did:"), body.receiver_did.removeprefix("did:")
        if payer in toward:
            return None if payee in toward else payer
        return payee if payee in toward else None

    def _attack(self) -> None:
        """The malicious peer signs whatever it likes; it cannot sign for others."""
        rng = self.rng
        target = rng.choice(list(self.honest))
        ids = [one.body for _, one in self.heard if one.body is not None]
        signed_there = [one for author, one in self.heard if author == target]
        known = rng.choice(ids) if ids and rng.random() < 0.6 else None
        body = known or Body(f"m{rng.randint(0, 3)}", "did:m", f"did:{target}", rng.randint(1, 1500), "AVT")
        if rng.random() < 0.15:
            body = replace(body, amount=rng.randint(1, 1500))
        fee = rng.choice((body.amount // 200, 0, -body.amount))
        proof = rng.choice(signed_there) if signed_there and rng.random() < 0.6 else None
        message = Message(
            rng.choice(list(MessageType)), body, net=body.amount - fee, fee=fee,
            code=rng.choice(("COMMITTED", "ABORTED", "CLOSED", "X")), nonce=rng.choice(("a1", "x")),
            own=Position(rng.choice((1, 1, 1, 2)), rng.randint(0, 5), "f" * 64),
            seen=Position(1, rng.choice((0, 0, 0, 9)), "0" * 64), proof=proof,
        )  # fmt: skip
        self._deliver(str(self.malicious), target, message)

    def _answer_maliciously(self, author: str, message: Message) -> None:
        """Plays along, so that transfers come far enough to be abused."""
        body, rng = message.body, self.rng
        if body is None:
            return
        kind = {
            MessageType.PREPARE: MessageType.PREPARED,
            MessageType.COMMIT: MessageType.RECEIPT,
            MessageType.PREPARED: rng.choice((MessageType.COMMIT, MessageType.ABORT)),
            MessageType.QUERY: rng.choice((MessageType.COMMIT, MessageType.ABORT)),
        }.get(message.type)
        if kind is None:
            return
        fee = body.amount // 200 if rng.random() < 0.8 else -body.amount
        code = "COMMITTED" if kind is MessageType.RECEIPT else None
        proof = replace(message, own=Position(), seen=Position())
        seen = Position(message.own.epoch, message.own.seq, message.own.head)
        answer = Message(
            kind, body, net=body.amount - fee, fee=fee, code=code, own=Position(1), seen=seen, proof=proof
        )
        self._at(self.now + rng.uniform(0.01, 5), lambda: self._deliver(str(self.malicious), author, answer))
