"""The page of the pools: reserves, price over time and fees, as this registry sees them."""

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.plots import Plot
from hansa.doors.console.rendering import both_forms, grouped, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import UNIT, Minor, format_amount
from hansa.rooms import transfers

DIGITS_SHOWN = 8
HOURS_SHOWN = 48

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class PriceAt(LazyModel):
    """The pool before the first change of a minute. Decimal strings; `rate` is in foreign units for one own unit."""

    at: datetime
    rate: str
    reserve_own: str
    reserve_foreign: str
    fees_own: str
    fees_foreign: str
    swaps: int


class PoolShown(LazyModel):
    """A pool as everyone sees it."""

    peer: str = Field(examples=["peer.example.org"])
    currency: str
    home: str
    mode: str
    rate: str | None
    reserve_own: str
    reserve_foreign: str
    breaker_open_until: datetime | None
    history: list[PriceAt] = Field(
        description="The newest minutes in which the reserves changed, oldest first."
    )


class SwapBatches(LazyModel):
    """The pools of this registry."""

    currency: str
    fee_pct: str
    pools: list[PoolShown]


@both_forms(router, "/swaps")
async def show_swaps(_: Public, request: Request, db: Db, settings: Config) -> Response:
    """Show pools with their reserves, the price over time and the sums of their fees."""

    async def reading(tx: Tx) -> list[tuple[transfers.PoolState, list[transfers.PoolMinute]]]:
        states = await transfers.pool_states(tx, settings)
        return [(state, await transfers.pool_history(tx, state.pool)) for state in states]

    found = await db.read(reading)
    own = settings.settlement_currency
    shown = SwapBatches(
        currency=own,
        fee_pct=transfers.SWAP_FEE_PCT,
        pools=[_pool(state, minutes, settings.ledger_id) for state, minutes in found],
    )
    plots = [_plots(state, minutes, own) for state, minutes in found]
    return page_or_json(request, "swaps.html", shown, plots=plots)


def _pool(state: transfers.PoolState, minutes: Sequence[transfers.PoolMinute], frame: str) -> PoolShown:
    pool, rate = state.pool, state.rate
    return PoolShown(
        peer=pool.frame,
        currency=pool.currency,
        home=frame if pool.is_home else pool.frame,
        mode=pool.mode,
        rate=None if rate is None else transfers.decimal_text(rate, DIGITS_SHOWN),
        reserve_own=format_amount(pool.reserve_own),
        reserve_foreign=format_amount(pool.reserve_foreign),
        breaker_open_until=state.open_until,
        history=[_at(one) for one in minutes if _is_priced(one)],
    )


def _at(one: transfers.PoolMinute) -> PriceAt:
    return PriceAt(
        at=one.minute,
        rate=transfers.decimal_text(_rate(one), DIGITS_SHOWN),
        reserve_own=format_amount(one.reserve_own),
        reserve_foreign=format_amount(one.reserve_foreign),
        fees_own=format_amount(one.fees_own),
        fees_foreign=format_amount(one.fees_foreign),
        swaps=one.swaps,
    )


def _is_priced(one: transfers.PoolMinute) -> bool:
    return one.reserve_own > 0 and one.reserve_foreign > 0


def _rate(one: transfers.PoolMinute) -> Fraction:
    return Fraction(one.reserve_foreign, one.reserve_own)


def _plots(state: transfers.PoolState, minutes: Sequence[transfers.PoolMinute], own: str) -> list[Plot]:
    """The plots for which there is anything to draw."""
    pool, plots = state.pool, []
    prices = [(one.minute, _rate(one)) for one in minutes if _is_priced(one)]
    if state.rate is not None:
        prices.append((state.as_of, state.rate))
        points = [(f"{at:%Y-%m-%d %H:%M}", int(rate * UNIT)) for at, rate in prices]
        shown = [f"{transfers.decimal_text(rate, DIGITS_SHOWN)} {pool.currency}" for _, rate in prices]
        times = [at.timestamp() for at, _ in prices]
        plots.append(Plot(f"{pool.currency} for 1 {own}", points, shown, times))
    for title, unit, fees in (
        (f"Fees kept each hour, {own}", own, [(one.minute, one.fees_own) for one in minutes]),
        (
            f"Fees kept each hour, {pool.currency}",
            pool.currency,
            [(one.minute, one.fees_foreign) for one in minutes],
        ),
    ):
        hours = _by_hour(fees)
        if any(fee for _, fee in hours):
            amounts = [f"{grouped(format_amount(fee))} {unit}" for _, fee in hours]
            plots.append(Plot(title, hours, amounts))
    return plots


def _by_hour(fees: Sequence[tuple[datetime, Minor]]) -> list[tuple[str, int]]:
    """The newest hours in which anything changed."""
    hours: dict[str, int] = {}
    for at, fee in fees:
        hour = f"{at:%Y-%m-%d %H}:00"
        hours[hour] = hours.get(hour, 0) + fee
    return list(hours.items())[-HOURS_SHOWN:]
