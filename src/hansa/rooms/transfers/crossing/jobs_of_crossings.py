"""The background work of crossings: what is due is sent, and a quiet pair is asked about its heads."""

from uuid import uuid4

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import LeasedKind, Retries, sweep, sweep_of

from . import pair_chain, store
from .exchange import DELIVERY, deliver, enqueue_due

SWEEP_SECONDS = 2.0
ASK_SECONDS = 300.0


async def ask_for_heads(tx: Tx) -> None:
    """Ask every peer where the two chains stand: a peer that was restored and sends nothing is noticed by this."""
    for peer in await store.peers(tx):
        pair = await store.lock_pair(tx, peer)
        asking = pair_chain.ask(pair, uuid4().hex)
        if asking != pair:
            await store.write_pair(tx, peer, asking)


CROSSING_JOBS = (
    LeasedKind(
        DELIVERY, deliver, at_once=8, retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)
    ),
    sweep_of(
        "transfers: what peers are due to be sent",
        SWEEP_SECONDS,
        store.HAS_PEER_DUE,
        enqueue_due,
        once_a_turn=True,
    ),
    sweep("transfers: heads of quiet peers", ASK_SECONDS, ask_for_heads),
)
