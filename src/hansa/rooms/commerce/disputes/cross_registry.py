"""A ruling between agents of two registries.

Against an agent of another one: its registry is asked to slash, and the compensation follows its confirmation. For a complainant of
another one: the units slashed here are awarded there, where the compensation is issued.
"""

from fractions import Fraction

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import federation, ledger, transfers
from hansa.rooms.commerce import contracts
from hansa.rooms.commerce import slash_settlements as settlements

from .dispute import Decision, Dispute
from .errors import RulingInvalid
from .rules import bound_of, names_so_far


class Abroad(msgspec.Struct, frozen=True):
    """The registry of a party that is no agent here; without a peer that registry is none any more.

    `rate`: own units for one of its units now; None where it has another currency and no pool has a rate for it.
    """

    peer: federation.PeerRecord | None
    rate: Fraction | None

    async def lock(self, tx: Tx) -> None:
        """Let awards that the registry shows as paid wait until the transaction ends."""
        if self.peer is not None and self.peer.spiffe_id is not None:
            await settlements.lock_peer(tx, self.peer.spiffe_id)

    def in_own_units(self, decision: Decision) -> Decision:
        """Return the decision with the slash at its value here, for the bounds of the dispute; unchanged without a rate."""
        if self.rate is None:
            return decision
        # Rounded up: a slash is never worth more than the bound.
        return replace(decision, slash=Minor(-settlements.worth(-decision.slash, self.rate)))


class SlashedHere(msgspec.Struct, frozen=True):
    """Units of a defendant here that a ruling destroyed for a payment; minor units, and the transaction, if there was any."""

    amount: Minor
    tx_id: int | None
    currency: str
    payment: str | None


async def abroad_of(tx: Tx, did: str, settings: Settings) -> Abroad | None:
    """Return the registry of a party; None for an agent of this registry."""
    if not await transfers.is_foreign(tx, did, settings):
        return None
    peer = await settlements.peer_of_party(tx, did, settings)
    if peer is None or peer.settlement_currency == settings.settlement_currency:
        return Abroad(peer, settlements.SAME_UNIT)
    return Abroad(peer, await transfers.rate_from(tx, peer.spiffe_id or ""))


def require_settleable(decision: Decision, abroad: Abroad, settings: Settings) -> None:
    """Require that the other registry can carry the ruling out. Raises: RulingInvalid."""
    if not decision.slash and not decision.compensation:
        return
    if abroad.peer is None:
        raise RulingInvalid(
            "The registry of the defendant is not a peer any more: nothing can be slashed or compensated."
        )
    if decision.compensation and abroad.rate is None:
        raise RulingInvalid(
            "The registry of the defendant has another currency, and no pool with it states a rate: its slash cannot be"
            " converted into a compensation.",
            field="compensation_amount",
        )
    most = decision.slash if abroad.rate is None else settlements.worth(decision.slash, abroad.rate)
    if decision.compensation > most:
        raise RulingInvalid(
            "compensation_amount is at most what slash_amount is worth here where the defendant is an agent of another"
            f" registry: {format_amount(most)} {settings.settlement_currency}.",
            field="compensation_amount",
        )


def require_awardable(decision: Decision, complainant: Abroad, settings: Settings) -> None:
    """Require that the complainant's registry can compensate for the units slashed here. Raises: RulingInvalid."""
    if not decision.compensation:
        return
    if complainant.peer is None:
        raise RulingInvalid(
            "The registry of the complainant is not a peer: it cannot compensate.",
            field="compensation_amount",
        )
    if decision.compensation > decision.slash:
        raise RulingInvalid(
            "compensation_amount is at most slash_amount where the complainant is an agent of another registry.",
            field="compensation_amount",
        )
    if complainant.peer.settlement_currency != settings.settlement_currency:
        raise RulingInvalid(
            "The registry of the complainant has another currency: it cannot compensate for a slash here.",
            field="compensation_amount",
        )


async def payment_names(tx: Tx, dispute: Dispute, contract: contracts.Contract | None) -> list[str]:
    """The names of the payment for other registries, as of now the last; the same after a restore, none without a payment across."""
    if contract is not None:
        name = f"contract:{contract.id}:{contract.created_at.isoformat()}"
        return [name] if dispute.payment is None else names_so_far(dispute.payment, name)
    paid = None if dispute.tx_id is None else await ledger.find_payment_abroad(tx, dispute.tx_id)
    return [] if paid is None else [f"transfer:{paid.transfer_id}"]


async def require_not_paid(
    tx: Tx, dispute: Dispute, decision: Decision, complainant: Abroad, payment: str | None
) -> None:
    """Require that the complainant's registry has not compensated the payment before, by an award that a restore here has lost.

    Raises: RulingInvalid.
    """
    if complainant.peer is None or complainant.peer.spiffe_id is None or payment is None:
        return
    claim = _claim(dispute, decision, "")
    paid = await settlements.paid_before(tx, complainant.peer, claim, payment)
    if paid is None:
        return
    if decision.compensation:
        raise RulingInvalid(
            f"The award of dispute {paid.claim.dispute_id} compensated this payment before this registry was restored:"
            " compensation_amount must be 0.",
            field="compensation_amount",
        )
    bound = bound_of(dispute)
    left = Minor(max((bound or 0) - paid.slashed, 0))
    if decision.slash > left:
        raise RulingInvalid(
            f"{format_amount(Minor(paid.slashed))} were slashed by the award of dispute {paid.claim.dispute_id}:"
            f" slash_amount is at most {format_amount(left)}.",
            field="slash_amount",
        )


async def award(
    tx: Tx, complainant: Abroad, dispute: Dispute, decision: Decision, slashed: SlashedHere
) -> None:
    """Let the complainant's registry compensate for the destroyed units, from the commit of the ruling on."""
    if not decision.compensation:
        return
    assert complainant.peer is not None
    claim = _claim(dispute, decision, slashed.currency)
    awarded = settlements.Awarded(
        claim, slashed.amount, decision.compensation, slashed.tx_id, slashed.payment
    )
    await settlements.begin_award(tx, complainant.peer, awarded)


async def ask_to_slash(
    tx: Tx, dispute: Dispute, decision: Decision, abroad: Abroad, payment: str | None
) -> None:
    """Open the settlement in the commit of the ruling."""
    if not decision.slash:
        return
    peer = abroad.peer
    assert peer is not None
    assert peer.settlement_currency is not None
    claim = _claim(dispute, decision, peer.settlement_currency)
    rate = abroad.rate or settlements.SAME_UNIT
    await settlements.begin(tx, peer, settlements.RuledAbroad(claim, decision.compensation, rate, payment))


def _claim(dispute: Dispute, decision: Decision, currency: str) -> settlements.Claim:
    """Claim of the ruling, in the unit of the defendant's registry."""
    return settlements.Claim(
        dispute.id, dispute.defendant_did, dispute.complainant_did, decision.slash, currency
    )
