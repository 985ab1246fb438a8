"""Two registries with a bridge, in memory. `home` has the unit; `holder` holds it wrapped. The functions are those of the service."""

from dataclasses import dataclass, field, replace

from hansa.rooms.transfers.bridge import sagas
from hansa.rooms.transfers.bridge.messages import Direction, Message, Terms
from hansa.rooms.transfers.bridge.sagas import Decision, Inputs, Money, Move, Saga, State
from tests.crossing.bridging import MOVES

AFTER_A_RESTORE = frozenset({Money.TAKE_BACK_MINTED, Money.TAKE_BACK_UNLOCKED})


class Broken(AssertionError):
    """An invariant does not hold."""


def require(holds: bool, *facts: object) -> None:
    if not holds:
        raise Broken(*facts)


@dataclass(frozen=True)
class Books:
    """The units of both registries, in minor units. `held` waits for a mint, `burning` for an unlock."""

    free: int
    held: int = 0
    locked: int = 0
    wrapped: int = 0
    burning: int = 0

    def moved(self, money: Money | None, amount: int) -> "Books":
        """The books after a movement. Raises: Broken."""
        require(money not in AFTER_A_RESTORE, "a movement that only a restore needs", money)
        deltas = (0, 0, 0, 0, 0) if money is None else MOVES[money]
        now = (self.free, self.held, self.locked, self.wrapped, self.burning)
        after = Books(*(had + amount * delta for had, delta in zip(now, deltas, strict=True)))
        require(min(vars(after).values()) >= 0, "an amount below zero", money, after)
        require(after.free + after.held + after.locked == self.free + self.held + self.locked, money, after)
        return after


@dataclass(frozen=True)
class World:
    """Both registries. `sagas` are at their sources, `decisions` at their destinations, by saga id."""

    books: Books
    sagas: dict[str, Saga] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    given_up: bool = False
    """The administrator of the sources abandoned the destination, which may have been a peer again since."""

    def key(self) -> object:
        sagas = frozenset(self.sagas.values())
        return (self.books, sagas, frozenset(self.decisions.values()), self.given_up)

    def abandoned(self) -> "World":
        """Every saga ends at its source, by `peer remove NAME --abandon`."""
        after = replace(self, given_up=True)
        for saga in self.sagas.values():
            if not saga.has_ended:
                after = after._with(sagas.on_abandon(saga))
        return after

    def unconfirmed(self) -> tuple[Message, ...]:
        """Return the decisions that the destination repeats until its source confirms them."""
        return tuple(
            message for decision in self.decisions.values() for message in sagas.unconfirmed(decision)
        )

    @property
    def has_doubt(self) -> bool:
        """Return whether the home has a saga in doubt, so that nothing new crosses there. No redemption is."""
        return any(saga.state is State.IN_DOUBT for saga in self.sagas.values())

    def funded(self, saga_id: str) -> "World":
        """An administrator of the home pays in the units of a saga in doubt, unless it has them by now."""
        saga = self.sagas[saga_id]
        if saga.state is not State.IN_DOUBT or self._has_units(saga.terms):
            return self
        return replace(self, books=replace(self.books, free=self.books.free + saga.terms.amount))

    def begun(self, terms: Terms, now: float) -> "World":
        """A saga begins, unless its units are lacking or its source has a doubt."""
        is_wrap = terms.direction is Direction.WRAP
        available = self.books.free if is_wrap else self.books.wrapped
        if terms.amount > available or (is_wrap and self.has_doubt):
            return self
        return self._with(sagas.begin(terms, now))

    def due(self, saga_id: str, now: float) -> "tuple[World, tuple[Message, ...]]":
        """The source asks about a saga."""
        after = self._with(sagas.on_due(self.sagas[saga_id], now))
        return after, sagas.outstanding(after.sagas[saga_id])

    def received(self, message: Message) -> "tuple[World, tuple[Message, ...]]":
        """One message arrives, in one transaction; the answers."""
        terms = message.terms
        if message.is_answer:
            move = sagas.on_answer(
                self.sagas[terms.saga_id], message, Inputs(has_units=self._has_units(terms))
            )
            receipt = sagas.receipt_of(move, message)
            return self._with(move), () if receipt is None else (receipt,)
        decided = sagas.decide(self.decisions.get(terms.saga_id), message, Inputs(self._why_refused(terms)))
        answers = () if decided.answer is None else (decided.answer,)
        decisions = self.decisions
        if decided.is_new and decided.decision is not None:
            decisions = {**self.decisions, terms.saga_id: decided.decision}
        books = self.books.moved(decided.money, terms.amount)
        return replace(self, books=books, decisions=decisions)._covered(), answers

    def require_ended(self) -> None:
        """Once nothing is under way: both sides agree on every saga, and wrapped units are what is locked."""
        for saga_id, saga in self.sagas.items():
            require(saga.has_ended, "a saga without an end", saga)
            decision = self.decisions.get(saga_id)
            require(decision is not None or saga.is_abandoned, "ended without a decision", saga)
            is_done = decision is not None and decision.is_done
            require(is_done == (saga.state is State.COMPLETED), "the sides disagree", saga, decision)
        require(not self.unconfirmed(), "decisions that their source did not confirm", self.decisions)
        require(self.books.held == 0 == self.books.burning, "units are still aside", self.books)
        require(self.books.wrapped == self.books.locked, "wrapped units are not what is locked", self.books)

    def _has_units(self, terms: Terms) -> bool:
        """Return whether a saga that was given up can be made up for."""
        return terms.amount <= (self.books.free if terms.direction is Direction.WRAP else self.books.wrapped)

    def _why_refused(self, terms: Terms) -> str | None:
        if terms.saga_id in self.refused:
            return "AGENT_BLOCKED"
        if terms.direction is Direction.REDEEM and self.has_doubt:
            return "PEER_REWOUND"
        # A lock is known as such once the mint of its units was confirmed.
        is_short = terms.direction is Direction.REDEEM and terms.amount > self.books.locked
        return "INSUFFICIENT_LOCK" if is_short else None

    def _with(self, move: Move) -> "World":
        saga = move.saga
        assert saga is not None
        books = self.books.moved(move.money, saga.terms.amount)
        return replace(self, books=books, sagas={**self.sagas, saga.terms.saga_id: saga})._covered()

    def _covered(self) -> "World":
        """This world, in which wrapped units are locked, but for sagas that an administrator gave up or that are in doubt since.

        Raises: Broken.
        """
        given_up = sum(
            saga.terms.amount
            for saga in self.sagas.values()
            if saga.is_abandoned or saga.state is State.IN_DOUBT
        )
        is_covered = self.books.wrapped <= self.books.held + self.books.locked + given_up
        require(is_covered, "wrapped units without a lock", self.books, given_up)
        return self
