"""Read the views of an agent of this registry, as of the newest epoch."""

from datetime import date, timedelta

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.reputation import scores

from . import store
from .records import ForeignFrame, Graph, VolumeProfile


async def ranked_trust_of(tx: Tx, did: str) -> tuple[scores.Reputation, float | None]:
    """The score of an agent, and how many percent of the scored agents it is above. Raises: AgentUnknown."""
    return await scores.reputation_of(tx, did), await store.rank_percentile(tx, did)


async def graph_of(tx: Tx, did: str, depth: int, most: int) -> Graph:
    """The heaviest edges of an agent and, at a depth of 2, those of the agents at their other ends. Raises: AgentUnknown."""
    epoch = _day_of(await scores.reputation_of(tx, did))
    edges = await store.edges_of(tx, [did], epoch, most + 1)
    around = {end for edge in edges[:most] for end in (edge.giver, edge.receiver)} - {did}
    if depth > 1 and around and len(edges) <= most:
        edges += await store.edges_of(tx, around, epoch, most + 1 - len(edges), edges)
    shown = edges[:most]
    nodes = sorted({did, *(end for edge in shown for end in (edge.giver, edge.receiver))})
    known = await store.scores_of(tx, nodes)
    return Graph({node: known.get(node, 0) for node in nodes}, shown, len(edges) > most)


async def volume_of(tx: Tx, did: str, days: int) -> VolumeProfile:
    """Payments of an agent in the days before the epoch. Raises: AgentUnknown."""
    epoch = _day_of(await scores.reputation_of(tx, did))
    first, last = epoch - timedelta(days=days), epoch - timedelta(days=1)
    return VolumeProfile(
        await store.volume_days(tx, did, first, last), *await store.spread(tx, did, first, last)
    )


async def frames_of(tx: Tx, did: str, own: str) -> list[ForeignFrame]:
    """Jobs of an agent for other frames than the `own` trust domain. Raises: AgentUnknown."""
    await scores.reputation_of(tx, did)
    return await store.foreign_frames(tx, did, own)


def _day_of(found: scores.Reputation) -> date:
    """Return the day of the epoch; before the first one nothing is there to be read."""
    return found.epoch.epoch if found.epoch else date.max
