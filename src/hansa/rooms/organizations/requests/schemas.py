"""Shapes of requests."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain
from hansa.rooms.organizations.records import Request
from hansa.rooms.organizations.repeating import ACCEPTED

from .tally import Reading

NOTE_MAX = 2000


class RequestApprovalIn(RequestBody):
    """Proof that the approver is present: a code of the app where two-factor login is on, else the password."""

    totp_code: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    password: Annotated[str, Field(min_length=1, max_length=1024)] | None = None


class RejectionIn(RequestBody):
    """Reason of a rejection."""

    reason: Annotated[str, Field(max_length=NOTE_MAX), AfterValidator(plain)] | None = None


class RequestApprovalOut(LazyModel):
    """Approval of a request."""

    developer_id: int
    at: datetime


class RequestResultOut(LazyModel):
    """Result of a request that moved units or made a contract."""

    tx_id: int | None
    transfer_id: UUID | None
    contract_id: int | None


class OrganizationRequestOut(LazyModel):
    """A request that is carried out once so many others of the organization have approved it."""

    request_id: UUID
    kind: str = Field(
        description="`owners`: a change of the owners; `release`: an agent goes to the owner who asks; `grant`: a right to approve; `rules` and"
        " `budget`: those of the treasury; `payment`, `contract` and `award` commit its units.",
        examples=["payment"],
    )
    body: dict[str, Any] = Field(
        description="Of `owners`: developer_id, and role (null: the membership ends). Of `release`: did, developer_id."
        " Of others: the body of the request that asked for it."
    )
    note: str | None
    initiator: int = Field(description="The developer who started it.")
    status: Literal["PENDING", "EXECUTING", "EXECUTED", "FAILED", "REJECTED", "CANCELLED", "EXPIRED"] = Field(
        description="`EXECUTING`: another registry has not decided on the transfer; `FAILED`: it was aborted, and the units are back."
    )
    approvals_needed: int = Field(description="Approvals beside the initiator's that it needs at present.")
    approvals: list[RequestApprovalOut]
    executes_at: datetime | None = Field(
        description="End of the delay where fewer others may approve than needed. Null: it is carried out with the last approval."
    )
    expires_at: datetime
    reason: str | None = Field(
        description="Of a rejection, of a failure, or why an approved request could not be carried out so far."
    )
    result: RequestResultOut | None = Field(description="Null where nothing was moved or made.")

    @classmethod
    def of(cls, reading: Reading) -> "OrganizationRequestOut":
        request = reading.request
        return cls.model_validate(
            {
                "request_id": request.id,
                "kind": request.kind,
                "body": request.body,
                "note": request.note,
                "initiator": request.initiator_id,
                "status": request.status,
                "approvals_needed": reading.approvals_needed,
                "approvals": [{"developer_id": one.developer_id, "at": one.at} for one in request.approvals],
                "executes_at": request.executes_at,
                "expires_at": request.expires_at,
                "reason": request.reason,
                "result": _result(request),
            }
        )


WAITS: dict[int | str, dict[str, Any]] = {
    ACCEPTED: {"model": OrganizationRequestOut, "description": "Others must approve this request first."}
}
"""Answer of a route whose act needs approval."""


def _result(request: Request) -> dict[str, Any] | None:
    result = {
        "tx_id": request.tx_id,
        "transfer_id": request.transfer_id,
        "contract_id": request.contract_id,
    }
    return result if any(one is not None for one in result.values()) else None
