"""Price a swap and move the figures of its pool, in the transaction of a step of its transfer.

The home of the pool fixes the output; the other side checks what it is asked to pay or accept. The row of the pool is locked
from the price to the commit, so that the next swap is priced with this one pending.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from uuid import UUID

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import Minor

from . import pricing, store
from .errors import PoolUnknown, QuoteDiffers, QuoteEnded, QuoteUnknown
from .pricing import Price, SwapCode, SwapImpossible
from .records import Pool, limits_of


async def has_pool(tx: Tx, peer: str) -> bool:
    """Whether a pool is shared with this peer."""
    return await store.find_pool(tx, peer) is not None


class SwapStep(StrEnum):
    """What a step of a transfer does to the pool."""

    RESERVE_OUT = "reserve_out"
    COMMIT_OUT = "commit_out"
    ABORT_OUT = "abort_out"
    REPLAY_OUT = "replay_out"
    RESERVE_IN = "reserve_in"
    COMMIT_IN = "commit_in"
    ABORT_IN = "abort_in"
    REPLAY_IN = "replay_in"


@dataclass(frozen=True)
class Amounts:
    """A swap in minor units: what is given, what is received, and the fee that stays. `is_fixed`: by the sender's registry."""

    given: int
    received: int
    fee: int
    is_fixed: bool


@dataclass(frozen=True)
class Change:
    """What a step adds to the figures of the pool."""

    reserve_own: int = 0
    reserve_foreign: int = 0
    in_own: int = 0
    out_own: int = 0
    in_foreign: int = 0
    out_foreign: int = 0

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
    """The change of one step. What a step reserves, its decision takes back."""
    given, received = swap.given, swap.received
    fixed = received if swap.is_fixed else 0
    changes = {
        SwapStep.RESERVE_OUT: Change(in_own=given, out_foreign=fixed),
        SwapStep.COMMIT_OUT: Change(given, -received, in_own=-given, out_foreign=-fixed),
        SwapStep.ABORT_OUT: Change(in_own=-given, out_foreign=-fixed),
        SwapStep.REPLAY_OUT: Change(given, -received),
        SwapStep.RESERVE_IN: Change(in_foreign=given, out_own=received),
        SwapStep.COMMIT_IN: Change(-received, given, in_foreign=-given, out_own=-received),
        SwapStep.ABORT_IN: Change(in_foreign=-given, out_own=-received),
        SwapStep.REPLAY_IN: Change(-received, given),
    }
    return changes[step]


async def move(tx: Tx, peer: str, step: SwapStep, swap: Amounts) -> None:
    """Carry the step out in the row of the pool, which is locked from here on."""
    await store.find_pool(tx, peer, lock=True)
    change = change_by(step, swap)
    if change.reserve_own:
        is_out = step in {SwapStep.COMMIT_OUT, SwapStep.REPLAY_OUT}
        fees = {"fees_foreign" if is_out else "fees_own": swap.fee}
        await store.note_minute(tx, peer, swaps=1, **fees)
    await store.change(tx, peer, change.deltas)


@dataclass(frozen=True)
class Least:
    """What an agent states about the output: a least amount, a quote of its own, both or neither."""

    agent_did: str
    amount_out: Minor | None = None
    quote_id: UUID | None = None


@dataclass(frozen=True)
class SwapTerms:
    """What a swap that leaves has to pay at least, what it would pay now, and its price if this registry fixes it."""

    least: Minor
    estimate: Price
    fixed: Price | None


async def price_sent(tx: Tx, peer: str, amount: Minor, stated: Least, settings: Settings) -> SwapTerms:
    """The terms of a swap that leaves. Without a statement the least is the spot price less slippage_max.

    The pool is locked. Raises: PoolUnknown, QuoteUnknown, QuoteEnded, QuoteDiffers, SwapImpossible.
    """
    pool = await store.find_pool(tx, peer, lock=True)
    if pool is None:
        raise PoolUnknown
    # After the lock: a rival that spends the same quote is seen.
    least = stated.amount_out
    if stated.quote_id is not None:
        quoted = await quoted_output(tx, stated.quote_id, stated.agent_did, peer, amount)
        least = quoted if least is None else max(least, quoted)
    price = await price_now(tx, pool, amount, settings, gives_own=True)
    if least is None:
        least = pricing.least_output(pool.view(gives_own=True), amount, limits_of(settings).slippage_max)
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


async def price_now(tx: Tx, pool: Pool, amount: int, settings: Settings, *, gives_own: bool) -> Price:
    """The price of an input as the pool stands, within every limit of this registry. Raises: SwapImpossible."""
    price = pricing.price_in(pool.view(gives_own=gives_own), amount)
    await require_allowed(tx, pool, price, settings, gives_own=gives_own)
    return price


async def require_allowed(tx: Tx, pool: Pool, price: Price, settings: Settings, *, gives_own: bool) -> None:
    """The limits and the breaker of this registry. Raises: SwapImpossible."""
    view, limits = pool.view(gives_own=gives_own), limits_of(settings)
    pricing.require_within(view, price, limits, gives_own=gives_own)
    found = await store.openings(tx, pool.peer)
    openings = [(own, foreign) if gives_own else (foreign, own) for _, own, foreign in found]
    pricing.require_calm(view, price, openings, limits.breaker)


async def price_received(
    tx: Tx, peer: str, amount: int, least: int, fixed: tuple[int, int] | None, *, settings: Settings
) -> Price:
    """The price of a swap that enters: fixed here at the home, else (output, fee) of the home is checked. The pool is locked.

    Raises: PoolUnknown, SwapImpossible.
    """
    pool = await store.find_pool(tx, peer, lock=True)
    if pool is None:
        raise PoolUnknown
    if pool.is_home != (fixed is None):
        raise SwapImpossible(SwapCode.HOME_DIFFERS)
    if fixed is None:
        price = await price_now(tx, pool, amount, settings, gives_own=False)
    else:
        price = Price(Minor(amount), Minor(fixed[0]), Minor(fixed[1]))
        view = pool.view(gives_own=False)
        pricing.require_within(view, price, limits_of(settings), gives_own=False)
        if not pricing.keeps_k(view, price):
            raise SwapImpossible(SwapCode.HOME_DIFFERS)
    if price.amount_out < least:
        raise SwapImpossible(SwapCode.BELOW_MINIMUM)
    return price


async def accepts(tx: Tx, peer: str, given: int, received: int) -> bool:
    """Whether what the home promises for a swap that leaves lowers no `k` here."""
    pool = await store.find_pool(tx, peer)
    if pool is None:
        return False
    price = Price(Minor(given), Minor(received), Minor(0))
    return pricing.keeps_k(pool.view(gives_own=True), price)


async def covers(tx: Tx, peer: str, received: int) -> bool:
    """Whether the own reserve pays this beside everything that it has promised. The pool is locked."""
    pool = await store.find_pool(tx, peer, lock=True)
    return pool is not None and pool.own.lowest >= received


async def closed_until(tx: Tx, pool: Pool, breaker: Fraction) -> datetime | None:
    """When the breaker lets the price move on; None where a swap of the reserve floor goes in both directions."""
    found = await store.openings(tx, pool.peer)
    until = None
    for gives_own in (True, False):
        try:
            view = pool.view(gives_own=gives_own)
            price = pricing.price_in(view, pricing.RESERVE_FLOOR_MIN)
        except SwapImpossible:
            continue
        for minute, own, foreign in found:
            opening = (own, foreign) if gives_own else (foreign, own)
            try:
                pricing.require_calm(view, price, [opening], breaker)
            except SwapImpossible:
                until = max(until or minute, minute + timedelta(hours=1))
    return until
