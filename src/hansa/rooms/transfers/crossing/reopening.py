"""What is sent again once one of the two registries of a pair was restored, and the chain for what rooms above decide with a peer."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from uuid import UUID

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Slot

from . import pair_chain, store

PairReopened: TypeAlias = Callable[[Tx, str], Awaitable[None]]
PAIR_REOPENED: Slot[PairReopened] = Slot(
    "transfers: a registry of the pair was restored; what was decided with the peer is sent again"
)


async def reopen(tx: Tx, peer: str, reopened: PairReopened) -> None:
    """Let every decision and receipt be sent until it is answered again, those of rooms above too; the pair is locked."""
    await store.reopen(tx, peer)
    await reopened(tx, peer)


async def lock_chain(tx: Tx, peer: str) -> None:
    """Lock the pair with this peer, before the rows of what is decided."""
    await store.lock_pair(tx, peer)


async def record_in_chain(tx: Tx, peer: str, entry: str, named: UUID, digest: str) -> None:
    """Append what a room above decided with this peer to the own chain, under its lock: a restore that loses it is noticed by this.

    `digest` names what was decided with everything in it.
    """
    pair = pair_chain.append(await store.lock_pair(tx, peer), entry, digest)
    await store.write_pair(tx, peer, pair)
    await store.add_entries(tx, peer, [store.Entry(pair.own, entry, named)])
