"""A registry as the protocol sees it: its book, its rows and its chains, in memory. The functions are those of the service.

`restore` gives back an older state of all three together, as a database does.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from hansa.rooms.transfers.crossing import pair_chain, protocol, receiver, sender
from hansa.rooms.transfers.crossing.messages import Body, Code, Message
from hansa.rooms.transfers.crossing.pair_chain import Pair
from hansa.rooms.transfers.crossing.protocol import Inputs
from hansa.rooms.transfers.crossing.receiver import Terms
from hansa.rooms.transfers.crossing.sender import SenderInputs
from hansa.rooms.transfers.crossing.states import (
    Money,
    MoneyKind,
    Received,
    ReceivedState,
    Sent,
    SentState,
    Step,
)
from hansa.rooms.transfers.pools.records import Pool

TOMBSTONES_MAX = 50
UNDECIDED = frozenset({SentState.RESERVED, SentState.IN_DOUBT})
NO_TERMS = Terms(0, 0, 0)


def border_fee(amount: int) -> int:
    return amount // 200


class Broken(AssertionError):
    """An invariant does not hold."""


def require(holds: bool, *facts: object) -> None:
    if not holds:
        raise Broken(*facts)


@dataclass
class Toward:
    """What a registry keeps of one peer."""

    pair: Pair = field(default_factory=Pair)
    sent: dict[str, Sent] = field(default_factory=dict)
    received: dict[str, Received] = field(default_factory=dict)
    heads: dict[tuple[int, int], str] = field(default_factory=dict)
    """The hash at each place of the own chain."""
    transit: int = 0
    room: int = 0
    net_in: int = 0
    moved: tuple[tuple[str, str], ...] = ()
    pool: Pool | None = None
    """Shared with a peer of another currency (`swaps.py`)."""
    display_name: str = ""
    """Name by which administrators find the peer; rows are under its SPIFFE id, which stays."""
    is_peer: bool = True
    is_paused: bool = False
    is_quarantined: bool = False

    @property
    def may_cross(self) -> bool:
        """New acts cross; those under way are decided between peers in any case."""
        return self.is_peer and not self.is_paused and not self.is_quarantined

    def copy(self) -> "Toward":
        return replace(self, sent=dict(self.sent), received=dict(self.received), heads=dict(self.heads))

    def key(self) -> Hashable:
        return (
            self.pair,
            frozenset(self.sent.items()),
            frozenset(self.received.items()),
            frozenset(self.heads.items()),
            self.pool,
        )


@dataclass
class Registry:
    """One honest registry. `blocked` transfers are refused by it, as payee's or as payer's registry."""

    name: str
    units: int
    limit: int
    shortfalls: int
    blocked: frozenset[str] = frozenset()
    toward: dict[str, Toward] = field(default_factory=dict)
    fees: int = 0
    nonces: int = 0
    was_restored: bool = False

    def __post_init__(self) -> None:
        self.issued = self.units + self.shortfalls

    def copy(self) -> "Registry":
        copied = replace(self, toward={peer: kept.copy() for peer, kept in self.toward.items()})
        copied.issued = self.issued
        return copied

    def key(self) -> Hashable:
        return (self.units, self.shortfalls, self.nonces, *(kept.key() for kept in self.toward.values()))

    def held(self) -> int:
        """Every unit of this registry."""
        return self.units + self.shortfalls + self.fees

    def send(self, peer: str, body: Body, deadline: float, expected_fee: int | None = None) -> list[Message]:
        """Begin a transfer, unless crossing stopped or the units are lacking."""
        kept = self.toward[peer]
        if not kept.may_cross or not kept.pair.is_open or body.amount > self.units or _has_doubt(kept):
            return []
        fee = border_fee(body.amount) if expected_fee is None else expected_fee
        return self._apply(kept, sender.reserve(body, fee, deadline))

    def tick(self, peer: str, now: float) -> list[Message]:
        """What time brings: deadlines, and everything that is not answered is sent again."""
        kept = self.toward[peer]
        if not kept.is_peer:
            return []
        out: list[Message] = [pair_chain.stamped(kept.pair, one) for one in pair_chain.questions(kept.pair)]
        for row in list(kept.sent.values()):
            if row.is_closed:
                continue
            step = sender.on_time(row, self._judgement(kept, row.body), now)
            out += self._apply(kept, step)
            again = sender.outstanding(kept.sent[row.body.transfer_id])
            out += [pair_chain.stamped(kept.pair, one) for one in again]
        for taken in kept.received.values():
            if _awaits_answer(taken):
                out += [pair_chain.stamped(kept.pair, one) for one in receiver.outstanding(taken)]
        return out

    def ask_heads(self, peer: str) -> None:
        """As at each start, and from time to time."""
        self.nonces += 1
        kept = self.toward[peer]
        kept.pair = pair_chain.ask(kept.pair, f"{self.name}{self.nonces}")

    def is_waiting(self, peer: str) -> bool:
        kept = self.toward[peer]
        return kept.is_peer and (
            kept.pair.asks
            or any(not row.is_closed and row.state is not SentState.IN_DOUBT for row in kept.sent.values())
            or any(map(_awaits_answer, kept.received.values()))
        )

    def peer_named(self, display_name: str) -> str | None:
        """SPIFFE id of the peer with this name now."""
        named = (
            one for one, kept in self.toward.items() if kept.is_peer and kept.display_name == display_name
        )
        return next(named, None)

    def abandon(self, peer: str) -> None:
        """Act as `peer remove NAME --abandon`: in one transaction nothing is under way with the peer any more, and it is none."""
        kept = self.toward[peer]
        self.nonces += 1
        kept.pair = pair_chain.await_heads(kept.pair, f"{self.name}{self.nonces}")
        for sent in list(kept.sent.values()):
            if sent.state in UNDECIDED:
                self._apply(kept, sender.on_abandon(sent))
        for taken in list(kept.received.values()):
            if taken.state is ReceivedState.PREPARED:
                self._apply(kept, receiver.on_abandon(taken))
        kept.is_peer = kept.is_paused = kept.is_quarantined = False

    def befriend(self, peer: str, display_name: str) -> None:
        """It is a peer from now on, also where it once was one."""
        kept = self.toward[peer]
        kept.is_peer, kept.display_name = True, display_name

    def receive(self, peer: str, message: Message, now: float) -> list[Message]:
        """One message of the peer, in one transaction; the answers."""
        kept = self.toward[peer]
        if not kept.is_peer or not pair_chain.is_plausible(kept.pair, message):
            return []
        recorded = kept.heads.get((message.seen.epoch, message.seen.seq))
        fresh = f"{self.name}{self.nonces + 1}"
        observed = pair_chain.observe(kept.pair, message, recorded, fresh)
        kept.pair = observed.pair
        self.nonces += kept.pair.nonce == fresh
        if observed.resend:
            self.reopen(peer)
        out = list(observed.messages)
        stamped = [pair_chain.stamped(kept.pair, one) for one in out]
        if observed.is_forged or message.body is None or pair_chain.is_outdated(kept.pair, message):
            return stamped
        transfer_id = message.body.transfer_id
        if protocol.concerns_sent(message):
            inputs = Inputs(NO_TERMS, self._judgement(kept, message.body, message))
        else:
            inputs = Inputs(self._terms(kept, message), SenderInputs())
        step = protocol.receive(
            kept.sent.get(transfer_id), kept.received.get(transfer_id), message, inputs, now
        )
        return stamped + self._apply(kept, step)

    def restored(self, backup: "Registry", *, noticed: str) -> "Registry":
        """The state of the backup; where the high-water file shows it, a new epoch begins, where it is missing the heads are awaited."""
        old = backup.copy()
        old.was_restored = True
        old.nonces = self.nonces + 1000
        for peer, kept in old.toward.items() if noticed != "not noticed" else ():
            old.nonces += 1
            nonce = f"{self.name}{old.nonces}"
            if noticed == "noticed":
                kept.pair = pair_chain.begin_epoch(kept.pair, nonce)
                old.reopen(peer)
            else:
                kept.pair = pair_chain.await_heads(kept.pair, nonce)
        return old

    def reopen(self, peer: str) -> None:
        """Everything decided is sent again until it is answered again."""
        kept = self.toward[peer]
        kept.sent = {name: structs.replace(row, receipt=None) for name, row in kept.sent.items()}
        kept.received = {name: structs.replace(row, is_closed=False) for name, row in kept.received.items()}

    def _terms(self, kept: Toward, message: Message) -> Terms:
        body = message.body
        assert body is not None
        code = "AGENT_BLOCKED" if body.transfer_id in self.blocked else None
        if not kept.may_cross:
            code = "PEER_PAUSED"
        elif not kept.pair.is_open or _has_doubt(kept):
            code = Code.PEER_REWOUND
        fee = border_fee(body.amount)
        full = len(kept.received) >= TOMBSTONES_MAX
        if full:
            full = sum(1 for row in kept.received.values() if _is_tombstone(row)) >= TOMBSTONES_MAX
        return Terms(body.amount - fee, fee, self.limit - kept.net_in - kept.room, code, full)

    def _judgement(self, kept: Toward, body: Body, _message: Message | None = None) -> SenderInputs:
        code = "SENDER_SUSPENDED" if "-late" + body.transfer_id in self.blocked else None
        has_units = body.amount <= max(self.units, self.shortfalls)
        is_shortfall = self.units < body.amount <= self.shortfalls
        full = len(kept.sent) >= TOMBSTONES_MAX
        if full and body.transfer_id not in kept.sent:
            full = sum(1 for row in kept.sent.values() if row.code == Code.UNKNOWN) >= TOMBSTONES_MAX
        return SenderInputs(code, kept.pair.may_decide, has_units, is_shortfall, full)

    def _apply(self, kept: Toward, step: Step) -> list[Message]:
        for money in step.money:
            self._move(kept, money)
        row = step.sent or step.received
        if step.sent is not None:
            kept.sent[step.sent.body.transfer_id] = step.sent
        if step.received is not None:
            kept.received[step.received.body.transfer_id] = step.received
        if step.entry is not None:
            assert row is not None
            kept.pair = pair_chain.append(kept.pair, step.entry, row.body.digest)
            own = kept.pair.own
            kept.heads[own.epoch, own.seq] = own.head
        return [pair_chain.stamped(kept.pair, one) for one in step.messages]

    def _move(self, kept: Toward, money: Money) -> None:
        amount, net, fee = money.amount, money.net, money.fee
        match money.kind:
            case MoneyKind.RESERVE_OUT:
                self.units, kept.transit = self.units - amount, kept.transit + amount
            case MoneyKind.ABORT_OUT:
                self.units, kept.transit = self.units + amount, kept.transit - amount
            case MoneyKind.REPLAY_OUT:
                self.units, kept.transit = self.units - amount, kept.transit + amount
                kept.net_in -= amount
            case MoneyKind.SHORTFALL_OUT:
                self.shortfalls, kept.transit = self.shortfalls - amount, kept.transit + amount
                kept.net_in -= amount
            case MoneyKind.COMMIT_OUT:
                kept.net_in -= amount
            case MoneyKind.RESERVE_IN:
                kept.room += amount
            case MoneyKind.ABORT_IN:
                kept.room -= amount
            case MoneyKind.COMMIT_IN | MoneyKind.REPLAY_IN:
                require(net + fee == amount, "a credit is not what crossed", money)
                kept.room -= amount if money.kind is MoneyKind.COMMIT_IN else 0
                self.units, self.fees = self.units + net, self.fees + fee
                kept.transit -= amount
                kept.net_in += amount
        kept.moved += ((money.kind.value, money.body.transfer_id),)
        require(min(self.units, self.shortfalls, self.fees, kept.room) >= 0, "a balance below zero", money)
        in_transit = sum(one.transit for one in self.toward.values())
        require(self.held() + in_transit == self.issued, "the book does not add up", money)
        require(kept.net_in + kept.room <= self.limit, "the limit of the peer is passed", money)
        if not self.was_restored:
            self._require_once(kept, money)

    def _require_once(self, kept: Toward, money: Money) -> None:
        kinds = [kind for kind, named in kept.moved if named == money.body.transfer_id]
        outs = [kind for kind in kinds if kind.endswith("_out")]
        ins = [kind for kind in kinds if kind.endswith("_in")]
        require(outs in ALLOWED_OUT, "money out", outs)
        require(ins in ALLOWED_IN, "money in", ins)


ALLOWED_OUT = (
    [],
    ["reserve_out"],
    ["reserve_out", "commit_out"],
    ["reserve_out", "abort_out"],
)
ALLOWED_IN = (
    [],
    ["reserve_in"],
    ["reserve_in", "commit_in"],
    ["reserve_in", "abort_in"],
    # The sender states COMMIT at a later place of its chain than its ABORT: it was restored, or is malicious.
    ["reserve_in", "abort_in", "replay_in"],
)


def _has_doubt(kept: Toward) -> bool:
    return any(row.state is SentState.IN_DOUBT for row in kept.sent.values())


def _is_tombstone(row: Received) -> bool:
    return row.state in (ReceivedState.ABORTED, ReceivedState.REFUSED)


def _awaits_answer(row: Received) -> bool:
    return not row.is_closed and row.state is not ReceivedState.REFUSED


def require_quiet(one: Registry, other: Registry) -> None:
    """Of two honest registries, once nothing is under way: everything is decided, and alike on both sides."""
    for payer, payee in ((one, other), (other, one)):
        out, into = payer.toward[payee.name], payee.toward[payer.name]
        require(out.pair.is_open, "crossing did not resume", payer.name, out.pair)
        require(into.room == 0, "room is still reserved", payee.name)
        _require_decided_alike(out, into)
    transit = one.toward[other.name].transit + other.toward[one.name].transit
    require(transit == 0, "units are lost or made between the registries", transit)


def _require_decided_alike(out: Toward, into: Toward) -> None:
    for transfer_id, sent in out.sent.items():
        require(sent.is_closed, "undecided or without receipt", sent)
        taken = into.received.get(transfer_id)
        credited = taken is not None and taken.state is ReceivedState.COMMITTED
        require(credited == (sent.state is SentState.COMMITTED), "refund and credit disagree", sent, taken)
    for taken in into.received.values():
        require(taken.state is not ReceivedState.PREPARED, "in doubt for ever", taken)
        if taken.state is ReceivedState.COMMITTED:
            require(taken.body.transfer_id in out.sent, "credited and unknown at the sender", taken)


def total(registries: Iterable[Registry]) -> int:
    return sum(one.held() for one in registries)
