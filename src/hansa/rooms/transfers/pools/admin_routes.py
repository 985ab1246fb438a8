"""Pools for administrators of the treasury."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.money import parse_positive
from hansa.rooms import federation, ledger

from . import administering, reading
from .errors import (
    CurrencyAmbiguous,
    FixedRatesOff,
    PoolBusy,
    PoolCurrencyDiffers,
    PoolExists,
    PoolUnknown,
    ProposalDiffers,
    ReserveTooSmall,
)
from .records import Pool, limits_of
from .schemas import CURRENCY_PATTERN, PEER_MAX_CHARACTERS, PoolAmountIn, PoolIn, PoolOut, RateIn

pools_admin_router = APIRouter(prefix="/admin/fx", tags=["administrators"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_treasury")]
OfCurrency = Annotated[str, Path(pattern=CURRENCY_PATTERN, description="The foreign currency.")]
OfPeer = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=PEER_MAX_CHARACTERS,
        description="Name, trust domain or ledger id of the peer, where several have the currency.",
    ),
]


class PoolsOf(msgspec.Struct, frozen=True):
    """The pools of this registry, or those with one peer."""

    peer: str | None
    database: Database
    settings: Settings

    async def change(self, currency: str, change: Callable[[Tx, Pool], Awaitable[Pool]]) -> PoolOut:
        """Change the pool of a currency. Raises: PoolUnknown, CurrencyAmbiguous, and the errors of `change`."""

        async def act(tx: Tx) -> reading.PoolState:
            # The answer is read with the act: a failure after the commit would have the administrator repeat it.
            pool = await reading.find_pool(tx, currency, self.peer)
            return await reading.state_of(tx, await change(tx, pool), self.settings)

        return _answer(await self.database.transaction(act), self.settings)


async def pools_of(db: Db, config: Config, *, peer: OfPeer = None) -> PoolsOf:
    """The pools that a request means."""
    return PoolsOf(peer, db, config)


Pools = Annotated[PoolsOf, Depends(pools_of)]
PEERS = (federation.PeerUnknown, federation.PeerAmbiguous)
ADMINISTERED = (Unauthorized, Invalid, BodyInvalid)
OF_A_POOL = (*ADMINISTERED, *PEERS, PoolUnknown, CurrencyAmbiguous)


@pools_admin_router.post(
    "/pools",
    status_code=201,
    responses=problems(
        *ADMINISTERED,
        *PEERS,
        PoolCurrencyDiffers,
        PoolExists,
        ReserveTooSmall,
        ledger.TreasuryInsufficient,
        federation.LicenceRequired,
        federation.PeerPaused,
        federation.PeerSuspended,
    ),
)
async def open_one_pool(body: PoolIn, administrator: Administrator, request: Request) -> PoolOut:
    """Open a pool with a peer. Swaps begin once the peer's administrator has funded `reserve_foreign`."""
    runtime = runtime_of(request)
    new = administering.NewPool(
        body.currency, body.peer, parse_positive(body.reserve_own), parse_positive(body.reserve_foreign)
    )
    pool = await administering.open_pool(runtime, administrator, new)
    state = await runtime.database.read(lambda tx: reading.state_of(tx, pool, runtime.settings))
    return _answer(state, runtime.settings)


@pools_admin_router.post(
    "/pools/{currency}/fund",
    responses=problems(*OF_A_POOL, ProposalDiffers, ReserveTooSmall, ledger.TreasuryInsufficient),
)
async def fund_pool(
    body: PoolAmountIn, administrator: Administrator, currency: OfCurrency, pools: Pools
) -> PoolOut:
    """Move units from the treasury into the own reserve."""
    amount = parse_positive(body.amount)
    return await pools.change(
        currency, lambda tx, pool: administering.fund(tx, administrator, pool, amount, pools.settings)
    )


@pools_admin_router.post("/pools/{currency}/drain", responses=problems(*OF_A_POOL, ReserveTooSmall))
async def drain_pool(
    body: PoolAmountIn, administrator: Administrator, currency: OfCurrency, pools: Pools
) -> PoolOut:
    """Move units from the own reserve into the treasury, down to the reserve floor."""
    amount = parse_positive(body.amount)
    return await pools.change(
        currency, lambda tx, pool: administering.drain(tx, administrator, pool, amount, pools.settings)
    )


@pools_admin_router.post("/pools/{currency}/close", responses=problems(*OF_A_POOL, PoolBusy))
async def close_one_pool(administrator: Administrator, currency: OfCurrency, pools: Pools) -> PoolOut:
    """Close a pool: the own reserve goes to the treasury, and the peer closes its side. The answer is the pool as it was."""
    return await pools.change(
        currency, lambda tx, pool: administering.close_pool(tx, administrator, pool, pools.settings)
    )


@pools_admin_router.put("/rates/{currency}", responses=problems(*OF_A_POOL, FixedRatesOff))
async def set_rate(body: RateIn, administrator: Administrator, currency: OfCurrency, pools: Pools) -> PoolOut:
    """Set the rate of fixed mode."""
    rate = Decimal(body.rate)
    return await pools.change(
        currency, lambda tx, pool: administering.set_rate(tx, administrator, pool, rate, pools.settings)
    )


def _answer(state: reading.PoolState, config: Settings) -> PoolOut:
    return PoolOut.of(state, config.settlement_currency, config.ledger_id, limits_of(config))
