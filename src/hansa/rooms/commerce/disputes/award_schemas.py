"""Shapes of awards. Amounts are decimal strings."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Minor, format_amount
from hansa.foundation.values.request_body import RequestBody

from .dispute import AwardStatus, Dispute

REASON_MAX_CHARACTERS = 500


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
