"""A party adds evidence, as long as the dispute is open."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.rooms import journal

from . import recorded, rules, store
from .dispute import Dispute, Piece
from .errors import TooMuchEvidence
from .moves import take
from .reading import with_evidence


async def add_evidence(tx: Tx, agent: Agent, dispute_id: int, piece: Piece) -> Dispute:
    """Add a piece of evidence. Raises: DisputeUnknown, EvidenceClosed, TooMuchEvidence."""
    dispute, _ = await take(tx, dispute_id)
    rules.require_seen(dispute, agent.did)
    rules.require_evidence_open(dispute)
    given = [one.piece for one in (await with_evidence(tx, dispute)).evidence if one.by == agent.did]
    if not rules.has_room_for(given, piece):
        raise TooMuchEvidence
    await store.add_evidence(tx, dispute.id, agent.did, [piece])
    await journal.append(tx, recorded.evidence_added(dispute, agent.did))
    return await with_evidence(tx, dispute)
