"""Rules of spend policies. Amounts are compared without the fee, in minor units."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from hansa.foundation.values.connections import GrantBounds
from hansa.foundation.values.money import Minor, format_amount

from .errors import (
    ApprovalForAnother,
    ApprovalsPending,
    ApprovalUnknown,
    ApprovalUnusable,
    OverDayLimit,
    OverPaymentLimit,
    PayeeNotAllowed,
)

PENDING_MAX = 100
PENDING_OF_GRANT_MAX = 5


class SpendPolicy(msgspec.Struct, frozen=True):
    """Limits of an owner on an agent's payments; None bounds nothing, with an empty allowlist it can pay no one."""

    per_tx_max: Minor | None
    per_day_max: Minor | None
    allowlist: tuple[str, ...] | None
    approval_over: Minor | None


class Spending(msgspec.Struct, frozen=True):
    """A payment that an agent requests, under the grant of its caller or under none; `amount` without the fee.

    `client` is the name of the connected client that has the grant.
    `approval_id` is the approval that the request names; `request_scope` identifies the request under its
    Idempotency-Key (SHA-256).
    """

    payee: str
    amount: Minor
    grant_id: UUID | None
    client: str | None
    approval_id: UUID | None = None
    request_scope: bytes | None = None
    operation: str | None = None
    is_bound: bool = False
    """The policy counted it before: the grant alone judges and counts it."""
    is_for_child: bool = False
    """The payee is a child of the agent, which no list of payees bars."""


class Clearance(StrEnum):
    """Decision on a payment: it may go ahead at once, or its owner has to approve it."""

    CLEARED = "cleared"
    NEEDS_APPROVAL = "needs_approval"


class Approval(msgspec.Struct, frozen=True):
    """A payment that the owner is asked about, as it stands at this moment of the database's clock.

    An approved one is good for one payment until it expires.
    """

    id: UUID
    status: str
    payee: str
    amount: Minor
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    used_at: datetime | None
    grant_id: UUID | None = None
    """Grant and request that alone can use the approval; None for one of the agent itself."""
    request_scope: bytes | None = None
    client: str | None = None
    operation: str | None = None


def widens(old: SpendPolicy | None, new: SpendPolicy | None) -> bool:
    """The new policy allows a payment that the old one refuses or submits to the owner; None bounds nothing."""
    if old is None:
        return False
    if new is None:
        return True
    limits = (
        (old.per_tx_max, new.per_tx_max),
        (old.per_day_max, new.per_day_max),
        (old.approval_over, new.approval_over),
    )
    if any(before is not None and (after is None or after > before) for before, after in limits):
        return True
    if old.allowlist is None:
        return False
    return new.allowlist is None or not set(new.allowlist) <= set(old.allowlist)


def evaluate(policy: SpendPolicy, spending: Spending, spent_today: Minor) -> Clearance:
    """Judge a payment by the policy. Raises: PayeeNotAllowed, OverPaymentLimit, OverDayLimit."""
    is_barred = policy.allowlist is not None and spending.payee not in policy.allowlist
    if is_barred and not spending.is_for_child:
        raise PayeeNotAllowed(context={"receiver": spending.payee})
    if policy.per_tx_max is not None and spending.amount > policy.per_tx_max:
        raise OverPaymentLimit(context={"per_tx_max": format_amount(policy.per_tx_max)})
    if policy.per_day_max is not None and spent_today + spending.amount > policy.per_day_max:
        raise OverDayLimit(
            context={
                "per_day_max": format_amount(policy.per_day_max),
                "left_today": format_amount(max(0, policy.per_day_max - spent_today)),
            }
        )
    if policy.approval_over is not None and spending.amount > policy.approval_over:
        return Clearance.NEEDS_APPROVAL
    return Clearance.CLEARED


def evaluate_grant(bounds: GrantBounds, spending: Spending, spent_today: Minor) -> Clearance:
    """Judge a payment by the limits of its grant. Raises: OverPaymentLimit, OverDayLimit."""
    if spending.amount > bounds.per_call:
        raise OverPaymentLimit(
            "The amount exceeds the limit per call of this connection.",
            context={"per_call": format_amount(bounds.per_call)},
        )
    if spent_today + spending.amount > bounds.per_day:
        raise OverDayLimit(
            "The amount exceeds the rest of the daily limit (UTC) of this connection.",
            context={
                "per_day": format_amount(bounds.per_day),
                "left_today": format_amount(max(0, bounds.per_day - spent_today)),
            },
        )
    return Clearance.NEEDS_APPROVAL if spending.amount > bounds.ask_above else Clearance.CLEARED


def stricter(*clearances: Clearance) -> Clearance:
    """The decision of several limits on one payment."""
    needs = Clearance.NEEDS_APPROVAL in clearances
    return Clearance.NEEDS_APPROVAL if needs else Clearance.CLEARED


def require_approved(approval: Approval | None, spending: Spending) -> Approval:
    """The approval that this payment shows; one of a grant serves its own request alone.

    Raises: ApprovalUnknown, ApprovalForAnother, ApprovalUnusable.
    """
    if approval is None:
        raise ApprovalUnknown
    if (approval.payee, approval.amount) != (spending.payee, spending.amount):
        raise ApprovalForAnother
    if approval.grant_id != spending.grant_id:
        raise ApprovalForAnother
    if approval.grant_id is not None and approval.request_scope != spending.request_scope:
        raise ApprovalForAnother
    status = "used" if approval.used_at else approval.status
    if status != "approved":
        raise ApprovalUnusable(f"The spend approval is {status}.", context={"status": status})
    return approval


def require_scope(spending: Spending) -> None:
    """A request of a grant is named by its Idempotency-Key, else no approval could be for it. Raises: OverPaymentLimit."""
    if spending.grant_id is not None and spending.request_scope is None:
        raise OverPaymentLimit(
            "The amount needs the owner's approval, which only a request with an Idempotency-Key can ask for."
        )


def require_room(pending: int, *, under_grant: bool = False) -> None:
    """Raises: ApprovalsPending."""
    most = PENDING_OF_GRANT_MAX if under_grant else PENDING_MAX
    if pending >= most:
        holder = "connection" if under_grant else "agent"
        raise ApprovalsPending(f"The {holder} already has {most} pending spend approvals.")
