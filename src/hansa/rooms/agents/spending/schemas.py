"""Shapes of spend policies and approvals. Amounts are decimal strings, without the fee."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, format_amount, parse_amount

from .rules import Approval, SpendPolicy

ALLOWLIST_MAX = 1000

Status = Literal["pending", "approved", "denied", "expired"]
PayeeDid = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]


class SpendPolicyIn(LazyModel):
    """The spend policy of an agent. Null means no limit; unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    per_tx_max: Annotated[Amount | None, Field(description="The maximum of one payment.")] = None
    per_day_max: Annotated[Amount | None, Field(description="The maximum of all payments per day (UTC).")] = (
        None
    )
    allowlist: Annotated[
        list[PayeeDid] | None,
        Field(max_length=ALLOWLIST_MAX, description="The allowed payees; an empty list allows none."),
    ] = None
    approval_over: Annotated[
        Amount | None, Field(description="Payments above this amount require the owner's approval.")
    ] = None

    def policy(self) -> SpendPolicy:
        """The policy that is asked for."""
        return SpendPolicy(
            per_tx_max=None if self.per_tx_max is None else parse_amount(self.per_tx_max),
            per_day_max=None if self.per_day_max is None else parse_amount(self.per_day_max),
            allowlist=None if self.allowlist is None else tuple(dict.fromkeys(self.allowlist)),
            approval_over=None if self.approval_over is None else parse_amount(self.approval_over),
        )


class SpendPolicyOut(LazyModel):
    """The spend policy of an agent; null means no limit."""

    per_tx_max: str | None
    per_day_max: str | None
    allowlist: list[str] | None
    approval_over: str | None

    @classmethod
    def of(cls, policy: SpendPolicy) -> "SpendPolicyOut":
        """The shape of a policy."""
        return cls(
            per_tx_max=None if policy.per_tx_max is None else format_amount(policy.per_tx_max),
            per_day_max=None if policy.per_day_max is None else format_amount(policy.per_day_max),
            allowlist=None if policy.allowlist is None else list(policy.allowlist),
            approval_over=None if policy.approval_over is None else format_amount(policy.approval_over),
        )


class SpendApprovalOut(LazyModel):
    """A payment that needs the owner's decision. An approval is valid for one payment until it expires."""

    approval_id: UUID
    agent_did: str
    status: Status
    receiver_did: str
    amount: str
    currency: str
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    used_at: datetime | None = Field(description="When the payment was made.")
    client: str | None = Field(
        description="The connected client that requested the payment; null for the agent itself."
    )

    @classmethod
    def of(cls, approval: Approval, agent_did: str, currency: str) -> "SpendApprovalOut":
        """The shape of an approval."""
        return cls(
            approval_id=approval.id,
            agent_did=agent_did,
            status=approval.status,
            receiver_did=approval.payee,
            amount=format_amount(approval.amount),
            currency=currency,
            created_at=approval.created_at,
            expires_at=approval.expires_at,
            decided_at=approval.decided_at,
            used_at=approval.used_at,
            client=approval.client,
        )
