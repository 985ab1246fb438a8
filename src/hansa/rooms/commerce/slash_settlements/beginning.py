"""A dispute was decided against an agent of a peer: its registry is asked to slash, from the commit of the ruling on.

The end of the settlements with a peer that is deleted.
"""

from fractions import Fraction

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation, journal, transfers

from . import settlement, store
from . import settlement as protocol
from .inbox import compensation_refused
from .settlement import Claim, Direction, Status


class RuledAbroad(msgspec.Struct, frozen=True):
    """Ruling for a complainant here against an agent of a peer; minor units.

    `rate`: own units for one of the peer's, at the ruling.
    """

    claim: Claim
    compensation: int
    rate: Fraction
    payment: str | None


async def peer_of_party(tx: Tx, did: str, settings: Settings) -> federation.PeerRecord | None:
    """The direct peer whose agent this is; None where there is none."""
    peer = await transfers.peer_of(tx, did, settings)
    return None if peer is None or peer.spiffe_id is None or peer.ledger_id is None else peer


async def begin(tx: Tx, peer: federation.PeerRecord, ruled: RuledAbroad) -> None:
    """Open the settlement."""
    assert peer.spiffe_id is not None
    assert peer.ledger_id is not None
    timestamp = await clock.seconds(tx)
    new = settlement.opened(ruled.claim, ruled.compensation, timestamp, ruled.rate, ruled.payment)
    await store.add(tx, peer.spiffe_id, peer.ledger_id, new, None, is_due=True)


async def end_with(tx: Tx, peer: str) -> None:
    """End every settlement with the peer of this SPIFFE id, whose pair is locked."""
    for stored in await store.lock_open(tx, peer):
        after = protocol.on_abandon(stored.settlement)
        await store.write(tx, stored.settlement_id, after)
        if after.direction is Direction.AWARDED and stored.settlement.status is Status.SLASHED:
            await journal.append(tx, compensation_refused(stored, after))
