"""The keys under which messages of a peer count, and how its next key is learned.

- A message is signed when it is sent. A retired key counts for messages that were under way at its retirement and no longer:
  a later one is signed by a thief, whatever time it states.
- A message that names a later key than the known ones has the documents of its author read at once, over mutual TLS. So a
  rotation refuses nothing, although no other document of the author changed.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.federation.identity import FederationOff
from hansa_verify import NotAKey, read_keys
from hansa_verify.jws import kid_named

from .errors import PeerDocumentRefused, PeerUnknown
from .reading import peer_by_id
from .records import PeerRecord
from .refreshing import refresh_peer

UNDER_WAY = timedelta(seconds=60)
"""A call between registries ends earlier, and the clocks of two registries may differ by the rest."""
PAUSE_SECONDS = 1.0
"""Between two readings of the documents of one peer that this process begins because of a key."""
NUMBER_MAX_DIGITS = 18


def keys_in_force(peer: PeerRecord) -> dict[str, bytes]:
    """The public keys under which a message of the peer counts, by their kid; none before its card was verified."""
    try:
        keys = read_keys(peer.keys)
    except NotAKey:
        return {}
    return {
        key.kid: key.public_key
        for key in keys
        if key.retired_at is None or peer.read_at - key.retired_at <= UNDER_WAY
    }


async def with_present_keys(runtime: Runtime, peer: PeerRecord, texts: Sequence[str]) -> PeerRecord:
    """The peer with the keys that these messages of it name, as far as it has published them. Never within a transaction.

    `texts` are compact JWS. Whatever keeps the documents from being read, the peer is returned as it is known.
    """
    if not _names_later_key(peer, texts):
        return peer
    return await KEY_READINGS.of(runtime).read(runtime, peer, texts)


class KeyReadings:
    """Readings of the documents of peers that this process begins because of a key: one at a time for each peer."""

    def __init__(self) -> None:
        self._turns: dict[int, asyncio.Lock] = {}
        self._ended: dict[int, float] = {}

    async def read(self, runtime: Runtime, peer: PeerRecord, texts: Sequence[str]) -> PeerRecord:
        """The peer, read anew unless another reading has found the keys meanwhile."""
        async with self._turns.setdefault(peer.id, asyncio.Lock()):
            try:
                known = await runtime.database.query(lambda tx: peer_by_id(tx, peer.id))
                if not known.is_read or not _names_later_key(known, texts) or self._is_early(peer.id):
                    return known
                try:
                    return (await refresh_peer(runtime, peer.id)).peer
                finally:
                    self._ended[peer.id] = monotonic()
            except (PeerUnknown, PeerDocumentRefused, Unavailable, FederationOff):
                return peer

    def _is_early(self, peer_id: int) -> bool:
        return monotonic() < self._ended.get(peer_id, 0.0) + PAUSE_SECONDS


KEY_READINGS: Slot[KeyReadings] = Slot(
    "federation: readings of peers because of a key", build=lambda _: KeyReadings()
)


def _names_later_key(peer: PeerRecord, texts: Sequence[str]) -> bool:
    """Return whether one of the texts names a key of the peer with a higher number than every known one."""
    numbers = {number for text in texts if (number := _number(peer, kid_named(text))) is not None}
    if not numbers:
        return False
    try:
        known = [number for key in read_keys(peer.keys) if (number := _number(peer, key.kid)) is not None]
    except NotAKey:
        return False
    return max(numbers) > max(known, default=0)


def _number(peer: PeerRecord, kid: str | None) -> int | None:
    """The number of a registry key of the peer (Specification 1, `{registry_spiffe_id}#{rotation_seq}`)."""
    author, mark, number = (kid or "").rpartition("#")
    is_key = mark and author == peer.spiffe_id and number.isascii() and number.isdigit()
    return int(number) if is_key and len(number) <= NUMBER_MAX_DIGITS else None
