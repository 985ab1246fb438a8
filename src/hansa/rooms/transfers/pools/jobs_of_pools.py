"""Background work of pools: peers follow the acts of this registry, and old quotes are deleted.

Statements of the registry card on swaps, kept up with the pools.
"""

from hansa.foundation.plumbing.jobs import LeasedKind, Retries, sweep, sweep_with_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import store
from .acts import DELIVERY, deliver
from .administering import follow_rate_mode
from .pricing import FEE
from .records import limits_of

FOLLOW_SECONDS = 60.0
FORGET_SECONDS = 3600.0


async def follow_settings(tx: Tx, runtime: Runtime) -> None:
    """Pools and card follow the settings of this process."""
    await follow_rate_mode(tx, runtime.settings)
    await publish_terms(tx, runtime)


async def publish_terms(tx: Tx, runtime: Runtime) -> None:
    """Sign the card with the present terms, if they have changed."""
    settings, limits = runtime.settings, limits_of(runtime.settings)
    found = await store.pools(tx)
    terms = federation.SwapTerms(
        rate_mode=settings.fx_rate_mode,
        fee=FEE,
        size_cap=limits.size_cap,
        reserve_floor=limits.reserve_floor,
        slippage_max=limits.slippage_max,
        breaker=limits.breaker,
        note="Swaps into " + ", ".join(f"{pool.currency} ({pool.frame})" for pool in found),
    )
    await federation.publish_card_with_fx(tx, settings, runtime.seal, terms if found else None)


POOL_JOBS = (
    LeasedKind(
        DELIVERY, deliver, at_once=4, retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)
    ),
    sweep_with_runtime("transfers: terms of pools", FOLLOW_SECONDS, follow_settings),
    sweep("transfers: quotes that expired", FORGET_SECONDS, store.forget_quotes),
)
