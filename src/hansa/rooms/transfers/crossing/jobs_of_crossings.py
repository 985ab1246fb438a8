"""Background work of crossings: due messages are sent, and a quiet pair is asked about its heads."""

from uuid import uuid4

from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.storage.database import Tx

from . import pair_chain, store
from .channel import OUTBOX

ASK_SECONDS = 300.0


async def ask_for_heads(tx: Tx) -> None:
    """Ask every peer where the two chains stand: a peer that was restored and sends nothing is noticed by this."""
    for peer in await store.peers(tx):
        pair = await store.lock_pair(tx, peer)
        asking = pair_chain.ask(pair, uuid4().hex)
        if asking != pair:
            await store.write_pair(tx, peer, asking)


CROSSING_JOBS = (*OUTBOX.kinds, sweep("transfers: heads of quiet peers", ASK_SECONDS, ask_for_heads))
