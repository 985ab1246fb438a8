"""Achievements of the demo: the provider has earned that of the first bond, buys a flare from the treasury and shows it on its card."""

from collections.abc import Awaitable, Callable
from typing import Any

from hansa.doors.demo.client import DemoFailed
from hansa.doors.demo.contract import Parties
from hansa.doors.demo.market import Tally
from hansa.doors.demo.paid_call import registry_of
from hansa_client import AsyncRegistry
from hansa_client.records.achievements import Flare

FIRST_BOND = "first_bond"
Settled = Callable[[Callable[[], Awaitable[bool]], str], Awaitable[None]]
"""Waits for a state that a registry reaches by its own reactors. Raises: DemoFailed."""


async def show_achievements(parties: Parties, tally: Tally, settled: Settled) -> None:
    """Read what the provider has earned, where it deposited a bond, and let it buy and show a flare. Raises: DemoFailed, HansaError."""
    provider, screen = parties.provider, parties.screen
    async with registry_of(parties.url, provider) as registry:
        defined = await registry.achievements.definitions()
        if (await registry.bonds.status(provider.did)).state != "none":
            await settled(lambda: _has_earned(registry, provider.did), "the first bond is no achievement")
            screen.line(f"{provider.name} has earned {FIRST_BOND}, one of {len(defined)} achievements")
        else:
            screen.line(f"{len(defined)} achievements can be earned; without a bond none is yet")
        cheapest = min(await registry.achievements.flares(), key=lambda one: one.price, default=None)
        if cheapest is None or tally.balances[provider.did] < 2 * cheapest.price:
            screen.line("no flare: none is sold, or the provider has too few units for it")
            return
        await _buy_and_show(registry, parties, cheapest, tally)


async def _has_earned(registry: AsyncRegistry, did: str) -> bool:
    return FIRST_BOND in [one.code for one in (await registry.achievements.of_agent(did)).earned]


async def _buy_and_show(registry: AsyncRegistry, parties: Parties, flare: Flare, tally: Tally) -> None:
    bought = await registry.achievements.buy_flare(flare.variant, flare.price)
    tally.count_paid_in(parties.provider.did, bought.price, bought.fee)
    tally.flares += 1
    chosen: dict[str, Any] = {flare.slot: flare.variant}
    shown = await registry.achievements.select(**chosen)
    if getattr(shown, flare.slot) != flare.variant or flare.variant not in shown.owned:
        raise DemoFailed(f"the card does not show the flare {flare.variant}")
    parties.screen.line(
        f"bought the flare {flare.variant} for {bought.price:f} and shows it; reputation ignores it"
    )
