"""How a slash across registries is settled, without I/O: (state, message, now) -> state. Service and simulator run it.

- The registry of the complainant rules and asks; the registry of the defendant alone decides whether units are destroyed.
- PENDING_SLASH -> SLASHING -> SLASHED -> SETTLED. Rejected, or nothing to destroy: FAILED. No decision in 24 hours: EXPIRED.
- Where the dispute was decided and slashed at the defendant's registry, that of a foreign complainant is sent the award: SLASHED there,
  SETTLED once the units are issued here, or FAILED. Nothing is asked and nothing expires.
- The asking side shows EXPIRED after 24 hours as well, until a signed outcome says otherwise; only a signed SLASHED mints,
  also after a signed FAILED or EXPIRED (decision 0109).
"""

import hashlib
from enum import StrEnum
from fractions import Fraction

import msgspec
from msgspec.structs import replace

EXPIRY_SECONDS = 24 * 3600.0
SAME_UNIT = Fraction(1)
NO_FUNDS = "NO_FUNDS"
COMPENSATION_REFUSED = "COMPENSATION_REFUSED"
"""Why an award failed, where the peer states no reason."""
PAID_BY_ANOTHER_AWARD = "PAID_BY_ANOTHER_AWARD"
"""Why an award is refused: the complainant was compensated by an earlier one, which cannot be shown to its author."""
PEER_ABANDONED = "PEER_ABANDONED"
"""An administrator ended what was under way with the peer."""


class Direction(StrEnum):
    """Direction of a settlement: the registry that decided, and the one that slashed.

    `incoming`: decided there, the defendant is an agent here. `outgoing`: decided here, the defendant is an agent there.
    `awarded`: decided and slashed here, the complainant is an agent there. `owed`: decided and slashed there, the
    complainant is an agent here.
    """

    INCOMING = "incoming"
    OUTGOING = "outgoing"
    AWARDED = "awarded"
    OWED = "owed"


class Status(StrEnum):
    """Status of a settlement (Specification 2, "Federation slash settlement")."""

    PENDING_SLASH = "PENDING_SLASH"
    SLASHING = "SLASHING"
    SLASHED = "SLASHED"
    SETTLED = "SETTLED"
    FAILED = "FAILED"
    EXPIRED = "EXPIRED"


SLASHED_STATES = frozenset({Status.SLASHED, Status.SETTLED})
DECIDED = frozenset({Status.SLASHED, Status.SETTLED, Status.FAILED, Status.EXPIRED})


class Claim(msgspec.Struct, frozen=True):
    """Claim for a slash; one for each (peer, dispute). `amount` is in minor units of the defendant's registry."""

    dispute_id: int
    defendant_did: str
    complainant_did: str
    amount: int
    currency: str

    def is_again(self, other: "Claim") -> bool:
        """Return whether both are of one dispute between the same parties: a ruling that a restore lost may be made with another amount."""
        return replace(other, amount=self.amount) == self


class Outcome(msgspec.Struct, frozen=True):
    """Outcome of a claim, as the registry of the defendant states it."""

    claim: Claim
    status: Status
    slashed: int = 0
    tx_id: str | None = None
    reason: str | None = None


class Award(msgspec.Struct, frozen=True):
    """Award: the request of a registry that decided and slashed to that of the complainant to issue units; minor units."""

    slashed: int
    compensation: int
    tx_id: str | None = None
    payment: str | None = None
    """The name of the payment at the registry that ruled; None where it states none."""

    def is_same(self, other: "Award") -> bool:
        """Return whether both issue as much for as much of one payment."""
        return replace(other, tx_id=self.tx_id) == self


class Receipt(msgspec.Struct, frozen=True):
    """Receipt of a registry for an outcome or an award of this one; `reason` says why it refused an award.

    `award`: the award that is meant; None for an outcome, and where the author names none.
    """

    claim: Claim
    status: Status
    reason: str | None = None
    award: Award | None = None


class Settlement(msgspec.Struct, frozen=True):
    """One side's state. `is_closed`: each side knows that the other knows the outcome. Nothing is sent then, but after a restore.

    `slashed` of one that is SLASHING: the units destroyed before a restore, the most that is destroyed again; else 0.
    `rate`: units of the registry that ruled for one of the defendant's, at the ruling.
    """

    claim: Claim
    direction: Direction
    status: Status
    expires_at: float
    is_auto_approved: bool = False
    slashed: int = 0
    compensation: int = 0
    peer_tx_id: str | None = None
    reason: str | None = None
    is_closed: bool = False
    rate: Fraction = SAME_UNIT
    payment: str | None = None
    """The name of the payment at the registry that ruled; None where it stated none."""

    @property
    def outcome(self) -> Outcome:
        """Present outcome, as the registry of the defendant states it."""
        return Outcome(self.claim, self.status, self.slashed, self.peer_tx_id, self.reason)

    @property
    def award(self) -> Award:
        """Award that the registry of the complainant is asked to issue."""
        return Award(self.slashed, self.compensation, self.peer_tx_id, self.payment)


def opened(
    claim: Claim, compensation: int, now: float, rate: Fraction = SAME_UNIT, payment: str | None = None
) -> Settlement:
    """The dispute was decided here: the registry of the defendant is asked."""
    return Settlement(
        claim,
        Direction.OUTGOING,
        Status.PENDING_SLASH,
        now + EXPIRY_SECONDS,
        compensation=compensation,
        rate=rate,
        payment=payment,
    )


def awarded(
    claim: Claim, slashed: int, compensation: int, now: float, payment: str | None = None
) -> Settlement:
    """Units of a defendant here were destroyed for a complainant of a peer, whose registry issues the compensation."""
    return Settlement(
        claim,
        Direction.AWARDED,
        Status.SLASHED,
        now + EXPIRY_SECONDS,
        slashed=slashed,
        compensation=min(compensation, slashed),
        payment=payment,
    )


def compensated(claim: Claim, award: "Award", refusal: str | None, now: float) -> Settlement:
    """Settlement of an award of a peer to an agent here: issued in the same commit, or refused for good."""
    return Settlement(
        claim,
        Direction.OWED,
        Status.FAILED if refusal else Status.SETTLED,
        now + EXPIRY_SECONDS,
        slashed=0 if refusal else award.slashed,
        compensation=0 if refusal else award.compensation,
        peer_tx_id=award.tx_id,
        reason=refusal,
        is_closed=True,
        payment=award.payment,
    )


def is_other_award(paid: Settlement, claim: Claim, award: Award) -> bool:
    """Return whether an award about a payment is not the one by which it was compensated: the registry that ruled has lost that one."""
    return (paid.claim, paid.slashed, paid.compensation) != (claim, award.slashed, award.compensation)


def is_sent(known: Settlement, claim: Claim, paid: Award) -> bool:
    """Return whether the award that the peer shows is the one that it is sent, and whose receipt is still awaited."""
    return known.status is Status.SLASHED and not is_other_award(known, claim, paid)


def left_to_destroy(known: Settlement | None, paid: Award) -> int:
    """Return the units to destroy for an award that the peer has paid and shows; `known`: the settlement recorded here of that payment."""
    if known is None:
        return paid.slashed
    return 0 if known.status is Status.SETTLED else max(paid.slashed - known.slashed, 0)


def after_payment(new: Settlement, paid: Award, destroyed: int) -> Settlement:
    """Settlement after the peer has shown an award that it paid. `new`: the record of that payment here, or nothing slashed yet.

    It stays open while less was destroyed than was issued for it.
    """
    slashed = new.slashed + destroyed
    claim = replace(new.claim, amount=max(new.claim.amount, slashed))
    if slashed < paid.compensation:
        return replace(
            new, claim=claim, status=Status.FAILED, slashed=slashed, reason=NO_FUNDS, is_closed=True
        )
    return replace(
        new,
        claim=claim,
        status=Status.SETTLED,
        slashed=slashed,
        compensation=paid.compensation,
        reason=None,
        is_closed=True,
    )


def claimed(
    claim: Claim, refusal: str | None, now: float, *, is_auto: bool, payment: str | None = None
) -> Settlement:
    """The first request of a peer: refused at once, approved within the bounds, or held for an administrator."""
    status = Status.FAILED if refusal else Status.SLASHING if is_auto else Status.PENDING_SLASH
    approved = is_auto and refusal is None
    return Settlement(
        claim,
        Direction.INCOMING,
        status,
        now + EXPIRY_SECONDS,
        is_auto_approved=approved,
        reason=refusal,
        payment=payment,
    )


def decided_before(claim: Claim, known: Settlement | None, shown: Outcome, now: float) -> Settlement | None:
    """Restore a decision of this registry about a claim that a restore lost and the peer shows; None where that changes nothing.

    Units were destroyed: they are destroyed again, as many at most. Units destroyed since are not restored by another outcome.
    """
    if known is not None and known.status not in {Status.PENDING_SLASH, Status.FAILED, Status.EXPIRED}:
        return None
    new = known or claimed(claim, None, now, is_auto=False)
    if shown.status in SLASHED_STATES:
        return replace(new, status=Status.SLASHING, slashed=shown.slashed, reason=None, is_closed=False)
    if shown.status in DECIDED and new.status is Status.PENDING_SLASH:
        return replace(new, status=shown.status, reason=shown.reason)
    return None


def agrees(settlement: Settlement, outcome: Outcome) -> bool:
    """Return whether the defendant's registry states the same as this one has recorded for good: that units were destroyed, or not."""
    if (
        not settlement.is_closed
        or not settlement.claim.is_again(outcome.claim)
        or outcome.status not in DECIDED
    ):
        return False
    return (settlement.status is Status.SETTLED) == (outcome.status in SLASHED_STATES)


def is_uncollected(settlement: Settlement, outcome: Outcome) -> bool:
    """Return whether units compensated here could not be destroyed again after a restore there: the defendant has nothing left."""
    is_settled = settlement.is_closed and settlement.status is Status.SETTLED
    return is_settled and settlement.claim.is_again(outcome.claim) and outcome.status is Status.FAILED


def may_be_decided(settlement: Settlement, now: float) -> bool:
    """Return whether an administrator of the defendant's registry may approve or reject."""
    is_pending = settlement.status is Status.PENDING_SLASH and now < settlement.expires_at
    return settlement.direction is Direction.INCOMING and is_pending


def approved(settlement: Settlement) -> Settlement:
    """The slash is applied next."""
    return replace(settlement, status=Status.SLASHING)


def rejected(settlement: Settlement, reason: str) -> Settlement:
    """An administrator refused."""
    return replace(settlement, status=Status.FAILED, reason=reason)


def applied(settlement: Settlement, slashed: int) -> Settlement:
    """So much was destroyed; nothing at all is a failure."""
    if slashed == 0:
        return replace(settlement, status=Status.FAILED, slashed=0, reason=NO_FUNDS)
    return replace(settlement, status=Status.SLASHED, slashed=slashed)


def on_time(settlement: Settlement, now: float) -> Settlement:
    """24 hours without a decision end an incoming settlement, and are shown of an outgoing one, also of one that was approved there."""
    is_open = settlement.status is Status.PENDING_SLASH or is_approved_there(settlement)
    if not is_open or now < settlement.expires_at:
        return settlement
    return replace(settlement, status=Status.EXPIRED, reason="EXPIRED")


def is_approved_there(settlement: Settlement) -> bool:
    """Return whether the peer is applying the slash that was asked of it."""
    return settlement.direction is Direction.OUTGOING and settlement.status is Status.SLASHING


def on_abandon(settlement: Settlement) -> Settlement:
    """End the exchange with the peer for an administrator. Destroyed units stay so; a signed slash that is shown later counts."""
    if settlement.direction is Direction.INCOMING and settlement.status is Status.SLASHED:
        return replace(settlement, status=Status.SETTLED, is_closed=True)
    if settlement.status in {Status.PENDING_SLASH, Status.SLASHING, Status.SLASHED}:
        return replace(settlement, status=Status.FAILED, reason=PEER_ABANDONED, is_closed=True)
    return replace(settlement, is_closed=True)


def is_of(receipt: Receipt, settlement: Settlement) -> bool:
    """Return whether a receipt is for this settlement. That of an award names the award: an earlier one of the dispute may have been lost."""
    if settlement.direction is Direction.INCOMING:
        return settlement.claim.is_again(receipt.claim)
    is_of_award = receipt.award is None or receipt.award.is_same(settlement.award)
    return is_of_award and settlement.claim == receipt.claim


def acknowledged(settlement: Settlement, receipt: Receipt) -> Settlement:
    """Apply a receipt: the peer has the outcome. An award that it refused fails for its reason; destroyed units stay destroyed."""
    if settlement.direction is Direction.AWARDED and receipt.status is Status.FAILED:
        reason = receipt.reason or COMPENSATION_REFUSED
        return replace(settlement, status=Status.FAILED, reason=reason, is_closed=True)
    status = Status.SETTLED if settlement.status is Status.SLASHED else settlement.status
    return replace(settlement, status=status, is_closed=True)


def digest_of(settlement: Settlement) -> str:
    """Names a settlement with everything that it moved, for the chain of the pair."""
    claim = settlement.claim
    named = (settlement.direction, str(claim.dispute_id), claim.defendant_did, claim.complainant_did)
    amounts = (str(claim.amount), claim.currency, str(settlement.slashed), str(settlement.compensation))
    return hashlib.sha256("\n".join((*named, *amounts)).encode()).hexdigest()


def on_outcome(settlement: Settlement, outcome: Outcome) -> Settlement:
    """Apply the statement of the defendant's registry, at the asking side. A signed slash is final, and corrects a failure or an expiry.

    Units that were destroyed are compensated, whatever else was signed: the registry may have refused before it was restored.
    """
    if not settlement.claim.is_again(outcome.claim) or settlement.direction is Direction.INCOMING:
        return settlement
    is_final = settlement.status is Status.SETTLED or outcome.status not in SLASHED_STATES
    if settlement.is_closed and is_final:
        return settlement
    if outcome.status not in DECIDED:
        is_later = outcome.status is Status.SLASHING and settlement.status is Status.PENDING_SLASH
        return replace(settlement, status=outcome.status) if is_later else settlement
    if outcome.status in {Status.FAILED, Status.EXPIRED}:
        return replace(settlement, status=outcome.status, reason=outcome.reason, is_closed=True)
    if not 0 < outcome.slashed <= outcome.claim.amount:
        return settlement
    return replace(
        settlement,
        status=Status.SETTLED,
        slashed=min(outcome.slashed, settlement.claim.amount),
        peer_tx_id=outcome.tx_id,
        reason=None,
        is_closed=True,
    )


def owed(settlement: Settlement) -> int:
    """Return the units to issue to the complainant: as ruled, and at most the worth of the destroyed units at the ruling."""
    is_settled = settlement.direction is Direction.OUTGOING and settlement.status is Status.SETTLED
    return min(settlement.compensation, worth(settlement.slashed, settlement.rate)) if is_settled else 0


def worth(amount: int, rate: Fraction) -> int:
    """Units of the defendant's registry in units of the one that ruled, rounded down."""
    return amount * rate.numerator // rate.denominator
