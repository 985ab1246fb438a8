"""Rates, pools and quotes for everyone; quotes for agents; and the route by which a peer reports its acts on a pool."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, Public
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.rooms import federation

from . import acts, reading
from .errors import SWAP_REFUSALS, CurrencyAmbiguous, PoolBusy, PoolCurrencyDiffers, PoolExists, PoolUnknown
from .records import limits_of
from .schemas import (
    CURRENCY_PATTERN,
    PEER_MAX_CHARACTERS,
    PoolActIn,
    PoolActOut,
    PoolOut,
    RateOut,
    RatesOut,
    SwapQuoteIn,
    SwapQuoteOut,
)

fx_router = APIRouter(prefix="/teg/fx", tags=["transfers"], route_class=GuardedRoute)
fx_peer_router = APIRouter(tags=["federation"], route_class=GuardedRoute)

To = Annotated[str, Query(pattern=CURRENCY_PATTERN, description="The foreign currency.")]
OfPeer = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=PEER_MAX_CHARACTERS,
        description="Name, trust domain or ledger id of the peer, where several have the currency.",
    ),
]
NAMED = (PoolUnknown, CurrencyAmbiguous, federation.PeerUnknown, federation.PeerAmbiguous, Invalid)
READ = problems(*NAMED, TooManyRequests)


@fx_router.post(
    "/quote", responses=problems(Unauthorized, BodyInvalid, TooManyRequests, *NAMED, *SWAP_REFUSALS)
)
async def quote_swap(
    body: SwapQuoteIn, agent: CurrentAgent, db: Db, config: Config, *, writes: WriteLimit, peer: OfPeer = None
) -> SwapQuoteOut:
    """The price of a swap from the own currency, kept for a minute under `quote_id`."""
    await writes.admit(agent.did)

    async def priced(tx: Tx) -> reading.Quote:
        if body.to_currency is not None:
            pool = await reading.find_pool(tx, body.to_currency, peer)
        else:
            pool = await reading.pool_of_receiver(tx, body.receiver_did or "", config)
        is_exact_out = body.direction == "exact_out"
        return await reading.quote(tx, agent.did, pool, body.minor, config, is_exact_out=is_exact_out)

    return SwapQuoteOut.of(await db.transaction(priced), config.settlement_currency, limits_of(config))


@fx_router.get("/rate", responses=READ, dependencies=[Depends(within_read_limit)])
async def read_rate(_: Public, db: Db, config: Config, to: To, peer: OfPeer = None) -> RateOut:
    """The spot price of one currency."""

    async def read(tx: Tx) -> reading.PoolState:
        return await reading.state_of(tx, await reading.find_pool(tx, to, peer), config)

    return RateOut.of(await db.read(read), config.settlement_currency)


@fx_router.get("/rates", responses=problems(TooManyRequests), dependencies=[Depends(within_read_limit)])
async def read_rates(_: Public, db: Db, config: Config) -> RatesOut:
    """The spot prices of every currency that can be swapped."""
    found = await db.read(lambda tx: reading.states(tx, config))
    return RatesOut(items=[RateOut.of(state, config.settlement_currency) for state in found])


@fx_router.get("/pool", responses=READ, dependencies=[Depends(within_read_limit)])
async def read_pool(_: Public, db: Db, config: Config, to: To, peer: OfPeer = None) -> PoolOut:
    """The reserves and limits of the pool for one currency."""

    async def read(tx: Tx) -> reading.PoolState:
        return await reading.state_of(tx, await reading.find_pool(tx, to, peer), config)

    state = await db.read(read)
    return PoolOut.of(state, config.settlement_currency, config.ledger_id, limits_of(config))


@fx_peer_router.post(
    "/federation/fx/acts",
    responses=problems(
        CertificateMissing,
        NotAPeer,
        PeerClosed,
        Invalid,
        BodyInvalid,
        PoolBusy,
        PoolExists,
        PoolUnknown,
        PoolCurrencyDiffers,
    ),
)
async def take_pool_act(body: PoolActIn, caller: CurrentPeer, request: Request) -> PoolActOut:
    """Follow what the calling registry did with the shared pool."""
    runtime = runtime_of(request)
    if body.kind == "propose":
        caller.require_open()

    async def apply_act(tx: Tx) -> None:
        peer = await federation.peer_by_id(tx, caller.id)
        await acts.apply_act(tx, peer, body.act, runtime.settings)

    await runtime.database.transaction(apply_act)
    return PoolActOut(act_id=body.act_id)
