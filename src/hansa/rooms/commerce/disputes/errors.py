"""Why an act on a dispute is refused."""

from typing import ClassVar

from hansa.foundation.values.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, Refused


class DisputeUnknown(NotFound):
    """No dispute has this id, or the caller is not one of its parties."""

    code = "DISPUTE_UNKNOWN"
    sentence = "There is no dispute with this id that you may read."


class DefendantUnknown(NotFound):
    """No agent of this registry or of a direct peer has the defendant's DID."""

    code = "DEFENDANT_UNKNOWN"
    sentence = "No agent of this registry or of a direct peer has the DID of the defendant."


class PaymentUnknown(NotFound):
    """No payment of the complainant has this id."""

    code = "PAYMENT_UNKNOWN"
    sentence = "There is no payment with this id in which you took part."


class SelfDispute(BadRequest):
    """Complainant and defendant are the same agent."""

    code = "OWN_DISPUTE"
    sentence = "An agent cannot file a dispute against itself."


class NotAParty(Invalid):
    """The defendant took no part in the payment."""

    code = "DEFENDANT_NOT_A_PARTY"
    sentence = "The defendant is not the other party of this payment."


class PayerOnly(Forbidden):
    """The payee of a plain transfer gave no promise that it could be wronged about."""

    code = "PAYER_ONLY"
    sentence = "Only the payer of a plain transfer may file a dispute about it."


class DepositUncovered(Refused):
    """The complainant's liquid units do not cover the deposit."""

    status: ClassVar[int] = 402
    code = "DISPUTE_DEPOSIT_UNCOVERED"
    sentence = (
        "Your liquid units do not cover the deposit of this dispute, which returns unless it is dismissed."
    )


class NothingSubmitted(Conflict):
    """The provider of a contract disputes it before it submitted work with a digest."""

    code = "NOTHING_SUBMITTED"
    sentence = "The provider of a contract may file a dispute after it submitted work with its digest."


class PaymentNotEnded(Conflict):
    """The payment token is in use, or was never used."""

    code = "PAYMENT_NOT_ENDED"


class TooLate(Conflict):
    """The time for a dispute about this payment has passed."""

    code = "DISPUTE_TOO_LATE"
    sentence = "The time for a dispute about this payment has passed."


class DisputeExists(Conflict):
    """The complainant has filed a dispute about this payment before."""

    code = "DISPUTE_EXISTS"
    sentence = "You have already filed a dispute about this payment."


class TooManyDisputes(Conflict):
    """The agent has as many open disputes as one agent may."""

    code = "TOO_MANY_DISPUTES"
    sentence = "This agent has filed too many disputes that are not decided."


class WrongState(Conflict):
    """The dispute is not in a state in which this can be done."""

    code = "DISPUTE_WRONG_STATE"


class EvidenceClosed(Conflict):
    """The time for evidence has ended."""

    code = "EVIDENCE_CLOSED"
    sentence = "The time for evidence in this dispute has ended."


class TooMuchEvidence(Conflict):
    """The party has added as much evidence as it may."""

    code = "TOO_MUCH_EVIDENCE"
    sentence = "You have added as much evidence to this dispute as one party may."


class CitedUnknown(Invalid):
    """A cited attestation does not exist."""

    code = "ATTESTATION_UNKNOWN"
    sentence = "`attestation_ids` names an attestation that this registry does not have."
    remedy = "Submit the proof by POST /attestations/submit, then cite the id that it was given."


class AttestationsTooMany(Conflict):
    """The party has cited as many attestations as it may."""

    code = "TOO_MANY_ATTESTATIONS"
    sentence = "One party cites up to 20 attestations in a dispute."


class RulingTooLate(Conflict):
    """There was no ruling in time: the dispute is being dismissed."""

    code = "RULING_TOO_LATE"
    sentence = "The time for a ruling has passed; the dispute is dismissed."


class RulingDiffers(Conflict):
    """The dispute was decided otherwise before."""

    code = "RULING_DIFFERS"
    sentence = "This dispute was already decided, with another outcome."


class RulingInvalid(Invalid):
    """The amounts of a ruling do not fit the dispute."""

    code = "RULING_INVALID"


class ReasonMissing(Invalid):
    """The ruling differs from what the facts come to, and does not say why."""

    code = "RULING_NEEDS_NOTE"
    sentence = "The facts decide this dispute otherwise; say in `note` why the ruling differs."


class AwardDecided(Conflict):
    """The ruling ordered no award, or it was decided before."""

    code = "AWARD_DECIDED"
    sentence = "No award of this dispute waits for a decision."


class SecondAdministratorNeeded(Forbidden):
    """The administrator who ruled does not decide the award of the ruling."""

    code = "SECOND_ADMINISTRATOR_NEEDED"
    sentence = "You ruled on this dispute: another administrator of the treasury decides its award."


class AgentHasDisputes(Conflict):
    """An open dispute about a payment binds the agent; it cannot end before it is decided."""

    code = "AGENT_HAS_DISPUTES"
    sentence = "An open dispute about a payment binds this agent; it can end after the decision."
