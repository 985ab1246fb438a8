"""A registry with a bridge to each of its peers, in memory. The functions are those of the service.

Sagas are in the chain of the pair with transfers: what is restored of the one is restored of the other.
"""

import dataclasses
from dataclasses import dataclass, field

from msgspec.structs import replace

from hansa.rooms.transfers.bridge import sagas
from hansa.rooms.transfers.bridge.messages import Direction, Message, Terms
from hansa.rooms.transfers.bridge.sagas import Decision, Inputs, Money, Saga, State
from hansa.rooms.transfers.crossing import messages as crossing
from hansa.rooms.transfers.crossing import pair_chain

from .model import Registry, require

HOLDERS = 2
"""Agents of each registry that hold wrapped units."""

MOVES = {
    Money.LOCK: (-1, 1, 0, 0, 0),
    Money.KEEP: (0, -1, 1, 0, 0),
    Money.RETURN: (1, -1, 0, 0, 0),
    Money.MINT: (0, 0, 0, 1, 0),
    Money.BURN: (0, 0, 0, -1, 1),
    Money.END_BURN: (0, 0, 0, 0, -1),
    Money.RETURN_BURNED: (0, 0, 0, 1, -1),
    Money.UNLOCK: (1, 0, -1, 0, 0),
    Money.RELOCK: (-1, 0, 1, 0, 0),
    Money.BURN_AGAIN: (0, 0, 0, -1, 0),
    Money.TAKE_BACK_MINTED: (0, 0, 0, -1, 0),
    Money.TAKE_BACK_UNLOCKED: (-1, 0, 1, 0, 0),
}
"""What a movement adds: own units, held ones, locked ones of the holder; wrapped ones of the holder, and burning ones."""


@dataclass
class Bridge:
    """What a registry keeps of the bridge with one peer. `locked` and `wrapped` are by the holder of the wrapped units."""

    sagas: dict[str, Saga] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    held: int = 0
    burning: int = 0
    locked: dict[str, int] = field(default_factory=dict)
    wrapped: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "Bridge":
        return dataclasses.replace(
            self,
            sagas=dict(self.sagas),
            decisions=dict(self.decisions),
            locked=dict(self.locked),
            wrapped=dict(self.wrapped),
        )

    @property
    def has_doubt(self) -> bool:
        return any(saga.state is State.IN_DOUBT for saga in self.sagas.values()) or any(
            decision.is_in_doubt for decision in self.decisions.values()
        )


def begin_bridges(registry: Registry) -> dict[str, Bridge]:
    """Once the peers are known."""
    return {peer: Bridge() for peer in registry.toward}


@dataclass
class Bridging:
    """A registry at work on the bridge with one peer."""

    registry: Registry
    kept: Bridge
    peer: str

    def begin(self, terms: Terms, now: float) -> None:
        """A saga begins, unless its units are lacking or crossing has stopped."""
        registry, kept = self.registry, self.kept
        toward = registry.toward[self.peer]
        if not toward.may_cross or not toward.pair.is_open or kept.has_doubt:
            return
        available = registry.units if terms.direction is Direction.WRAP else kept.wrapped.get(terms.holder, 0)
        if terms.amount > available:
            return
        move = sagas.begin(terms, now)
        assert move.saga is not None
        kept.sagas[terms.saga_id] = move.saga
        self._carry_out(move.money, terms)

    def due(self, now: float) -> list[Message]:
        """What the peer is asked about own sagas, and what it has not confirmed of decisions about its sagas."""
        out = list[Message]()
        if not self.registry.toward[self.peer].is_peer:
            return out
        for name, saga in self.kept.sagas.items():
            move = sagas.on_due(saga, now)
            assert move.saga is not None
            self.kept.sagas[name] = move.saga
            out += sagas.outstanding(move.saga)
        for decision in self.kept.decisions.values():
            out += sagas.unconfirmed(decision)
        return [self._stamped(message) for message in out]

    def reopen(self) -> None:
        """One of the two was restored. The service does it in one statement for all rows, without reading them."""
        kept = self.kept
        kept.sagas = {name: replace(saga, is_closed=False) for name, saga in kept.sagas.items()}
        kept.decisions = {
            name: replace(one, is_closed=one.is_in_doubt) for name, one in kept.decisions.items()
        }

    def abandon(self) -> None:
        """The peer is removed with --abandon: every saga ends here."""
        kept = self.kept
        for name, saga in kept.sagas.items():
            if saga.has_ended:
                continue
            move = sagas.on_abandon(saga)
            assert move.saga is not None
            kept.sagas[name] = move.saga
            self._record(move.entry, saga.terms, is_done=False)
            self._carry_out(move.money, saga.terms)
        kept.decisions = {name: replace(one, is_in_doubt=False) for name, one in kept.decisions.items()}

    def receive(self, message: Message, *, refuses: bool) -> list[Message]:
        """One message, in one transaction; the answers."""
        if not observed(self.registry, self.peer, message.positions):
            return []
        answer = self._on_answer(message) if message.is_answer else self._decide(message, refuses=refuses)
        return [] if answer is None else [self._stamped(answer)]

    def _on_answer(self, message: Message) -> Message | None:
        kept, terms = self.kept, message.terms
        wanted = Money.RELOCK if terms.direction is Direction.WRAP else Money.BURN_AGAIN
        is_late = not is_current(self.registry, self.peer, message.positions)
        inputs = Inputs(has_units=self._has_units(wanted, terms), is_current=not is_late)
        move = sagas.on_answer(kept.sagas.get(terms.saga_id), message, inputs)
        if move.saga is not None:
            kept.sagas[terms.saga_id] = move.saga
        self._record(move.entry, terms, is_done=move.saga is not None and move.saga.state is State.COMPLETED)
        self._carry_out(move.money, terms)
        return sagas.receipt_of(move, message)

    def _decide(self, message: Message, *, refuses: bool) -> Message | None:
        kept, terms, pair = self.kept, message.terms, self.registry.toward[self.peer].pair
        known = kept.decisions.get(terms.saga_id)
        money = sagas.signed_money(known, message)
        refusal = "AGENT_BLOCKED" if refuses else None
        if terms.direction is Direction.REDEEM and not self._has_units(Money.UNLOCK, terms):
            refusal = "INSUFFICIENT_LOCK"
        if not self.registry.toward[self.peer].may_cross:
            refusal = "PEER_PAUSED"
        if not pair.is_open or kept.has_doubt:
            refusal = "PEER_REWOUND"
        has_units = money is None or self._has_units(money, terms)
        is_late = not is_current(self.registry, self.peer, message.positions)
        decided = sagas.decide(known, message, Inputs(refusal, pair.may_decide, has_units, not is_late))
        if decided.is_new:
            assert decided.decision is not None
            kept.decisions[terms.saga_id] = decided.decision
            self._record(decided.entry, terms, is_done=decided.decision.is_done)
            self._carry_out(decided.money, terms)
        return decided.answer

    def _record(self, entry: str | None, terms: Terms, *, is_done: bool) -> None:
        if entry is not None:
            toward = self.registry.toward[self.peer]
            toward.pair = pair_chain.append(toward.pair, entry, terms.digest(is_done=is_done))
            own = toward.pair.own
            toward.heads[own.epoch, own.seq] = own.head

    def _stamped(self, message: Message) -> Message:
        pair = self.registry.toward[self.peer].pair
        return dataclasses.replace(message, own=pair.own, seen=pair.seen, to=pair.peer)

    def _has_units(self, money: Money, terms: Terms) -> bool:
        match money:
            case Money.RELOCK | Money.TAKE_BACK_UNLOCKED:
                return terms.amount <= max(self.registry.units, self.registry.shortfalls)
            case Money.UNLOCK:
                return terms.amount <= self.kept.locked.get(terms.holder, 0)
            case Money.BURN_AGAIN | Money.TAKE_BACK_MINTED:
                return terms.amount <= self.kept.wrapped.get(terms.holder, 0)
            case _:
                return True

    def _carry_out(self, money: Money | None, terms: Terms) -> None:
        registry, kept, amount, holder = self.registry, self.kept, terms.amount, terms.holder
        if money is None:
            return
        units, held, locked, wrapped, burning = MOVES[money]
        paid = "shortfalls" if units < 0 and registry.units < amount else "units"
        setattr(registry, paid, getattr(registry, paid) + units * amount)
        kept.held, kept.burning = kept.held + held * amount, kept.burning + burning * amount
        kept.locked[holder] = kept.locked.get(holder, 0) + locked * amount
        kept.wrapped[holder] = kept.wrapped.get(holder, 0) + wrapped * amount
        own = (registry.units, registry.shortfalls, kept.held, kept.locked[holder])
        amounts = (*own, kept.wrapped[holder], kept.burning)
        require(min(amounts) >= 0, "an amount below zero", money, terms, amounts)


def observed(registry: Registry, peer: str, positions: crossing.Message) -> bool:
    """The positions of a message that is neither about transfers nor about heads are judged; whether its content counts."""
    toward = registry.toward[peer]
    if not toward.is_peer or not pair_chain.is_plausible(toward.pair, positions):
        return False
    recorded = toward.heads.get((positions.seen.epoch, positions.seen.seq))
    fresh = f"{registry.name}{registry.nonces + 1}"
    seen = pair_chain.observe(toward.pair, positions, recorded, fresh)
    toward.pair = seen.pair
    registry.nonces += toward.pair.nonce == fresh
    if seen.resend:
        registry.reopen(peer)
    return not seen.is_forged and not pair_chain.may_be_lost(toward.pair, positions.own, positions.seen)


def is_current(registry: Registry, peer: str, positions: crossing.Message) -> bool:
    """Whether nothing later was seen of the author's chain; the positions were observed."""
    return pair_chain.is_current(registry.toward[peer].pair, positions.own)


def positions_of(registry: Registry, peer: str) -> crossing.Message:
    """The positions of a message that is sent now."""
    return pair_chain.stamped(registry.toward[peer].pair, crossing.Message(crossing.MessageType.STATE))


def require_bridge_ended(source: Bridge, destination: Bridge) -> None:
    """Of the units of one registry, once nothing is under way: both sides agree on every saga, and what is wrapped is locked."""
    require(source.held == 0 == source.burning, "units are still aside", source)
    locked = {holder: amount for holder, amount in source.locked.items() if amount}
    wrapped = {holder: amount for holder, amount in destination.wrapped.items() if amount}
    require(locked == wrapped, "wrapped units are not what is locked", source, destination)
    for name, saga in source.sagas.items():
        require(saga.has_ended and saga.is_closed, "a saga without an end", saga)
        decision = destination.decisions.get(name)
        is_done = decision is not None and decision.is_done
        require(is_done == (saga.state is State.COMPLETED), "the sides disagree", saga, decision)
    for name, decision in destination.decisions.items():
        require(decision.is_closed, "a decision that the source did not confirm", decision)
        require(not decision.is_in_doubt, "in doubt for ever", decision)
        require(
            name in source.sagas or not decision.is_done, "carried out and unknown at the source", decision
        )
