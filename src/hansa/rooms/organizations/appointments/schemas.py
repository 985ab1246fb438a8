"""Shapes of appointments."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec.structs import asdict
from pydantic import AfterValidator, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain_and_visible
from hansa.rooms.organizations.records import Appointment

BIGINT_MAX = 2**63 - 1
REASON_MAX = 2000


class OwnerAppointmentIn(RequestBody):
    """Developer who is to be an owner, and the reason, which the members read."""

    developer_id: Annotated[int, Field(ge=1, le=BIGINT_MAX)]
    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX), AfterValidator(plain_and_visible)]


class OwnerAppointmentOut(LazyModel):
    """Appointment of an owner by an administrator."""

    id: UUID
    organization_id: UUID
    developer_id: int
    reason: str
    status: Literal["PENDING", "EXECUTED", "VETOED", "LAPSED"] = Field(
        description="`LAPSED`: its conditions held no longer when it was to take effect."
    )
    created_at: datetime
    effective_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, appointment: Appointment) -> "OwnerAppointmentOut":
        members = asdict(appointment)
        members.pop("administrator_id")
        return cls(**members)
