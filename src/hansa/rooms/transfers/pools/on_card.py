"""Statements of the registry card on swaps, kept up with the pools."""

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import store
from .administering import follow_rate_mode
from .pricing import FEE
from .records import limits_of


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


async def follow_settings(tx: Tx, runtime: Runtime) -> None:
    """Pools and card follow the settings of this process."""
    await follow_rate_mode(tx, runtime.settings)
    await publish_terms(tx, runtime)
