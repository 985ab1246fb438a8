"""Probes of agents of peers, drawn at random: what this registry measures of them is another view beside that of their home.

- A card is drawn once in 16 intervals of the health check on average, and 40 cards in a round at most: their number decides the rate, not the cost.
- A drawn agent is called at a random moment of the round. The result is counted, and changes nothing of the mirror.
"""

import asyncio

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.catalogue.availability import add_probe

from . import store
from .probing import answer_class, call, uniform
from .records import MirroredAgent

ROUND_SECONDS = 60
SPREAD_SECONDS = 30.0
INTERVALS = 16
AT_ONCE = 40


async def probe_mirrors(runtime: Runtime) -> None:
    """Call some agents of peers."""
    interval = runtime.settings.card_liveness_interval_seconds
    if not interval:
        return
    share = ROUND_SECONDS / (INTERVALS * interval)
    drawn = await runtime.database.query(lambda tx: store.draw_mirrors(tx, share, AT_ONCE))
    await asyncio.gather(*(_probe(runtime, one, uniform() * SPREAD_SECONDS) for one in drawn))


async def _probe(runtime: Runtime, agent: MirroredAgent, wait_seconds: float) -> None:
    await asyncio.sleep(wait_seconds)
    probed = await call(
        runtime.outgoing, agent.addresses, needs_credentials=agent.needs_credentials, lists_tools=False
    )
    if probed is None or probed.sign.state is None or not probed.was_sent:
        return
    found = answer_class(probed)
    await runtime.database.transaction(lambda tx: add_probe(tx, agent.did, found))


MIRROR_PROBES = scheduled("catalogue: probe agents of peers", ROUND_SECONDS, probe_mirrors, store.has_mirrors)
