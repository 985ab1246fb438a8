"""Messages that are sent again after one of the two registries of a pair was restored, and the chain for decisions of rooms above."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import pair_chain, store
from .messages import NOWHERE, Message, positions_at
from .pair_chain import Pair

PairReopened: TypeAlias = Callable[[Tx, str], Awaitable[None]]
PAIR_REOPENED: Slot[PairReopened] = Slot(
    "transfers: a registry of the pair was restored; what was decided with the peer is sent again"
)


PAIR_ENDED: Slot[Callable[[Tx, str], Awaitable[None]]] = Slot(
    "transfers: a peer is deleted, and what rooms above have under way with it ends"
)
"""Called under the lock of the pair."""


async def reopen(tx: Tx, peer: str, reopened: PairReopened) -> None:
    """Let every decision and receipt be sent until it is answered again, those of rooms above too; the pair is locked."""
    await store.reopen(tx, peer)
    await reopened(tx, peer)


async def observe(tx: Tx, peer: str, pair: Pair, positions: Message, reopened: PairReopened) -> Pair | None:
    """Judge the positions of a message, under the lock of the pair; None where its content does not count.

    A message from before a restore does not count: its author repeats the statements that still hold. One that names an entry of the own chain that is not
    recorded here does not count either: the peer is asked about the heads, and shows what it saw. A peer that states no positions
    is taken at its word.
    """
    if positions.own == NOWHERE:
        return pair
    if not pair_chain.is_plausible(pair, positions):
        return None
    recorded = await store.heads_at(tx, peer, {positions.seen})
    place = (positions.seen.epoch, positions.seen.seq)
    observed = pair_chain.observe(pair, positions, recorded.get(place), uuid4().hex)
    if observed.pair != pair:
        await store.write_pair(tx, peer, observed.pair)
    if observed.is_forged:
        await _count_forged(tx, peer)
        return None
    if observed.resend:
        await reopen(tx, peer, reopened)
    is_lost = pair_chain.may_be_lost(observed.pair, positions.own, positions.seen)
    return None if is_lost else observed.pair


async def _count_forged(tx: Tx, peer: str) -> None:
    record = await federation.peer_by_spiffe_id(tx, peer)
    if record is not None:
        await federation.count_refusal(tx, record.id, "position_forged")


async def lock_chain(tx: Tx, peer: str) -> None:
    """Lock the pair with this peer, before the rows of the decisions."""
    await store.lock_pair(tx, peer)


async def lock_chain_of_epochs(tx: Tx, peer: str, positions: Message) -> bool:
    """Lock the pair; False where one of the two registries began a new epoch since these positions of the own message were read."""
    pair = await store.lock_pair(tx, peer)
    return (pair.own.epoch, pair.seen.epoch) == (positions.own.epoch, positions.seen.epoch)


class Observed(msgspec.Struct, frozen=True):
    """Positions of a message whose content counts. `is_current`: nothing later was seen of its author's chain; only then it confirms anything."""

    is_current: bool


async def observe_in_chain(tx: Tx, peer: str, positions: Message, reopened: PairReopened) -> Observed | None:
    """Lock the pair and judge the positions of a message about a decision of a room above; None where its content does not count."""
    pair = await observe(tx, peer, await store.lock_pair(tx, peer), positions, reopened)
    return None if pair is None else Observed(pair_chain.is_current(pair, positions.own))


async def positions_in_chain(tx: Tx, peer: str) -> Message:
    """The positions of a message to this peer that is signed now."""
    pair = await store.find_pair(tx, peer)
    return positions_at(pair.own, pair.seen, peer)


async def record_in_chain(tx: Tx, peer: str, entry: str, named: UUID, digest: str) -> None:
    """Append a decision of a room above with this peer to the own chain, under its lock: a restore that loses it is noticed by this.

    `digest` is over the whole decision.
    """
    pair = pair_chain.append(await store.lock_pair(tx, peer), entry, digest)
    await store.write_pair(tx, peer, pair)
    await store.add_entries(tx, peer, [store.Entry(pair.own, entry, named)])
