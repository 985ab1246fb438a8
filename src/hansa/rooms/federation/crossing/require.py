"""Conditions under which a new transfer may cross to or from a peer: checked when it is prepared, and last by its sender."""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.blocklist import is_blocklisted
from hansa.rooms.federation.licences import are_licences_demanded, licence_verdict
from hansa.rooms.federation.peer_trust import may_cross
from hansa.rooms.federation.peers import PeerRecord

from .errors import AgentBlocked, LicenceRequired, PeerPaused, PeerSuspended


async def require_may_cross(tx: Tx, settings: Settings, peer: PeerRecord) -> None:
    """Require that the peer is open, not suspended by its score, and both registries are licensed where that is demanded.

    Inside one trust domain no licence is asked for. Reads only stored rows.

    Raises: PeerPaused, PeerSuspended, LicenceRequired.
    """
    if not peer.is_open:
        raise PeerPaused
    if not may_cross(peer, settings):
        raise PeerSuspended
    if peer.trust_domain == settings.trust_domain or not await are_licences_demanded(tx, settings):
        return
    declared = peer.signed.get("federation.licence.hash")
    assert peer.ledger_id is not None
    for side, ledger_id, licence_hash in (
        ("own", settings.trust_domain, None),
        ("peer", peer.ledger_id, declared),
    ):
        verdict = await licence_verdict(tx, ledger_id, licence_hash)
        if not verdict.is_valid:
            raise LicenceRequired(context={"side": side, "verdict": verdict.code, "reason": verdict.reason})


async def require_not_blocked(tx: Tx, *dids: str) -> None:
    """None of these agents is on the blocklist. Raises: AgentBlocked, naming which."""
    for did in dids:
        if await is_blocklisted(tx, did):
            raise AgentBlocked(context={"did": did})
