"""A peer with everything that is shown of it."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .reading import peer_by_name
from .records import PeerRecord

PRIOR = 0.5
"""The score of a peer without evidence."""


class PeerView(msgspec.Struct, frozen=True):
    """Peer, its refusals by reason, its trust score, and the database's time."""

    peer: PeerRecord
    refused: dict[str, int]
    score: float
    now: datetime

    @property
    def lag_seconds(self) -> int | None:
        """Seconds since it was read last; None before the first time."""
        synced_at = self.peer.last_synced_at
        return None if synced_at is None else max(0, int((self.now - synced_at).total_seconds()))


async def view_of(tx: Tx, peer: PeerRecord) -> PeerView:
    """Everything that is shown of one peer."""
    return (await _views(tx, [peer]))[0]


async def view_by_name(tx: Tx, name: str) -> PeerView:
    """The peer that NAME means. Raises: PeerUnknown, PeerAmbiguous."""
    return await view_of(tx, await peer_by_name(tx, name))


async def list_peers(tx: Tx, limit: int, offset: int) -> tuple[list[PeerView], int]:
    """A page of peers by name, and how many there are."""
    found, total = await store.page(tx, limit, offset)
    return await _views(tx, found), total


async def every_peer(tx: Tx) -> list[PeerView]:
    """Every approved peer that is not being removed, by name."""
    return await _views(tx, [peer for peer in await store.all_peers(tx) if peer.is_member])


async def _views(tx: Tx, found: list[PeerRecord]) -> list[PeerView]:
    ids = [peer.id for peer in found]
    refused, scores, now = await store.refusals(tx, ids), await store.scores(tx, ids), await clock.now(tx)
    return [PeerView(peer, refused[peer.id], scores.get(peer.id, PRIOR), now) for peer in found]
