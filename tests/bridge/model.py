"""Two registries with a bridge, in memory. `home` has the unit; `holder` holds it wrapped. The functions are those of the service."""

from dataclasses import dataclass, field, replace

from hansa.rooms.transfers.bridge import sagas
from hansa.rooms.transfers.bridge.messages import Direction, Message, Terms
from hansa.rooms.transfers.bridge.sagas import Decision, Inputs, Money, Move, Saga, State


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
        match money:
            case Money.LOCK:
                after = replace(self, free=self.free - amount, held=self.held + amount)
            case Money.KEEP:
                after = replace(self, held=self.held - amount, locked=self.locked + amount)
            case Money.RETURN:
                after = replace(self, held=self.held - amount, free=self.free + amount)
            case Money.MINT:
                after = replace(self, wrapped=self.wrapped + amount)
            case Money.BURN:
                after = replace(self, wrapped=self.wrapped - amount, burning=self.burning + amount)
            case Money.END_BURN:
                after = replace(self, burning=self.burning - amount)
            case Money.RETURN_BURNED:
                after = replace(self, burning=self.burning - amount, wrapped=self.wrapped + amount)
            case Money.UNLOCK:
                after = replace(self, locked=self.locked - amount, free=self.free + amount)
            case _:
                require(money is None, "a movement that only a restore needs", money)
                after = self
        require(min(vars(after).values()) >= 0, "an amount below zero", money, after)
        require(after.free + after.held + after.locked == self.free + self.held + self.locked, money, after)
        require(after.wrapped <= after.held + after.locked, "wrapped units without a lock", money, after)
        return after


@dataclass(frozen=True)
class World:
    """Both registries. `sagas` are at their sources, `decisions` at their destinations, by saga id."""

    books: Books
    sagas: dict[str, Saga] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    def key(self) -> object:
        return (self.books, frozenset(self.sagas.values()), frozenset(self.decisions.values()))

    def begun(self, terms: Terms, now: float) -> "World":
        """A saga begins, unless its units are lacking."""
        available = self.books.free if terms.direction is Direction.WRAP else self.books.wrapped
        if terms.amount > available:
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
            move = sagas.on_answer(self.sagas[terms.saga_id], message, Inputs())
            receipt = sagas.receipt_of(move, message)
            return self._with(move), () if receipt is None else (receipt,)
        decided = sagas.decide(self.decisions.get(terms.saga_id), message, Inputs(self._why_refused(terms)))
        answers = () if decided.answer is None else (decided.answer,)
        if not decided.is_new or decided.decision is None:
            return replace(self, books=self.books.moved(decided.money, terms.amount)), answers
        decisions = {**self.decisions, terms.saga_id: decided.decision}
        return replace(
            self, books=self.books.moved(decided.money, terms.amount), decisions=decisions
        ), answers

    def require_ended(self) -> None:
        """Once nothing is under way: both sides agree on every saga, and wrapped units are what is locked."""
        for saga_id, saga in self.sagas.items():
            require(saga.has_ended, "a saga without an end", saga)
            decision = self.decisions.get(saga_id)
            require(
                decision is not None and decision.is_done == (saga.state is State.COMPLETED), saga, decision
            )
        require(self.books.held == 0 == self.books.burning, "units are still aside", self.books)
        require(self.books.wrapped == self.books.locked, "wrapped units are not what is locked", self.books)

    def _why_refused(self, terms: Terms) -> str | None:
        if terms.saga_id in self.refused:
            return "AGENT_BLOCKED"
        # A lock is known as such once the mint of its units was confirmed.
        is_short = terms.direction is Direction.REDEEM and terms.amount > self.books.locked
        return "INSUFFICIENT_LOCK" if is_short else None

    def _with(self, move: Move) -> "World":
        saga = move.saga
        assert saga is not None
        books = self.books.moved(move.money, saga.terms.amount)
        return replace(self, books=books, sagas={**self.sagas, saga.terms.saga_id: saga})
