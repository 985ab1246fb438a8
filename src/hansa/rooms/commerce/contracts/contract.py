"""Contracts, their terms, milestones and deadlines."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.requirement import Required


class Status(StrEnum):
    """Where a contract is."""

    PROPOSED = "PROPOSED"
    ACCEPTED = "ACCEPTED"
    SUBMITTED = "SUBMITTED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    DISPUTED = "DISPUTED"
    CLOSED = "CLOSED"


class Ending(StrEnum):
    """Why a contract ended: each names who was silent or who decided."""

    APPROVED = "approved"
    CANCELLED = "cancelled"
    PROPOSAL_EXPIRED = "proposal_expired"
    NOT_SUBMITTED = "not_submitted"
    REJECTED = "rejected"
    NOT_REVIEWED = "not_reviewed"
    PARTY_REVOKED = "party_revoked"
    RULING = "ruling"


UNDER_WAY = (Status.ACCEPTED, Status.SUBMITTED)
OPEN = (Status.PROPOSED, *UNDER_WAY)


class Milestone(msgspec.Struct, frozen=True):
    """A part of the work. `state` is pending, submitted, approved or released.

    `payment_transfer` is the transfer that paid it, where the provider is an agent of another registry.
    """

    index: int
    title: str
    amount: Minor
    due: datetime | None
    state: str = "pending"
    payment_tx_id: int | None = None
    submitted_at: datetime | None = None
    payment_transfer: UUID | None = None


class Terms(msgspec.Struct, frozen=True):
    """Terms that the contractor proposes; amounts in minor units.

    `provider_bond` and `provider_jobs` are the bond or the verified jobs that the provider of an open, funded proposal needs.
    """

    contractor_did: str
    provider_did: str | None
    title: str
    contract_type: str
    amount: Minor
    terms: Any
    acceptance_criteria: Any
    submit_by: datetime | None = None
    review_by: datetime | None = None
    auto_approve: bool = False
    funded: bool = False
    milestones: tuple[Milestone, ...] = ()
    provider_bond: Minor | None = None
    provider_jobs: int | None = None

    @property
    def is_open_and_funded(self) -> bool:
        """Return whether the first agent that accepts has the amount held."""
        return self.funded and self.provider_did is None

    @property
    def version(self) -> int:
        """2 when funded or with milestones."""
        return 2 if self.funded or self.milestones else 1

    @property
    def dates(self) -> list[datetime]:
        """The dates in the order in which they apply."""
        declared = [*(milestone.due for milestone in self.milestones), self.submit_by, self.review_by]
        return [date for date in declared if date is not None]


class Contract(msgspec.Struct, frozen=True):
    """A contract as it was at `now`, the database's clock.

    Where the provider is an agent of another registry (`is_across`), `provider_registry` is its ledger id, `crossing` the transfer that is
    under way for the submitted part, and `payment_transfer` the one that paid last.
    """

    id: int
    version: int
    title: str
    contract_type: str
    amount: Minor
    currency: str
    contractor_did: str
    provider_did: str | None
    terms: Any
    acceptance_criteria: Any
    submit_by: datetime | None
    review_by: datetime | None
    auto_approve: bool
    funded: bool
    status: Status
    ended_because: Ending | None
    expires_at: datetime
    turn_at: datetime | None
    due_at: datetime | None
    stops: tuple[str, ...]
    stopped_at: datetime | None
    amount_paid: Minor
    fee_paid: Minor
    payment_tx_id: int | None
    payment_transfer: UUID | None
    crossing: UUID | None
    hold_id: int | None
    hold_release_at: datetime | None
    dispute_id: int | None
    submissions: int
    created_at: datetime
    accepted_at: datetime | None
    submitted_at: datetime | None
    completed_at: datetime | None
    ended_at: datetime | None
    now: datetime
    milestones: tuple[Milestone, ...] = msgspec.field(default=())
    is_across: bool = False
    provider_registry: str | None = None
    provider_bond: Minor | None = None
    provider_jobs: int | None = None
    grant_id: UUID | None = None
    """Grant of a connected client that counted the payment when the contract was proposed."""

    @property
    def required(self) -> Required | None:
        """Requirement of an open, funded proposal for its provider."""
        if self.provider_bond is None and self.provider_jobs is None:
            return None
        return Required(self.provider_bond, self.provider_jobs)

    @property
    def parties(self) -> tuple[str, ...]:
        """The contractor, and the provider where there is one."""
        return (
            (self.contractor_did,) if self.provider_did is None else (self.contractor_did, self.provider_did)
        )

    @property
    def current(self) -> Milestone | None:
        """The milestone whose turn it is."""
        return next((one for one in self.milestones if one.state in {"pending", "submitted"}), None)

    @property
    def part(self) -> Minor:
        """Amount that the next approval pays."""
        return self.current.amount if self.current else self.amount

    @property
    def unpaid(self) -> Minor:
        """Part of the amount that was not paid."""
        return Minor(self.amount - self.amount_paid)

    @property
    def is_last_part(self) -> bool:
        """Return whether the next approval completes the contract."""
        return self.current is None or self.current.index == len(self.milestones) - 1

    @property
    def is_in_review(self) -> bool:
        """Return whether unapproved work was ever submitted: a failure then leaves time for a dispute."""
        return (self.current.submitted_at if self.current else self.submitted_at) is not None


class Payment(msgspec.Struct, frozen=True):
    """Payment of an approval; amounts in minor units. `transfer_id` is set where the units went to another registry."""

    tx_id: int
    amount: Minor
    fee: Minor
    transfer_id: UUID | None = None
