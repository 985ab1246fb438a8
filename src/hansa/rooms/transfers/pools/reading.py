"""Read pools: the pool that a currency means, the spot rate, and the price of a swap now."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Context, Decimal
from fractions import Fraction
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import federation
from hansa.rooms.transfers.receiver_registry import peer_of

from . import pricing, store
from .errors import REFUSAL_OF, CurrencyAmbiguous, PoolUnknown
from .pricing import Price, SwapImpossible
from .records import Minute, Pool, limits_of
from .swapping import PoolAtWork, closed_until

QUOTE_SECONDS = 60.0
RATE_DIGITS = 18
HISTORY_MINUTES = 1440


class PoolState(msgspec.Struct, frozen=True):
    """A pool, when its breaker lets the price move on, and the database's time."""

    pool: Pool
    open_until: datetime | None
    as_of: datetime

    @property
    def rate(self) -> Fraction | None:
        """Foreign units for one own unit; None without a price."""
        try:
            return self.pool.view(gives_own=True).spot
        except SwapImpossible:
            return None


class Quote(msgspec.Struct, frozen=True):
    """Price of a swap that is kept for a minute; minor units, `impact` and `rate` exact."""

    quote_id: UUID
    currency: str
    price: Price
    impact: Fraction
    expires_at: datetime

    @property
    def rate(self) -> Fraction:
        """Units received for one unit sent, the fee included."""
        return Fraction(self.price.amount_out, self.price.amount_in)


async def find_pool(tx: Tx, currency: str, peer: str | None) -> Pool:
    """The pool of a foreign currency. Raises: PoolUnknown, CurrencyAmbiguous, PeerUnknown, PeerAmbiguous."""
    found = await store.pools_of_currency(tx, currency)
    if peer is not None:
        named = await federation.peer_by_name(tx, peer)
        found = [pool for pool in found if pool.peer == named.spiffe_id]
    if not found:
        raise PoolUnknown
    if len(found) > 1:
        raise CurrencyAmbiguous(context={"peers": [pool.frame for pool in found]})
    return found[0]


async def pool_of_receiver(tx: Tx, did: str, settings: Settings) -> Pool:
    """The pool by which an agent of another registry is paid. Raises: PoolUnknown."""
    peer = await peer_of(tx, did, settings)
    pool = None if peer is None or peer.spiffe_id is None else await store.find_pool(tx, peer.spiffe_id)
    if pool is None:
        raise PoolUnknown
    return pool


async def state_of(tx: Tx, pool: Pool, settings: Settings) -> PoolState:
    """Return the pool with the figures computed of it."""
    return (await _states(tx, [pool], settings))[0]


async def states(tx: Tx, settings: Settings) -> list[PoolState]:
    """Every pool, by currency."""
    return await _states(tx, await store.pools(tx), settings)


async def _states(tx: Tx, found: Sequence[Pool], settings: Settings) -> list[PoolState]:
    openings, now = await store.openings(tx, [pool.peer for pool in found]), await clock.now(tx)
    breaker = limits_of(settings).breaker
    return [PoolState(pool, closed_until(pool, openings[pool.peer], breaker), now) for pool in found]


async def history(tx: Tx, pool: Pool) -> list[Minute]:
    """The reserves over time, the oldest first."""
    return await store.history(tx, pool.peer, HISTORY_MINUTES)


async def quote(
    tx: Tx, agent_did: str, pool: Pool, amount: Minor, settings: Settings, *, is_exact_out: bool
) -> Quote:
    """Price a swap from the own currency and keep the quote for a minute. Raises: the refusals of swaps."""
    view = pool_view(pool)
    try:
        price = pricing.price_out(view, amount) if is_exact_out else pricing.price_in(view, amount)
        at_work = await PoolAtWork.read(tx, pool, settings)
        at_work.require_allowed(price, gives_own=True)
    except SwapImpossible as impossible:
        raise REFUSAL_OF[impossible.code] from None
    quote_id = uuid4()
    amounts = (price.amount_in, price.amount_out)
    expires_at = await store.add_quote(tx, quote_id, agent_did, pool.peer, amounts, seconds=QUOTE_SECONDS)
    return Quote(quote_id, pool.currency, price, pricing.impact(view, price), expires_at)


async def swapped_amounts(
    tx: Tx, peer: str, settings: Settings, *, sent: Minor | None = None, received: Minor | None = None
) -> tuple[Minor, Minor] | None:
    """Return the amounts sent and received, in minor units of each currency, of a swap to this peer of which one is given.

    None where there is no pool, or where it does not make such a swap now.
    """
    pool = await store.find_pool(tx, peer)
    try:
        if pool is None:
            return None
        view = pool.view(gives_own=True)
        price = pricing.price_in(view, sent) if sent is not None else pricing.price_out(view, received or 0)
        (await PoolAtWork.read(tx, pool, settings)).require_allowed(price, gives_own=True)
    except SwapImpossible:
        return None
    return price.amount_in, price.amount_out


async def rate_from(tx: Tx, peer: str) -> Fraction | None:
    """Own units for one unit of this peer's registry, as their pool prices it now; None without a pool or a price."""
    pool = await store.find_pool(tx, peer)
    try:
        return None if pool is None else pool.view(gives_own=False).spot
    except SwapImpossible:
        return None


def pool_view(pool: Pool) -> pricing.View:
    """The pool as a swap that leaves sees it. Raises: RateMissing."""
    try:
        return pool.view(gives_own=True)
    except SwapImpossible as impossible:
        raise REFUSAL_OF[impossible.code] from None


def decimal_text(value: Fraction, digits: int = RATE_DIGITS) -> str:
    """A plain decimal with so many significant digits, rounded half to even: for reading, never for computing."""
    quotient = Context(prec=digits).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{quotient:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent_text(value: Fraction) -> str:
    """A share as percent, with at most six digits after the point."""
    return decimal_text(Fraction(round(value * 10**8), 10**6))
