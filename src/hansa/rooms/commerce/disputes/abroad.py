"""A ruling against an agent of another registry: its registry is asked to slash, and compensates by what it confirms."""

from dataclasses import dataclass

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import federation, transfers
from hansa.rooms.commerce import settlements

from .dispute import Decision, Dispute
from .errors import RulingInvalid


@dataclass(frozen=True)
class Abroad:
    """The registry of a defendant that is no agent here; without a peer that registry is none any more."""

    peer: federation.PeerRecord | None


async def abroad_of(tx: Tx, dispute: Dispute, settings: Settings) -> Abroad | None:
    """Where the defendant is; None for an agent of this registry."""
    if transfers.namespace_of(dispute.defendant_did) in {None, settings.issuer}:
        return None
    return Abroad(await settlements.peer_of_defendant(tx, dispute.defendant_did))


def require_settleable(decision: Decision, abroad: Abroad, settings: Settings) -> None:
    """Whether the other registry can carry the ruling out. Raises: RulingInvalid."""
    if not decision.slash and not decision.compensation:
        return
    if abroad.peer is None:
        raise RulingInvalid(
            "The registry of the defendant is not a peer any more: nothing can be slashed or compensated."
        )
    if decision.compensation > decision.slash:
        raise RulingInvalid(
            "compensation_amount is at most slash_amount where the defendant is an agent of another registry.",
            field="compensation_amount",
        )
    if decision.compensation and abroad.peer.settlement_currency != settings.settlement_currency:
        raise RulingInvalid(
            "The registry of the defendant has another currency: its slash cannot be converted into a compensation.",
            field="compensation_amount",
        )


async def ask_to_slash(tx: Tx, dispute: Dispute, decision: Decision, abroad: Abroad) -> None:
    """Open the settlement in the commit of the ruling."""
    if not decision.slash:
        return
    peer = abroad.peer
    assert peer is not None
    assert peer.settlement_currency is not None
    claim = settlements.Claim(
        dispute.id,
        dispute.defendant_did,
        dispute.complainant_did,
        decision.slash,
        peer.settlement_currency,
    )
    await settlements.begin(tx, peer, settlements.RuledAbroad(claim, decision.compensation))
