"""A run: the transactions of a period carried out by the engine on a scratch database, in their order, at their times.

- An act that is refused is refused for good: what takes from its hold, returns or ends its transfer to another registry, or issues what it
  was to destroy is refused as well. Every other act is given to the engine with what is there.
- A run by the recorded rules is the judge of the others: a fee that the engine computes otherwise than it was recorded is kept as recorded,
  and named. A refusal there means that the run is not faithful.
- Orders of half a minute are one batch: the engine counts whole minutes, and decides orders in their order.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import TypeAlias

import asyncpg
import msgspec

from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.engine import CARRIED_OUT, decide, refusal_of
from hansa.rooms.ledger.extensions import ClaimRefused
from hansa.rooms.ledger.orders import Order

from . import scratch
from .movements import (
    FEE_INSIDE,
    HeldUnits,
    Kinds,
    Movement,
    crossing_of,
    is_between,
    merged,
    names_a_hold,
    replaces,
)
from .opening import Opening

BATCH_MAX = 500
SLOT_SECONDS = 30
Tie: TypeAlias = tuple[str, object]
"""Hold, transfer to another registry or reference, by its kind."""


class ReplayUnfaithful(Exception):
    """The recorded rules do not lead to the recorded balances; the message is one line."""


class RefusedAct(msgspec.Struct, frozen=True):
    """Recorded transaction that would have been refused; `follows` is the refused transaction that it depends on.

    `left_out` is the part of its amount that was not moved: all of it, unless an act takes as much as there is.
    """

    movement: Movement
    reason: str
    left_out: int
    follows: int | None = None


class Rules(msgspec.Struct, frozen=True):
    """Rules of a run: the book of each moment, rules of other rooms that say why they refuse an act, and fees that are kept."""

    book_at: Callable[[datetime], Book]
    kinds: Kinds
    bars: Sequence[Callable[[Movement], str | None]] = ()
    kept_fees: frozenset[int] | None = None
    """Transactions whose recorded fee is kept; None: the run is that of the recorded rules, which finds them."""


class Run(msgspec.Struct):
    """Result of a run, amounts in minor units: balances at its end, fees by the account that paid them, and refused acts."""

    balances: dict[scratch.Place, int] = {}
    fees: Counter[str] = msgspec.field(default_factory=Counter)
    refused: list[RefusedAct] = []
    kept_fees: set[int] = set()
    issued: int = 0
    destroyed: int = 0


class _Line(msgspec.Struct, frozen=True):
    movement: Movement
    hold: HeldUnits | None
    replaced: HeldUnits | None
    is_before: bool


async def carry_out(
    tx: "asyncpg.Connection[asyncpg.Record]",
    opening: Opening,
    movements: AsyncIterator[Movement],
    rules: Rules,
) -> Run:
    """Carry out the movements on a scratch database whose clock is installed. Raises: ReplayUnfaithful."""
    runner = _Runner(tx, opening, rules)
    await scratch.use_clock(tx)
    async with tx.transaction():
        await scratch.open_accounts(tx, opening.before)
        await scratch.place_holds(tx, opening.holds)
    async for movement in movements:
        await runner.add(movement)
    await runner.flush()
    runner.run.balances = await scratch.balances(tx)
    return runner.run


class _Runner:
    """Orders of one batch, and the state of the run."""

    def __init__(self, tx: "asyncpg.Connection[asyncpg.Record]", opening: Opening, rules: Rules) -> None:
        self.run = Run()
        self._tx = tx
        self._opening = opening
        self._rules = rules
        self._batch: list[_Line] = []
        self._slot: tuple[int, Book] | None = None
        self._holds = {
            hold["id"]: HeldUnits(hold["id"], hold["amount"], hold["fee_held"]) for hold in opening.holds
        }
        self._pending: set[Tie] = set()
        self._released: Movement | None = None
        self._refused: dict[Tie, int] = {}

    async def add(self, movement: Movement) -> None:
        """Put a movement into the batch, or refuse it."""
        if is_between(movement, self._opening.collectors):
            return
        movement = merged(movement, self._opening.collectors)
        slot = (
            int(movement.recorded_at.timestamp()) // SLOT_SECONDS,
            self._rules.book_at(movement.recorded_at),
        )
        depends_on = _depends_on(movement)
        replaced_id = self._replaced_by(movement)
        if (
            slot != self._slot
            or len(self._batch) == BATCH_MAX
            or not self._pending.isdisjoint({*depends_on, ("hold", replaced_id)})
        ):
            await self.flush()
        self._slot = slot
        is_before = movement.id < self._opening.period.first
        if movement.tx_type == "release":
            self._released = movement
        for one in (*depends_on, ("hold", replaced_id)):
            if one in self._refused:
                self._refuse(
                    movement, f"it follows tx-{self._refused[one]}", movement.amount, self._refused[one]
                )
                return
        if not is_before and (reason := self._barred(movement)) is not None:
            self._refuse(movement, reason, movement.amount)
            return
        hold = self._holds[movement.hold_id] if names_a_hold(movement) and movement.hold_id else None
        replaced = self._holds[replaced_id] if replaced_id is not None else None
        self._pending.update(_opens(movement))
        self._batch.append(_Line(movement, hold, replaced, is_before))

    async def flush(self) -> None:
        """Carry out the batch in one transaction; a fee that is not the recorded one is then kept, and the batch repeated."""
        if not self._batch:
            return
        assert self._slot is not None
        book = self._slot[1]
        while True:
            orders = [self._order_of(line) for line in self._batch]
            rows, differing = await self._attempt(orders, book)
            if not differing:
                break
            self.run.kept_fees |= differing
        for line, order, row in zip(self._batch, orders, rows, strict=True):
            self._conclude(line, order, row)
        self._batch = []
        self._pending = set()

    async def _attempt(self, orders: list[Order], book: Book) -> tuple[list[asyncpg.Record], set[int]]:
        attempt = self._tx.transaction()
        await attempt.start()
        try:
            await scratch.set_clock(self._tx, self._batch[0].movement.recorded_at)
            rows = await decide(
                self._tx, [msgspec.json.encode(order) for order in orders], book, extended=False
            )
        except BaseException:
            await attempt.rollback()
            raise
        differing = self._differing(rows)
        await (attempt.rollback() if differing else attempt.commit())
        return rows, differing

    def _order_of(self, line: _Line) -> Order:
        kept = self.run.kept_fees if self._rules.kept_fees is None else self._rules.kept_fees
        return self._rules.kinds.order_of(
            line.movement,
            hold=line.hold,
            replaced=line.replaced,
            is_fee_fixed=line.is_before or line.movement.id in kept,
        )

    def _differing(self, rows: list[asyncpg.Record]) -> set[int]:
        if self._rules.kept_fees is not None:
            return set()
        return {
            line.movement.id
            for line, row in zip(self._batch, rows, strict=True)
            if self._rules.kinds.is_computed(line.movement) and row["fee"] != line.movement.recorded_fee
        } - self.run.kept_fees

    def _conclude(self, line: _Line, order: Order, row: asyncpg.Record) -> None:
        movement = line.movement
        if row["outcome"] not in CARRIED_OUT:
            refusal = refusal_of(order, row)
            assert not isinstance(refusal, ClaimRefused), "orders of a replay have no extension"
            self._refuse(movement, refusal.detail, movement.amount)
            return
        if movement.tx_type == "hold" and movement.hold_id is not None:
            self._holds[movement.hold_id] = HeldUnits(row["hold_id"], movement.amount, row["fee"])
        moved = movement.amount if movement.tx_type in {"release", "expire"} else row["moved"] or 0
        if moved < movement.amount:
            self._refuse(movement, "the payer holds less", movement.amount - moved)
        if line.is_before:
            return
        if movement.tx_type != "hold" and row["fee"]:
            payer = movement.payee if movement.tx_type in FEE_INSIDE else movement.payer
            self.run.fees[payer or ""] += row["fee"]
        self.run.issued += moved if movement.tx_type == "issue" else 0
        self.run.destroyed += moved if movement.tx_type == "destroy" else 0

    def _refuse(self, movement: Movement, reason: str, left_out: int, follows: int | None = None) -> None:
        if self._rules.kept_fees is None:
            raise ReplayUnfaithful(f"tx-{movement.id} ({movement.tx_type}) cannot be replayed: {reason}")
        self.run.refused.append(RefusedAct(movement, reason, left_out, follows))
        if left_out == movement.amount:
            for one in _opens(movement):
                self._refused[one] = follows or movement.id

    def _barred(self, movement: Movement) -> str | None:
        return next((reason for bar in self._rules.bars if (reason := bar(movement)) is not None), None)

    def _replaced_by(self, movement: Movement) -> int | None:
        released = self._released
        if not replaces(movement, released):
            return None
        assert released is not None
        return released.hold_id


def _opens(movement: Movement) -> set[Tie]:
    """Names on which later transactions may depend."""
    if movement.tx_type == "hold":
        return {("hold", movement.hold_id)}
    if movement.tx_type == "out":
        return {("crossing", crossing_of(movement))}
    if movement.tx_type == "destroy" and movement.ref is not None:
        return {("destroyed", movement.ref)}
    return set()


def _depends_on(movement: Movement) -> set[Tie]:
    """Names on which a transaction depends."""
    if names_a_hold(movement):
        return {("hold", movement.hold_id)}
    if movement.tx_type in {"return", "swap"}:
        return {("crossing", crossing_of(movement))}
    if movement.tx_type == "issue":
        return {("destroyed", movement.ref)}
    return set()
