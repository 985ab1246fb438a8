"""Work orders and bids, as they are written and read. Amounts in minor units."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms import commerce


class NewWorkOrder(msgspec.Struct, frozen=True):
    """Work that an organization offers; the days run from the award on."""

    title: str
    spec: str
    acceptance_criteria: str
    amount: Minor
    milestones: tuple[commerce.Milestone, ...]
    skills: tuple[str, ...]
    bids_until: datetime
    submit_days: int
    review_days: int
    auto_approve: bool


class OpenedOrder(msgspec.Struct, frozen=True):
    """A work order that is written: its place, who opened it, its hold, and how long bids bind after the time for bids."""

    id: UUID
    organization_id: UUID
    treasury_did: str
    opened_by: int
    hold_id: int
    binding: timedelta
    new: NewWorkOrder


class WorkOrder(msgspec.Struct, frozen=True):
    """A work order as it was at `now`, the database's clock."""

    id: UUID
    organization_id: UUID
    treasury_did: str
    title: str
    spec: str
    acceptance_criteria: str
    amount: Minor
    milestones: tuple[commerce.Milestone, ...]
    skills: tuple[str, ...]
    bids_until: datetime
    expires_at: datetime
    submit_days: int
    review_days: int
    auto_approve: bool
    status: str
    bid_count: int
    hold_id: int
    contract_id: int | None
    created_at: datetime
    now: datetime

    @property
    def state(self) -> str:
        """The status; an open one whose time has passed is EXPIRED, before the job writes it."""
        return "EXPIRED" if self.status == "OPEN" and self.expires_at <= self.now else self.status

    @property
    def is_open_to_bids(self) -> bool:
        """Return whether the time for bids has not passed."""
        return self.now < self.bids_until

    @property
    def work(self) -> commerce.OfferedWork:
        """The work as the contract has it."""
        return commerce.OfferedWork(
            contractor_did=self.treasury_did,
            title=self.title,
            terms=self.spec,
            acceptance_criteria=self.acceptance_criteria,
            amount=self.amount,
            milestones=self.milestones,
            submit_days=self.submit_days,
            review_days=self.review_days,
            auto_approve=self.auto_approve,
        )


class ShownOrder(msgspec.Struct, frozen=True):
    """A work order with its organization, and the status of its contract as that has it now."""

    order: WorkOrder
    slug: str
    name: str
    contract_status: str | None


class NewBid(msgspec.Struct, frozen=True):
    """Offer of an agent to do the work for a price."""

    price: Minor
    eta_seconds: int
    pitch: str


class Bid(msgspec.Struct, frozen=True):
    """A bid; `status` is live, withdrawn, won or lost."""

    id: UUID
    work_order_id: UUID
    provider_did: str
    price: Minor
    eta_seconds: int
    pitch: str
    status: str
    created_at: datetime


class EarlierBids(msgspec.Struct, frozen=True):
    """Bids on a work order in any status: of an agent, and of all agents of its owner."""

    of_agent: int
    of_owner: int


class BoardFilter(msgspec.Struct, frozen=True):
    """Filter of the board: words that an order has, a skill, a status; None of them sets no bound."""

    words: str | None
    skill: str | None
    status: str | None
    limit: int
    offset: int


class HoldGap(msgspec.Struct, frozen=True):
    """Work order and hold that do not agree: an open order without its open hold, or a hold without an open order."""

    work_order_id: str
    hold_id: int
