"""HTTP doors of the book."""

from fastapi import APIRouter

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.lazy_routes import include
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Unauthorized, Unavailable
from hansa.foundation.values.money import format_amount

from .accounts import balance_of
from .history import AsOf, MomentInvalid, balance_then
from .schemas import BalanceOut, BalanceThenOut
from .staking import router as staking_router
from .statement import router as statement_router

router = APIRouter(tags=["ledger"], route_class=GuardedRoute)
include(router, staking_router, statement_router)


async def read_balance(
    agent: CurrentAgent, db: Db, settings: Config, as_of: AsOf = None
) -> BalanceThenOut | BalanceOut:
    """The calling agent's balance, now or at a past time."""
    if as_of is None:
        balance = await db.query(lambda tx: balance_of(tx, agent.did))
        return BalanceOut(agent_id=balance.did, balance=format_amount(balance.liquid))
    then = await db.read(lambda tx: balance_then(tx, agent.did, as_of, settings.ledger_id))
    return BalanceThenOut(
        agent_id=then.did,
        balance=format_amount(then.liquid),
        staked_balance=format_amount(then.staked),
        escrow_balance=format_amount(then.escrow),
        as_of=as_of,
    )


router.add_api_route(
    "/teg/balance",
    read_balance,
    responses=problems(Unauthorized, MomentInvalid, Unavailable),
    route_class_override=DirectRoute,
)
