"""Descriptor of the exchange room for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import agents, organizations, treasury

from .admin_routes import admin_router, invariant_router
from .binding import ACCOUNT_END_OF_POINTS, blockers_of, require_releasing, require_unbound
from .cards import CLOSE_DAYS, MAKE_STOCK_CARD, READ_VENUES, cards_router
from .drafting import LISTING
from .expiring import EXPIRE_LISTINGS
from .launches import (
    CANCEL_SUBSCRIPTIONS,
    CLOSE_LAUNCHES,
    OPEN_LAUNCHES,
    SETTLE_LAUNCHES,
    SUBSCRIPTIONS_FOLLOW,
)
from .launches import router as launches_router
from .revenue import COUNT_REVENUE, LEVY_REVENUE, LEVY_WHEN_DUE, PAY_DISTRIBUTIONS, arrears_of
from .revenue import router as revenue_router
from .routes import router
from .trading import (
    COUNT_TRADES,
    ORDER_EXPIRY,
    ORDERS_FOLLOW,
    ORDERS_OF_ENDED,
    ORDERS_OF_STOPPED,
    market_router,
)
from .trading import router as orders_router

ROOM = Room(
    name="exchange",
    routes=(
        Routes(1984, cards_router),
        Routes(1991, invariant_router),
        Routes(1992, revenue_router),
        Routes(1993, orders_router),
        Routes(1994, market_router),
        Routes(1997, launches_router),
        Routes(1998, router),
        Routes(1999, admin_router),
    ),
    reactors=(SUBSCRIPTIONS_FOLLOW, ORDERS_FOLLOW),
    jobs=(
        OPEN_LAUNCHES,
        CLOSE_LAUNCHES,
        SETTLE_LAUNCHES,
        CANCEL_SUBSCRIPTIONS,
        EXPIRE_LISTINGS,
        ORDER_EXPIRY,
        ORDERS_OF_STOPPED,
        ORDERS_OF_ENDED,
        COUNT_TRADES,
        COUNT_REVENUE,
        LEVY_WHEN_DUE,
        LEVY_REVENUE,
        PAY_DISTRIBUTIONS,
        MAKE_STOCK_CARD,
        CLOSE_DAYS,
        READ_VENUES,
    ),
    settings=frozenset(
        {
            "exchange_enabled",
            "exchange_fee_bps",
            "ledger_id",
            "registry_name",
            "settlement_currency",
            "trust_domain",
        }
    ),
    account_end=ACCOUNT_END_OF_POINTS,
    fills=(
        organizations.REQUEST_KINDS.filled_with((LISTING,)),
        organizations.REQUIRE_RELEASING.filled_with(require_releasing),
        organizations.BLOCKERS_ABOVE.filled_with(blockers_of),
        agents.REQUIRE_UNBOUND.filled_with(require_unbound),
        treasury.ARREARS.filled_with(arrears_of),
    ),
)
