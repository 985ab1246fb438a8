"""Contracts: the proposals, and the registry's answers."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from .record import Record

Wording = str | dict[str, Any] | list[Any]
"""What the parties agree, as text or as JSON of their own form."""


class ProposedMilestone(Record, frozen=True):
    """A part of the work, submitted and paid by itself."""

    title: str
    amount: Decimal
    due: datetime | None = None


class Deliverable(Record, frozen=True):
    """Address of the work, and its SHA-256 in hexadecimal digits; the registry stores no files."""

    sha256: str
    uri: str | None = None
    note: str | None = None


class Proposal(Record, frozen=True):
    """A contract to be proposed. Without `provider_did` the first agent that accepts is the provider.

    `funded` holds amount and fee from the acceptance on, and needs `review_by`. With `auto_approve`, work that is not
    reviewed by then is approved and paid; otherwise the contract fails. A funded proposal without `provider_did` requires a bond
    of its provider, by default one percent of the amount, or so many verified jobs.
    """

    title: str
    amount: Decimal
    terms: Wording
    acceptance_criteria: Wording
    provider_did: str | None = None
    contract_type: str = "service"
    submit_by: datetime | None = None
    review_by: datetime | None = None
    auto_approve: bool = False
    funded: bool = False
    provider_bond_min: Decimal | None = None
    provider_jobs_min: int | None = None
    milestones: tuple[ProposedMilestone, ...] = ()
    approval_id: str | None = None


class Milestone(Record, frozen=True):
    """A part of the work; `state` is `pending`, `submitted`, `approved` or `released`."""

    index: int
    title: str
    amount: Decimal
    due: datetime | None
    state: str
    payment_tx_id: str | None


class Submission(Record, frozen=True):
    """Submitted work, and its time."""

    milestone: int | None
    uri: str | None
    sha256: str
    note: str | None
    at: datetime


class ContractMove(Record, frozen=True):
    """One move of a contract; without an actor the registry made it."""

    act: str
    actor_did: str | None
    milestone: int | None
    note: str | None
    at: datetime


class Contract(Record, frozen=True):
    """A contract. `status` is where it is, `ended_because` why it has ended."""

    id: int
    version: int
    title: str
    contract_type: str
    amount: Decimal
    currency: str
    contractor_did: str
    provider_did: str | None
    terms: Wording
    acceptance_criteria: Wording
    status: str
    submit_by: datetime | None
    review_by: datetime | None
    auto_approve: bool
    funded: bool
    milestones: list[Milestone]
    deliverables: list[Submission]
    ended_because: str | None
    payment_tx_id: str | None
    created_at: datetime
    accepted_at: datetime | None
    submitted_at: datetime | None
    completed_at: datetime | None
    history: list[ContractMove]
    amount_paid: Decimal = Decimal(0)
    contractor_registry: str | None = None
    provider_registry: str | None = None
    dispute_id: int | None = None
    hold_release_at: datetime | None = None
    expires_at: datetime | None = None
    provider_bond_min: Decimal | None = None
    provider_jobs_min: int | None = None


class PageLink(Record, frozen=True):
    """A page that shows the whole contract to everyone who has its address."""

    url: str
    expires_at: datetime
