"""Price swaps and move the figures of their pool, in the transaction of the steps of their transfers.

The home of the pool fixes the output; the other side checks the amount that it has to pay or accept. The row of the pool is locked
from the price to the commit, so that the next swap is priced with this one pending.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import pricing, store
from .errors import PoolUnknown, QuoteDiffers, QuoteEnded, QuoteUnknown
from .pricing import Limits, Price, SwapCode, SwapImpossible
from .records import Pool, limits_of

Openings = list[tuple[datetime, int, int]]


class SwapStep(StrEnum):
    """Effect of a step of a transfer on the pool."""

    RESERVE_OUT = "reserve_out"
    COMMIT_OUT = "commit_out"
    ABORT_OUT = "abort_out"
    REPLAY_OUT = "replay_out"
    SHORTFALL_OUT = "shortfall_out"
    RESERVE_IN = "reserve_in"
    COMMIT_IN = "commit_in"
    ABORT_IN = "abort_in"
    REPLAY_IN = "replay_in"


class Amounts(msgspec.Struct, frozen=True):
    """Swap in minor units: the amount given, the amount received, and the fee that stays. `is_fixed`: by the sender's registry."""

    given: int
    received: int
    fee: int
    is_fixed: bool


class Change(msgspec.Struct, frozen=True):
    """Amounts that a step adds to the figures of the pool."""

    reserve_own: int = 0
    reserve_foreign: int = 0
    in_own: int = 0
    out_own: int = 0
    in_foreign: int = 0
    out_foreign: int = 0

    def plus(self, other: "Change") -> "Change":
        """Both."""
        return Change(*(one + two for one, two in zip(self.deltas, other.deltas, strict=True)))

    @property
    def deltas(self) -> tuple[int, ...]:
        """In the order of the store."""
        return (
            self.reserve_own,
            self.reserve_foreign,
            self.in_own,
            self.out_own,
            self.in_foreign,
            self.out_foreign,
        )


def change_by(step: SwapStep, swap: Amounts) -> Change:
    """Return the change by one step. A decision takes back the amounts that its reserve step added."""
    given, received = swap.given, swap.received
    fixed = received if swap.is_fixed else 0
    changes = {
        SwapStep.RESERVE_OUT: Change(in_own=given, out_foreign=fixed),
        SwapStep.COMMIT_OUT: Change(given, -received, in_own=-given, out_foreign=-fixed),
        SwapStep.ABORT_OUT: Change(in_own=-given, out_foreign=-fixed),
        SwapStep.REPLAY_OUT: Change(given, -received),
        SwapStep.SHORTFALL_OUT: Change(given, -received),
        SwapStep.RESERVE_IN: Change(in_foreign=given, out_own=received),
        SwapStep.COMMIT_IN: Change(-received, given, in_foreign=-given, out_own=-received),
        SwapStep.ABORT_IN: Change(in_foreign=-given, out_own=-received),
        SwapStep.REPLAY_IN: Change(-received, given),
    }
    return changes[step]


class PoolAtWork(msgspec.Struct):
    """A pool and the swaps of one transaction: each is priced with those before it pending. Locked, unless for a quote."""

    pool: Pool
    limits: Limits
    openings: Openings
    """The reserves, own and foreign, with which the minutes of the last hour began."""
    change: Change = Change()
    swaps: int = 0
    fees_own: int = 0
    fees_foreign: int = 0

    @classmethod
    async def locked(cls, tx: Tx, peer: str, settings: Settings) -> "PoolAtWork":
        """The pool shared with this peer. Raises: PoolUnknown."""
        pool = await store.find_pool(tx, peer, lock=True)
        if pool is None:
            raise PoolUnknown
        return await cls.read(tx, pool, settings)

    @classmethod
    async def read(cls, tx: Tx, pool: Pool, settings: Settings) -> "PoolAtWork":
        """A pool that was read, or locked."""
        return cls(pool, limits_of(settings), (await store.openings(tx, [pool.peer]))[pool.peer])

    def price_now(self, amount: int, *, gives_own: bool) -> Price:
        """The price of an input, within every limit of this registry. Raises: SwapImpossible."""
        price = pricing.price_in(self.pool.view(gives_own=gives_own), amount)
        self.require_allowed(price, gives_own=gives_own)
        return price

    def require_allowed(self, price: Price, *, gives_own: bool) -> None:
        """The limits and the breaker of this registry. Raises: SwapImpossible."""
        view = self.pool.view(gives_own=gives_own)
        pricing.require_within(view, price, self.limits, gives_own=gives_own)
        openings = [(own, foreign) if gives_own else (foreign, own) for _, own, foreign in self.openings]
        pricing.require_calm(view, price, openings, self.limits.breaker)

    def price_received(self, amount: int, least: int, fixed: tuple[int, int] | None) -> Price:
        """The price of a swap that enters: fixed here at the home, else (output, fee) of the home is checked.

        Raises: SwapImpossible.
        """
        if self.pool.is_home != (fixed is None):
            raise SwapImpossible(SwapCode.HOME_DIFFERS)
        if fixed is None:
            price = self.price_now(amount, gives_own=False)
        else:
            price = Price(Minor(amount), Minor(fixed[0]), Minor(fixed[1]))
            view = self.pool.view(gives_own=False)
            pricing.require_within(view, price, self.limits, gives_own=False)
            if not pricing.keeps_k(view, price):
                raise SwapImpossible(SwapCode.HOME_DIFFERS)
        if price.amount_out < least:
            raise SwapImpossible(SwapCode.BELOW_MINIMUM)
        return price

    def accepts(self, given: int, received: int) -> bool:
        """Return whether the output promised by the home for a swap that leaves lowers no product of the reserves here."""
        try:
            view = self.pool.view(gives_own=True)
        except SwapImpossible:
            return False
        return pricing.keeps_k(view, Price(Minor(given), Minor(received), Minor(0)))

    def pays(self, given: int, received: int) -> bool:
        """Return whether a swap that enters lowers no product of the reserves here."""
        try:
            view = self.pool.view(gives_own=False)
        except SwapImpossible:
            return False
        return pricing.keeps_k(view, Price(Minor(given), Minor(received), Minor(0)))

    def covers(self, received: int) -> bool:
        """Return whether the own reserve pays this beside everything that it has promised."""
        return self.pool.own.lowest >= received

    def move(self, step: SwapStep, swap: Amounts) -> None:
        """Carry a step out."""
        added = change_by(step, swap)
        self.change = self.change.plus(added)
        if added.reserve_own:
            is_out = step in {SwapStep.COMMIT_OUT, SwapStep.REPLAY_OUT, SwapStep.SHORTFALL_OUT}
            self.swaps += 1
            self.fees_foreign += swap.fee if is_out else 0
            self.fees_own += 0 if is_out else swap.fee
        self.pool = _changed(self.pool, added)

    async def write(self, tx: Tx) -> None:
        """Write the result of the steps, of a pool that is locked."""
        if self.swaps:
            await store.note_minute(
                tx, self.pool.peer, swaps=self.swaps, fees_own=self.fees_own, fees_foreign=self.fees_foreign
            )
        if self.change != Change():
            await store.change(tx, self.pool.peer, self.change.deltas)


def _changed(pool: Pool, added: Change) -> Pool:
    own, foreign, in_own, out_own, in_foreign, out_foreign = added.deltas
    return replace(
        pool,
        reserve_own=Minor(pool.reserve_own + own),
        reserve_foreign=Minor(pool.reserve_foreign + foreign),
        in_own=Minor(pool.in_own + in_own),
        out_own=Minor(pool.out_own + out_own),
        in_foreign=Minor(pool.in_foreign + in_foreign),
        out_foreign=Minor(pool.out_foreign + out_foreign),
    )


class Least(msgspec.Struct, frozen=True):
    """Bounds that an agent states for the output: a least amount, a quote of its own, both or neither."""

    agent_did: str
    amount_out: Minor | None = None
    quote_id: UUID | None = None


class SwapTerms(msgspec.Struct, frozen=True):
    """Terms of a swap that leaves: the least that it has to pay, the amount at the present price, and its price if this registry fixes it."""

    least: Minor
    estimate: Price
    fixed: Price | None


async def price_sent(tx: Tx, at_work: PoolAtWork, amount: Minor, stated: Least) -> SwapTerms:
    """The terms of a swap that leaves. Without a statement the least is the spot price less slippage_max.

    Raises: QuoteUnknown, QuoteEnded, QuoteDiffers, SwapImpossible.
    """
    pool = at_work.pool
    # The pool is locked: a rival that spends the same quote is seen.
    least = stated.amount_out
    if stated.quote_id is not None:
        quoted = await quoted_output(tx, stated.quote_id, stated.agent_did, pool.peer, amount)
        least = quoted if least is None else max(least, quoted)
    price = at_work.price_now(amount, gives_own=True)
    if least is None:
        least = pricing.least_output(pool.view(gives_own=True), amount, at_work.limits.slippage_max)
    if price.amount_out < least:
        raise SwapImpossible(SwapCode.BELOW_MINIMUM)
    return SwapTerms(least, price, price if pool.is_home else None)


async def quoted_output(tx: Tx, quote_id: UUID, agent_did: str, peer: str, amount: Minor) -> Minor:
    """The least output that a quote promises. Raises: QuoteUnknown, QuoteEnded, QuoteDiffers."""
    found = await store.find_quote(tx, quote_id, agent_did)
    if found is None:
        raise QuoteUnknown
    if not found["is_open"]:
        raise QuoteEnded
    if (found["peer"], found["amount_in"]) != (peer, amount):
        raise QuoteDiffers
    return Minor(found["amount_out"])


async def has_pool(tx: Tx, peer: str) -> bool:
    """Return whether a pool is shared with this peer."""
    return await store.find_pool(tx, peer) is not None


def closed_until(
    pool: Pool, openings: Sequence[tuple[datetime, int, int]], breaker: Fraction
) -> datetime | None:
    """When the breaker lets the price move on; None where a swap of the reserve floor goes in both directions."""
    until = None
    for gives_own in (True, False):
        try:
            view = pool.view(gives_own=gives_own)
            price = pricing.price_in(view, pricing.RESERVE_FLOOR_MIN)
        except SwapImpossible:
            continue
        for minute, own, foreign in openings:
            opening = (own, foreign) if gives_own else (foreign, own)
            try:
                pricing.require_calm(view, price, [opening], breaker)
            except SwapImpossible:
                until = max(until or minute, minute + timedelta(hours=1))
    return until
