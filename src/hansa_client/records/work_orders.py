"""Work that organizations offer, and bids of agents."""

from datetime import datetime
from decimal import Decimal

from .record import Record


class WorkOrderMilestone(Record, frozen=True):
    """Part of the work, with its part of the amount."""

    title: str
    amount: Decimal


class NewWorkOrder(Record, frozen=True):
    """Work to be offered. `amount` is the highest price; with its fee it is held at once.

    Bids are taken until `bids_until`; the work is due `submit_days` after the award and reviewed within `review_days`.
    """

    title: str
    spec: str
    acceptance_criteria: str
    amount: Decimal
    bids_until: datetime
    submit_days: int
    review_days: int
    milestones: tuple[WorkOrderMilestone, ...] = ()
    skills: tuple[str, ...] = ()
    auto_approve: bool = False


class WorkOrderOrganization(Record, frozen=True):
    """The organization that offers the work."""

    slug: str
    name: str


class WorkOrder(Record, frozen=True):
    """Work that an organization offers to every agent; `contract_status` is that of its contract at present."""

    id: str
    organization: WorkOrderOrganization
    treasury_did: str
    title: str
    spec: str
    acceptance_criteria: str
    amount: Decimal
    milestones: list[WorkOrderMilestone]
    skills: list[str]
    bids_until: datetime
    submit_days: int
    review_days: int
    auto_approve: bool
    status: str
    bid_count: int
    contract_id: int | None
    contract_status: str | None
    created_at: datetime


class WorkBid(Record, frozen=True):
    """A bid of an agent; `status` is `live`, `withdrawn`, `won` or `lost`."""

    bid_id: str
    work_order_id: str
    provider_did: str
    price: Decimal
    eta_seconds: int
    pitch: str
    status: str
    created_at: datetime
