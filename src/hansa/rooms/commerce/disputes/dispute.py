"""Disputes, complaints, decisions and their states."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.contracts.contract import Contract, Status


class DisputeStatus(StrEnum):
    """Where a dispute is: evidence is added while it is OPEN, an administrator rules while it is VOTING."""

    OPEN = "OPEN"
    VOTING = "VOTING"
    CLOSED = "CLOSED"


class Ruling(StrEnum):
    """How a dispute was decided."""

    IN_FAVOR_OF_COMPLAINANT = "IN_FAVOR_OF_COMPLAINANT"
    IN_FAVOR_OF_DEFENDANT = "IN_FAVOR_OF_DEFENDANT"
    DISMISSED = "DISMISSED"


class AwardStatus(StrEnum):
    """Where the part of a compensation is that no slash covers."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


ReasonCode: TypeAlias = Literal[
    "UNFAIR_FEE", "SERVICE_NOT_DELIVERED", "POOR_QUALITY", "CONTRACT_VIOLATION", "OTHER"
]
"""What a complaint is about."""


class Piece(msgspec.Struct, frozen=True):
    """A piece of evidence as a party gives it; the registry stores no files."""

    sha256: str
    uri: str | None = None
    note: str | None = None


class Evidence(msgspec.Struct, frozen=True):
    """A piece of evidence, by whom and when."""

    dispute_id: int
    by: str
    piece: Piece
    at: datetime


class Complaint(msgspec.Struct, frozen=True):
    """Complaint of a complainant. At most one of contract, token and transaction is given."""

    complainant_did: str
    defendant_did: str
    reason_code: ReasonCode
    description: str
    contract_id: int | None = None
    token_id: UUID | None = None
    tx_id: int | None = None
    claimed_amount: Minor | None = None
    attestation_ids: tuple[str, ...] = ()
    is_malpractice: bool = False
    evidence: tuple[Piece, ...] = ()


class Funds(msgspec.Struct, frozen=True):
    """Units paid by the payer to the payee, and units held for a contract; minor units."""

    paid: Minor
    held: Minor


class Subject(msgspec.Struct, frozen=True):
    """The payment that a complaint is about. `payment` is its name, the same by whichever id it was given.

    `amount` is the amount that the parties agreed.
    """

    payment: str
    payer_did: str
    amount: Minor
    fee: Minor
    funds: Funds
    contract: Contract | None = None
    token_id: UUID | None = None
    tx_id: int | None = None


class DepositPolicy(msgspec.Struct, frozen=True):
    """Deposit of a complainant: percent of the disputed amount, and the least deposit in minor units."""

    percent: Decimal
    minimum: Minor


class Attested(msgspec.Struct, frozen=True):
    """Attestations that a dispute cites as they were at `as_of`, and the share of the slash that those in `attestation_ids` take."""

    as_of: str
    share_each: str
    share: str
    attestation_ids: tuple[str, ...]
    attestations: tuple[dict[str, str | None], ...]


class Given(msgspec.Struct, frozen=True):
    """Evidence as a party gives it: a piece, attestations, or both."""

    piece: Piece | None
    attestation_ids: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True):
    """Ruling of an administrator; amounts in minor units."""

    ruling: Ruling
    compensation: Minor
    slash: Minor
    note: str | None


class Outcome(msgspec.Struct, frozen=True):
    """Units that a ruling destroyed, and those of its compensation that wait as an award."""

    slashed: Minor
    awarded: Minor


class Dispute(msgspec.Struct, frozen=True):
    """A dispute as it was at `now`, the database's clock. Without `payment` it has no subject.

    `subject_amount` is the amount that the parties agreed; `paid_amount` and `held_amount` are as of the filing.
    `award_amount` is the part of the compensation that the slash does not cover. `blocked_amount` is the part of a bond
    that an open dispute keeps, zero below the minimum of the setting. The first `filed_attestations` of `attestation_ids` were
    named by the complaint. `slash_reduction` was cut from `slash_requested` by those of `attested`, which a ruling keeps.
    """

    id: int
    complainant_did: str
    defendant_did: str
    payment: str | None
    contract_id: int | None
    token_id: UUID | None
    tx_id: int | None
    contract_status: Status | None
    payer_did: str | None
    subject_amount: Minor | None
    paid_amount: Minor | None
    held_amount: Minor | None
    fee_paid: Minor
    is_malpractice: bool
    reason_code: ReasonCode
    description: str
    claimed_amount: Minor | None
    attestation_ids: tuple[str, ...]
    filed_attestations: int
    status: DisputeStatus
    ruling: Ruling | None
    compensation_amount: Minor
    slash_requested: Minor
    slash_reduction: Minor
    slash_applied: Minor
    attested: Attested | None
    note: str | None
    ruled_by: int | None
    opened_at: datetime
    evidence_until: datetime
    rule_by: datetime
    voting_at: datetime | None
    closed_at: datetime | None
    award_amount: Minor
    award_status: AwardStatus | None
    award_decided_by: int | None
    award_decided_at: datetime | None
    award_reason: str | None
    blocked_amount: Minor
    deposit_amount: Minor
    deposit_hold_id: int | None
    now: datetime
    evidence: tuple[Evidence, ...] = msgspec.field(default=())

    @property
    def parties(self) -> tuple[str, str]:
        """The complainant and the defendant."""
        return self.complainant_did, self.defendant_did

    @property
    def due_at(self) -> datetime | None:
        """When something happens by itself."""
        return {DisputeStatus.OPEN: self.evidence_until, DisputeStatus.VOTING: self.rule_by}.get(self.status)

    def party_of(self, ruling: Ruling) -> str | None:
        """The party that a ruling is for."""
        parties = {
            Ruling.IN_FAVOR_OF_COMPLAINANT: self.complainant_did,
            Ruling.IN_FAVOR_OF_DEFENDANT: self.defendant_did,
        }
        return parties.get(ruling)


class DisputeFilter(msgspec.Struct, frozen=True):
    """Filter of disputes: those of the agent `of` that `reader` may see; None of either sets no bound."""

    of: str | None
    reader: str | None
    role: str | None
    status: str | None
    limit: int
    offset: int


class AwardFilter(msgspec.Struct, frozen=True):
    """Filter of awards; without a status all."""

    status: AwardStatus | None
    limit: int
    offset: int
