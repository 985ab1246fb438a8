"""Disputes: the complaints, and the registry's answers."""

from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Self

from .record import Record


class Evidence(Record, frozen=True):
    """Address of the evidence, and its SHA-256 in hexadecimal digits; the registry stores no files."""

    sha256: str
    uri: str | None = None
    note: str | None = None
    attestation_ids: tuple[str, ...] = ()

    @classmethod
    def of_note(cls, note: str, *, uri: str | None = None) -> Self:
        """A text that is the evidence itself, such as a delivery receipt or a signed quote as a compact JWS."""
        return cls(sha256=sha256(note.encode()).hexdigest(), uri=uri, note=note)


class Citation(Record, frozen=True):
    """Attestations of the registry that a party cites as evidence, without a piece of evidence beside them."""

    attestation_ids: tuple[str, ...]


class Complaint(Record, frozen=True):
    """A dispute to be filed. At most one of `contract_id`, `token_id` and `transaction_id` names the payment.

    `reason_code` is `UNFAIR_FEE`, `SERVICE_NOT_DELIVERED`, `POOR_QUALITY`, `CONTRACT_VIOLATION` or `OTHER`. Without
    `claimed_amount` all of the payment is claimed.
    """

    defendant_did: str
    reason_code: str
    description: str
    contract_id: int | None = None
    token_id: str | None = None
    transaction_id: str | None = None
    claimed_amount: Decimal | None = None
    attestation_ids: tuple[str, ...] = ()


class Ruling(Record, frozen=True):
    """Ruling of an administrator.

    `ruling` is `IN_FAVOR_OF_COMPLAINANT`, `IN_FAVOR_OF_DEFENDANT` or `DISMISSED`. `slash_amount` is destroyed from the
    defendant's bond and balance, `compensation_amount` is issued to the complainant. A ruling that differs from the
    proposal needs a `note`.
    """

    ruling: str
    compensation_amount: Decimal | None = None
    slash_amount: Decimal | None = None
    note: str | None = None


class DeclaredEvidence(Record, frozen=True):
    """A piece of evidence, by whom and when."""

    by: str
    uri: str | None
    sha256: str
    note: str | None
    at: datetime


class Dispute(Record, frozen=True):
    """A dispute. `status` is `OPEN`, `VOTING` or `CLOSED`; `bound` is the most that a ruling destroys.

    `paid` and `held` are the units of the payment at the filing, the most that rulings compensate; None without a payment.
    `slash_reduction` is the part of `slash_requested` that attestations of the defendant took. `award_amount` is the part of a compensation that the slash does not cover, which a second administrator decides.
    """

    id: int
    complainant_did: str
    defendant_did: str
    contract_id: int | None
    token_id: str | None
    transaction_id: str | None
    is_malpractice: bool
    reason_code: str
    description: str
    claimed_amount: Decimal | None
    bound: Decimal | None
    status: str
    ruling: str | None
    compensation_amount: Decimal
    slash_requested: Decimal
    slash_applied: Decimal
    note: str | None
    evidence: list[DeclaredEvidence]
    attestation_ids: list[str]
    opened_at: datetime
    evidence_until: datetime
    rule_by: datetime
    voting_at: datetime | None
    closed_at: datetime | None
    paid: Decimal | None = None
    held: Decimal | None = None
    deposit: Decimal = Decimal(0)
    award_amount: Decimal = Decimal(0)
    award_status: str | None = None
    slash_reduction: Decimal = Decimal(0)


class MalpracticeRecord(Record, frozen=True):
    """The dispute that a malpractice record opened."""

    dispute_id: int
    status: str
