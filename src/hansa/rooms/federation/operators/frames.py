"""The frame of this operator registry among its peers."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.federation.peers import PeerRecord, PeerUnknown, peer_by_name


async def own_frame(tx: Tx, settings: Settings) -> PeerRecord | None:
    """The frame of this operator registry; None at a frame, and before its card was verified."""
    if not settings.is_operator:
        return None
    try:
        # A ledger id goes before a name: of this trust domain only the frame has it as its own.
        found = await peer_by_name(tx, settings.trust_domain)
    except PeerUnknown:
        return None
    return found if found.ledger_id == settings.trust_domain and found.is_member else None
