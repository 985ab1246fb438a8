"""Pools of two currencies, one for each other registry, and the prices of swaps."""

from .acts import end_with
from .admin_routes import pools_admin_router
from .administering import NewPool, close_pool, drain, fund, propose_pool, set_rate
from .errors import QUOTE_REFUSALS, REFUSAL_OF, SWAP_REFUSALS, NotASwap, PoolUnknown
from .jobs_of_pools import POOL_JOBS
from .pricing import (
    Limits,
    Price,
    Reserve,
    SwapCode,
    SwapImpossible,
    View,
    least_output,
    price_in,
    require_calm,
)
from .reading import PoolState, decimal_text, find_pool, history, rate_from, states, swapped_amounts
from .records import Minute, Pool, limits_of
from .routes import fx_peer_router, fx_router
from .schemas import FEE_PCT, PoolAmountIn, PoolIn, RateIn
from .swapping import Amounts, Least, PoolAtWork, SwapStep, SwapTerms, has_pool, price_sent

__all__ = [
    "FEE_PCT",
    "POOL_JOBS",
    "QUOTE_REFUSALS",
    "REFUSAL_OF",
    "SWAP_REFUSALS",
    "Amounts",
    "Least",
    "Limits",
    "Minute",
    "NewPool",
    "NotASwap",
    "Pool",
    "PoolAmountIn",
    "PoolAtWork",
    "PoolIn",
    "PoolState",
    "PoolUnknown",
    "Price",
    "RateIn",
    "Reserve",
    "SwapCode",
    "SwapImpossible",
    "SwapStep",
    "SwapTerms",
    "View",
    "close_pool",
    "decimal_text",
    "drain",
    "end_with",
    "find_pool",
    "fund",
    "fx_peer_router",
    "fx_router",
    "has_pool",
    "history",
    "least_output",
    "limits_of",
    "pools_admin_router",
    "price_in",
    "price_sent",
    "propose_pool",
    "rate_from",
    "require_calm",
    "set_rate",
    "states",
    "swapped_amounts",
]
