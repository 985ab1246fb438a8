"""Shapes of disputes and of awards. Amounts are decimal strings."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import (
    ZERO,
    Amount,
    Minor,
    PositiveAmount,
    format_amount,
    parse_amount,
    parse_positive,
)
from hansa.foundation.values.request_body import RequestBody
from hansa_verify import Proposal

from .dispute import (
    AwardStatus,
    Complaint,
    Decision,
    Dispute,
    DisputeStatus,
    Evidence,
    Given,
    Piece,
    ReasonCode,
    Ruling,
)
from .filing import Malpractice
from .rules import ATTESTATIONS_MAX, bound_of

TEXT_MAX_CHARACTERS = 2000
URI_MAX_CHARACTERS = 2048
PIECES_MAX = 20
BIGINT_MAX = 2**63 - 1
Did = Annotated[str, Field(min_length=10, max_length=DID_MAX_CHARACTERS, pattern=r"^did:[a-z0-9]+:\S+$")]
ContractId = Annotated[int, Field(strict=True, ge=1, le=BIGINT_MAX)]
TransactionId = Annotated[str, Field(pattern=r"^tx-[0-9]{1,18}$", examples=["tx-42"])]
Text = Annotated[str, Field(min_length=1, max_length=TEXT_MAX_CHARACTERS, pattern=r"\S")]
AttestationId = Annotated[str, Field(min_length=1, max_length=128)]
REASON_MAX_CHARACTERS = 500


class PieceIn(RequestBody):
    """Where the evidence is, and its digest; the registry stores no files."""

    uri: Annotated[str | None, Field(max_length=URI_MAX_CHARACTERS)] = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    note: Annotated[str | None, Field(max_length=TEXT_MAX_CHARACTERS)] = None

    def piece(self) -> Piece:
        """The evidence that this request adds."""
        return Piece(self.sha256, self.uri, self.note)


class EvidenceIn(RequestBody):
    """A piece of evidence by its digest, attestations, or both; the registry stores no files."""

    uri: Annotated[str | None, Field(max_length=URI_MAX_CHARACTERS)] = None
    sha256: Annotated[str | None, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        default=None, description="Digest of the evidence; absent where attestations alone are cited."
    )
    note: Annotated[str | None, Field(max_length=TEXT_MAX_CHARACTERS)] = None
    attestation_ids: list[AttestationId] = Field(
        default=[],
        max_length=ATTESTATIONS_MAX,
        description="Attestations of this registry that the party cites, its own or those of others.",
    )

    @model_validator(mode="after")
    def _has_evidence(self) -> "EvidenceIn":
        if self.sha256 is None and (
            not self.attestation_ids or self.uri is not None or self.note is not None
        ):
            raise ValueError("give sha256, with uri and note where there are any, or attestation_ids alone")
        return self

    def given(self) -> Given:
        """The evidence that this request adds."""
        piece = None if self.sha256 is None else Piece(self.sha256, self.uri, self.note)
        return Given(piece, tuple(dict.fromkeys(self.attestation_ids)))


class DisputeIn(RequestBody):
    """A complaint. At most one of contract_id, token_id and transaction_id names the payment that it is about."""

    defendant_did: Did
    reason_code: ReasonCode
    description: Text
    contract_id: ContractId | None = None
    token_id: UUID | None = None
    transaction_id: TransactionId | None = None
    claimed_amount: PositiveAmount | None = Field(
        default=None, description="Bounds what a ruling gives; absent: the amount of the payment."
    )
    attestation_ids: list[AttestationId] = Field(
        default=[],
        max_length=ATTESTATIONS_MAX,
        description="Attestations of this registry that the complaint cites.",
    )

    @model_validator(mode="after")
    def _has_one_subject(self) -> "DisputeIn":
        given = (self.contract_id, self.token_id, self.transaction_id)
        if sum(one is not None for one in given) > 1:
            raise ValueError("contract_id, token_id and transaction_id: give at most one of them")
        return self

    def filed_by(self, complainant: str) -> Complaint:
        """The complaint that this request files when `complainant` sends it."""
        return Complaint(
            complainant,
            self.defendant_did,
            self.reason_code,
            self.description,
            contract_id=self.contract_id,
            token_id=self.token_id,
            tx_id=None if self.transaction_id is None else int(self.transaction_id.removeprefix("tx-")),
            claimed_amount=None if self.claimed_amount is None else parse_positive(self.claimed_amount),
            attestation_ids=tuple(dict.fromkeys(self.attestation_ids)),
        )


class MalpracticeIn(RequestBody):
    """Malpractice of the other party of a contract. The evidence is a text, or digests of what shows it."""

    contract_id: ContractId
    evidence: Text | PieceIn | Annotated[list[PieceIn], Field(min_length=1, max_length=PIECES_MAX)]
    claimed_damages: PositiveAmount | None = None

    def record(self) -> Malpractice:
        """The record that this request files."""
        given = self.evidence if isinstance(self.evidence, list) else [self.evidence]
        claimed = None if self.claimed_damages is None else parse_positive(self.claimed_damages)
        return Malpractice(
            self.contract_id,
            next((one for one in given if isinstance(one, str)), "Malpractice."),
            tuple(one.piece() for one in given if isinstance(one, PieceIn)),
            claimed,
        )


class RulingIn(RequestBody):
    """What an administrator rules."""

    ruling: Ruling
    compensation_amount: Amount | None = Field(
        default=None, description="Issued to the complainant, beside what the hold of a contract gives it."
    )
    slash_amount: Amount | None = Field(
        default=None, description="Destroyed from the defendant's bond, then from its liquid balance."
    )
    note: Text | None = None

    def decision(self) -> Decision:
        """The decision that this request states."""
        return Decision(
            self.ruling, _amount_of(self.compensation_amount), _amount_of(self.slash_amount), self.note
        )


class EvidenceOut(LazyModel):
    """A piece of evidence, and by whom."""

    by: str
    uri: str | None
    sha256: str
    note: str | None
    at: datetime

    @classmethod
    def of(cls, evidence: Evidence) -> "EvidenceOut":
        """The form of a piece of evidence."""
        piece = evidence.piece
        return cls(by=evidence.by, uri=piece.uri, sha256=piece.sha256, note=piece.note, at=evidence.at)


class MalpracticeOut(LazyModel):
    """The dispute that a malpractice record opened."""

    dispute_id: int
    status: Literal["PENDING_REVIEW"] = "PENDING_REVIEW"

    @classmethod
    def of(cls, dispute: Dispute) -> "MalpracticeOut":
        """The answer to a record."""
        return cls(dispute_id=dispute.id)


class ProposalOut(LazyModel):
    """What the facts come to; without a ruling they decide nothing."""

    ruling: Ruling | None
    rule: str
    why: str

    @classmethod
    def of(cls, proposal: Proposal) -> "ProposalOut":
        """The form of a proposal."""
        return cls(
            ruling=None if proposal.ruling is None else Ruling(proposal.ruling),
            rule=proposal.rule,
            why=proposal.why,
        )


class ShownProposalOut(ProposalOut):
    """A proposed ruling with the units that it decides about."""

    paid: str | None = Field(
        description="Units that the payer had paid when the dispute was filed; null without a payment."
    )
    held: str | None = Field(
        description="Units that a hold kept when the dispute was filed; null without a payment."
    )

    @classmethod
    def about(cls, dispute: Dispute, proposal: Proposal) -> "ShownProposalOut":
        """The form of a proposal for a ruling on this dispute."""
        return cls(
            **ProposalOut.of(proposal).model_dump(),
            paid=_text_of(dispute.paid_amount),
            held=_text_of(dispute.held_amount),
        )


class DisputeOut(LazyModel):
    """A dispute."""

    id: int
    complainant_did: str
    defendant_did: str
    contract_id: int | None
    token_id: UUID | None
    transaction_id: str | None
    is_malpractice: bool
    reason_code: ReasonCode
    description: str
    claimed_amount: str | None
    bound: str | None = Field(
        description="The least of the claim and the amount that the parties agreed, the most that a ruling slashes; null"
        " without a payment."
    )
    paid: str | None = Field(
        description="Units that the payer had paid when the dispute was filed; with `held` the most that rulings compensate."
    )
    held: str | None = Field(description="Units that a hold kept for the payment when the dispute was filed.")
    deposit: str = Field(
        description="Deposit of the complainant: it returns, unless the dispute is dismissed."
    )
    status: DisputeStatus
    ruling: Ruling | None
    compensation_amount: str
    slash_requested: str
    slash_reduction: str = Field(
        description="The part of `slash_requested` that attestations of the defendant took: it is not destroyed."
    )
    slash_applied: str
    award_amount: str = Field(
        description="The part of the compensation that the slash does not cover: a second administrator decides it."
    )
    award_status: AwardStatus | None
    note: str | None
    evidence: list[EvidenceOut]
    attestation_ids: list[str]
    opened_at: datetime
    evidence_until: datetime
    rule_by: datetime = Field(description="Without a ruling until then the dispute is dismissed.")
    voting_at: datetime | None
    closed_at: datetime | None
    proposal: ShownProposalOut | None = Field(
        default=None, description="For administrators who read one dispute: the ruling that its facts give."
    )

    @classmethod
    def of(cls, dispute: Dispute, proposal: Proposal | None = None) -> "DisputeOut":
        """The form of a dispute."""
        shared: dict[str, Any] = {
            name: getattr(dispute, name) for name in cls.model_fields if name not in _DERIVED
        }
        return cls(
            **shared,
            transaction_id=None if dispute.tx_id is None else f"tx-{dispute.tx_id}",
            claimed_amount=_text_of(dispute.claimed_amount),
            bound=_text_of(bound_of(dispute)),
            paid=_text_of(dispute.paid_amount),
            held=_text_of(dispute.held_amount),
            deposit=format_amount(dispute.deposit_amount),
            compensation_amount=format_amount(dispute.compensation_amount),
            slash_requested=format_amount(dispute.slash_requested),
            slash_reduction=format_amount(dispute.slash_reduction),
            slash_applied=format_amount(dispute.slash_applied),
            award_amount=format_amount(dispute.award_amount),
            evidence=[EvidenceOut.of(one) for one in dispute.evidence],
            attestation_ids=list(dispute.attestation_ids),
            proposal=None if proposal is None else ShownProposalOut.about(dispute, proposal),
        )


class BundleOut(LazyModel):
    """The facts of a dispute with the registry's signature over the canonical form of all other members."""

    kind: Literal["dispute.bundle.v1"]
    rules: int
    registry: str
    currency: str
    dispute: dict[str, Any]
    contract: dict[str, Any] | None
    token: dict[str, Any] | None
    offer: dict[str, Any] | None = Field(
        description="What the card of the paid agent said when the contract was proposed or the token authorized."
    )
    same_work: list[dict[str, Any]]
    payments: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    attestations: list[dict[str, Any]] = Field(
        description="Attestations that the parties cite, as they were at the ruling, or are now where there is none."
    )
    slash: dict[str, Any] | None = Field(
        description="The reduction of the slash that follows from them, which anybody computes again; null where none is cited."
    )
    keys: dict[str, Any]
    proposal: ProposalOut
    signatures: list[dict[str, str]]


_DERIVED = {
    "transaction_id",
    "claimed_amount",
    "bound",
    "paid",
    "held",
    "deposit",
    "compensation_amount",
    "slash_requested",
    "slash_reduction",
    "slash_applied",
    "award_amount",
    "evidence",
    "attestation_ids",
    "proposal",
}


def _amount_of(text: str | None) -> Minor:
    return ZERO if text is None else parse_amount(text)


def _text_of(amount: Minor | None) -> str | None:
    return None if amount is None else format_amount(amount)


class AwardReasonIn(RequestBody):
    """Reason for which an award is rejected; stored in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS, pattern=r"\S")]


class AwardOut(LazyModel):
    """The part of a compensation that no slash covers. Another administrator than that of the ruling decides."""

    dispute_id: int
    complainant_did: str
    defendant_did: str
    paid: str | None = Field(description="Units that the payer had paid when the dispute was filed.")
    compensation_amount: str = Field(description="Compensation that the ruling ordered.")
    slash_applied: str = Field(description="Units that the ruling destroyed; as many were issued with it.")
    amount: str = Field(description="Units that wait for the decision, or waited for it.")
    status: AwardStatus
    note: str | None = Field(description="Note of the ruling.")
    ruled_by: int = Field(description="Developer id of the administrator who ruled.")
    ruled_at: datetime
    decided_by: int | None
    decided_at: datetime | None
    reason: str | None = Field(description="Reason of a rejection.")

    @classmethod
    def of(cls, dispute: Dispute) -> "AwardOut":
        """The form of the award of a dispute."""
        assert dispute.award_status is not None
        assert dispute.ruled_by is not None
        assert dispute.closed_at is not None
        return cls(
            dispute_id=dispute.id,
            complainant_did=dispute.complainant_did,
            defendant_did=dispute.defendant_did,
            paid=None if dispute.paid_amount is None else format_amount(Minor(dispute.paid_amount)),
            compensation_amount=format_amount(dispute.compensation_amount),
            slash_applied=format_amount(dispute.slash_applied),
            amount=format_amount(dispute.award_amount),
            status=dispute.award_status,
            note=dispute.note,
            ruled_by=dispute.ruled_by,
            ruled_at=dispute.closed_at,
            decided_by=dispute.award_decided_by,
            decided_at=dispute.award_decided_at,
            reason=dispute.award_reason,
        )
