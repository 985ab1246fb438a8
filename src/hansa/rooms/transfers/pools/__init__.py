"""Pools of two currencies, one for each other registry, and the prices of swaps."""

from .acts import end_with
from .admin_routes import pools_admin_router
from .errors import QUOTE_REFUSALS, REFUSAL_OF, SWAP_REFUSALS, NotASwap, PoolUnknown
from .jobs_of_pools import POOL_JOBS
from .pricing import Price, SwapCode, SwapImpossible
from .reading import PoolState, decimal_text, history, rate_from, states, swapped_amounts
from .records import Minute
from .routes import fx_peer_router, fx_router
from .schemas import FEE_PCT
from .swapping import Amounts, Least, PoolAtWork, SwapStep, SwapTerms, has_pool, price_sent

__all__ = [
    "FEE_PCT",
    "POOL_JOBS",
    "QUOTE_REFUSALS",
    "REFUSAL_OF",
    "SWAP_REFUSALS",
    "Amounts",
    "Least",
    "Minute",
    "NotASwap",
    "PoolAtWork",
    "PoolState",
    "PoolUnknown",
    "Price",
    "SwapCode",
    "SwapImpossible",
    "SwapStep",
    "SwapTerms",
    "decimal_text",
    "end_with",
    "fx_peer_router",
    "fx_router",
    "has_pool",
    "history",
    "pools_admin_router",
    "price_sent",
    "rate_from",
    "states",
    "swapped_amounts",
]
