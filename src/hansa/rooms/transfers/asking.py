"""Requests to transfer: the credentials that an agent shows beside them, and the errors that refuse them."""

from typing import Annotated
from uuid import UUID

from fastapi import Header
from fastapi.responses import Response

from hansa.foundation.plumbing.web.caller import CAPABILITY_HEADER, PermissionMissing
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.values.errors import (
    Forbidden,
    Invalid,
    MemberInvalid,
    Refused,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from hansa.rooms import agents, ledger

from .schemas import ApprovalNeeded

TOKEN_MAX_CHARACTERS = 128


class AccountRevoked(Forbidden):
    """The payee is a revoked agent; its account cannot receive units."""

    code = "ACCOUNT_REVOKED"
    sentence = "A revoked agent cannot receive units."


CapabilityToken = Annotated[
    str | None,
    Header(
        alias=CAPABILITY_HEADER,
        max_length=TOKEN_MAX_CHARACTERS,
        description="The token of a capability, which can grant the permission; its caveats limit the payment.",
    ),
]
SpendApproval = Annotated[
    UUID | None,
    Header(
        alias="X-Spend-Approval",
        description="The owner's approval of this receiver and amount; valid for one payment.",
    ),
]

REFUSALS: tuple[type[Refused], ...] = (
    ledger.SelfTransfer,
    Unauthorized,
    ledger.InsufficientBalance,
    PermissionMissing,
    ledger.AccountSuspended,
    AccountRevoked,
    ledger.SystemAccountRefused,
    *agents.PAYMENT_REFUSALS,
    ledger.AccountUnknown,
    agents.ApprovalUnknown,
    agents.ApprovalUnusable,
    agents.ApprovalsPending,
    Invalid,
    KeyReused,
    KeyInProgress,
    TooManyRequests,
    Unavailable,
)
APPROVAL_NEEDED = {
    "model": ApprovalNeeded,
    "description": "The agent's owner has to approve; nothing was moved. Then repeat the request: "
    "with approval_id or X-Spend-Approval, or under the same Idempotency-Key.",
}


def one_approval(in_body: UUID | None, in_header: UUID | None) -> UUID | None:
    """The approval of a request. Raises: MemberInvalid when body and header name different approvals."""
    if in_body is not None and in_header is not None and in_body != in_header:
        raise MemberInvalid("approval_id and X-Spend-Approval name different approvals; send one of them.")
    return in_body or in_header


def approval_answer(approval: agents.Approval, currency: str) -> Response:
    """Nothing was moved; the agent's owner has to approve."""
    pending = ApprovalNeeded.of(approval, currency)
    return Response(pending.model_dump_json(), status_code=202, media_type="application/json")
