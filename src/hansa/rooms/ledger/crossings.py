"""Crossings: transfers of agents to other registries and from them.

- Each step is an order of the engine: `ReserveOut(...).order(book)`. It is done once for each (registry, direction, transfer
  id): a repeated step moves nothing and answers the first transaction (`Result.is_repeated`).
- The sender's units go to the transit account of the other registry when they are reserved, and back when that is aborted. A
  commit moves nothing more. Where units come in, nothing moves before the commit; reserved amounts count toward
  `net_in_limit` and the limit of the whole supply from their reservation on.
- A swap (`is_swap`) crosses in two units: its commit moves transit to the leg of the pool where units leave, and the leg to
  liquid where they come in. Transit is as before, `net_in_limit` and the totals of both registries do not count it, and
  the balance that the leg has to hold is the pool's to guard (`rooms/transfers/pools`).
- After a reserve a commit is never refused. A suspended payee is credited; units for a closed account go to
  `Book.unclaimed`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import SUPPLY_MAX_UNITS, Minor, units

from . import crossings_store as store
from .book import Book
from .errors import CrossingUnknown
from .orders import CREDIT, DEBIT, LIQUID, NOBODY, TRANSIT, CrossingStep, Order, Terms

Direction: TypeAlias = Literal["out", "in", "swap_out", "swap_in"]
CrossingState: TypeAlias = Literal["reserved", "committed", "aborted"]


class ReserveOut(msgspec.Struct, frozen=True):
    """Liquid to transit, exactly the amount and without a fee. `counterparty` is the payee's DID at the other registry.

    `is_again`: also where it was aborted, by a registry that was restored and had committed it before.

    Raises, when carried out: AccountUnknown, AccountSuspended, InsufficientBalance, CrossingDiffers.
    """

    frame: str
    transfer_id: UUID
    payer: str
    amount: Minor
    counterparty: str | None = None
    message: str | None = None
    is_swap: bool = False
    is_again: bool = False

    def order(self, book: Book) -> Order:
        """The order of the engine."""
        step = CrossingStep(
            "reserve",
            _out(self),
            self.transfer_id,
            book.transit(self.frame),
            self.counterparty,
            again=self.is_again,
        )
        terms = Terms(
            tx_type="out",
            to=TRANSIT,
            active=DEBIT,
            paced="sent",
            ref=str(self.transfer_id),
            counterparty_frame=self.frame,
            crossing=step,
        )
        return Order(self.payer, step.transit, self.amount, self.message, more=terms)


class CommitOut(msgspec.Struct, frozen=True):
    """The units are the other registry's for good; nothing moves. Of a swap: transit to leg.

    Raises: CrossingUnknown, CrossingDecided.
    """

    frame: str
    transfer_id: UUID
    is_swap: bool = False

    def order(self, book: Book) -> Order:
        """The order of the engine."""
        transit = book.transit(self.frame)
        if not self.is_swap:
            return _decision(CrossingStep("commit", "out", self.transfer_id, transit))
        step = CrossingStep("commit", "swap_out", self.transfer_id, transit, leg=book.leg(self.frame))
        return _movement(step, Terms(tx_type="swap", counterparty_frame=self.frame))


class AbortOut(msgspec.Struct, frozen=True):
    """Transit back to liquid, whatever the status of the payer. Raises: CrossingUnknown, CrossingDecided."""

    frame: str
    transfer_id: UUID
    is_swap: bool = False

    def order(self, book: Book) -> Order:
        """The order of the engine."""
        step = CrossingStep(
            "abort", _out(self), self.transfer_id, book.transit(self.frame), unclaimed=book.unclaimed
        )
        return _movement(step, Terms(tx_type="return", counterparty_frame=self.frame))


class ReserveIn(msgspec.Struct, frozen=True):
    """Room for units that will come in: `amount` whole, of which `fee` goes to the fee collector. Nothing moves.

    `net_in_limit` is the most that may have come in from that registry, and may still come, less the units that went out to it; None:
    unlimited. `counterparty` is the payer's DID at the other registry. `is_again`: as in `ReserveOut`.

    Raises, when carried out: AccountUnknown, AccountSuspended, PeerLimitReached, SupplyExhausted, CrossingDiffers.
    """

    frame: str
    transfer_id: UUID
    payee: str
    amount: Minor
    fee: Minor
    net_in_limit: Minor | None
    counterparty: str | None = None
    is_swap: bool = False
    is_again: bool = False

    def order(self, book: Book) -> Order:
        """The order of the engine."""
        step = CrossingStep(
            "reserve",
            _in(self),
            self.transfer_id,
            book.transit(self.frame),
            self.counterparty,
            fee=self.fee,
            net_in_limit=self.net_in_limit,
            supply_max=units(SUPPLY_MAX_UNITS),
            treasury=book.treasury,
            again=self.is_again,
        )
        return Order(step.transit, self.payee, self.amount, more=Terms(active=CREDIT, crossing=step))


class CommitIn(msgspec.Struct, frozen=True):
    """Transit to liquid, the net to the payee and the fee to the fee collector; of a swap, leg to payee.

    Raises: CrossingUnknown, CrossingDecided.
    """

    frame: str
    transfer_id: UUID
    message: str | None = None
    is_swap: bool = False

    def order(self, book: Book) -> Order:
        """The order of the engine."""
        step = CrossingStep(
            "commit", _in(self), self.transfer_id, book.transit(self.frame), unclaimed=book.unclaimed
        )
        terms = Terms(tx_type="in", fee="inside", counterparty_frame=self.frame)
        if not self.is_swap:
            return _movement(step, terms, self.message)
        paid = _movement(replace(step, leg=book.leg(self.frame)), terms, self.message)
        return replace(paid, more=replace(paid.terms, from_=LIQUID))


class AbortIn(msgspec.Struct, frozen=True):
    """The room is free again; nothing moves. Raises: CrossingUnknown, CrossingDecided."""

    frame: str
    transfer_id: UUID
    is_swap: bool = False

    def order(self, book: Book) -> Order:
        """The order of the engine."""
        return _decision(CrossingStep("abort", _in(self), self.transfer_id, book.transit(self.frame)))


class Crossing(msgspec.Struct, frozen=True):
    """A crossing as it stands; amounts in minor units. `tx_id` is the movement out or in, if there was one."""

    direction: Direction
    transfer_id: UUID
    agent: str
    counterparty: str | None
    amount: Minor
    fee: Minor
    state: CrossingState
    tx_id: int | None
    return_tx_id: int | None
    decided_at: datetime | None


class CorridorTotals(msgspec.Struct, frozen=True):
    """Units committed with another registry in all, and units reserved; minor units.

    `confirmed_out` is the part that the other registry confirmed to have credited, `transit` the balance of its account.
    """

    frame: str
    committed_out: Minor
    committed_in: Minor
    confirmed_out: Minor
    reserved_out: Minor
    reserved_in: Minor
    transit: Minor

    @property
    def delta(self) -> Minor:
        """Difference between the transit account and the sum of its crossings; 0 unless an account was tampered with."""
        return Minor(self.transit - self.reserved_out - self.committed_out + self.committed_in)


async def crossing(
    tx: Tx, frame: str, direction: Direction, transfer_id: UUID, book: Book
) -> Crossing | None:
    """The crossing of this transfer id with that registry, or None."""
    row = await store.find(tx, book.transit(frame), direction, transfer_id)
    return None if row is None else Crossing(**row)


async def transactions_out(tx: Tx, frame: str, transfer_ids: Sequence[UUID], book: Book) -> dict[UUID, int]:
    """The transactions by which the units of these transfers left; those that were never reserved are left out."""
    return await store.transactions_out(tx, book.transit(frame), transfer_ids)


async def confirm_out(tx: Tx, frame: str, transfer_ids: Sequence[UUID], book: Book) -> None:
    """The other registry confirmed that it credited these committed transfers; repeated, nothing changes.

    Raises: CrossingUnknown, where one of them is not committed.
    """
    if await store.confirm(tx, book.transit(frame), transfer_ids) < len(transfer_ids):
        raise CrossingUnknown


async def totals_with(tx: Tx, frame: str, book: Book) -> CorridorTotals | None:
    """The totals with one registry; None where nothing was ever reserved."""
    found = await store.totals(tx, book.transit(frame))
    return CorridorTotals(**found[0]) if found else None


async def outstanding_out(tx: Tx, frame: str, book: Book) -> Minor:
    """Return the units committed out to this registry that have not come back; units issued on its confirmations count as returned."""
    return await store.outstanding_out(tx, book.transit(frame))


async def net_in_with(tx: Tx, frames: Sequence[str], book: Book) -> dict[str, Minor]:
    """Units that came in from these registries and may still come, less those that went out for good; what `net_in_limit` bounds.

    A registry with which nothing was ever reserved is left out.
    """
    return await store.net_in_of(tx, [book.transit(frame) for frame in frames])


async def corridor_totals(tx: Tx) -> list[CorridorTotals]:
    """The totals with every other registry with which anything was ever reserved, by ledger id."""
    return [CorridorTotals(**members) for members in await store.totals(tx)]


def _out(step: ReserveOut | AbortOut) -> Direction:
    return "swap_out" if step.is_swap else "out"


def _in(step: ReserveIn | CommitIn | AbortIn) -> Direction:
    return "swap_in" if step.is_swap else "in"


def _decision(step: CrossingStep) -> Order:
    # The engine takes the amount from what was reserved.
    return Order(step.transit, None, 1, more=Terms(active=NOBODY, crossing=step))


def _movement(step: CrossingStep, terms: Terms, message: str | None = None) -> Order:
    more = replace(terms, from_=TRANSIT, to=LIQUID, active=NOBODY, ref=str(step.transfer_id), crossing=step)
    return Order(step.transit, None, 1, message, more=more)
