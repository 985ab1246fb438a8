"""Shapes of work orders and bids. Amounts are decimal strings."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.paging import Page
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.foundation.values.visible_text import plain, plain_and_visible
from hansa.rooms import commerce

from .records import Bid, NewBid, NewWorkOrder, ShownOrder

TEXT_MAX = 20_000
PITCH_MAX = 2000
MILESTONES_MAX = 50
SKILLS_MAX, SKILL_MAX = 20, 64
SUBMIT_DAYS_MAX, REVIEW_DAYS_MAX = 365, 90
ETA_SECONDS_MAX = SUBMIT_DAYS_MAX * 86_400

Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(plain_and_visible)]
Text = Annotated[str, Field(min_length=1, max_length=TEXT_MAX), AfterValidator(plain_and_visible)]
Skill = Annotated[str, Field(min_length=1, max_length=SKILL_MAX, pattern=r"^\S(.*\S)?$")]
WorkOrderStatus: TypeAlias = Literal["OPEN", "AWARDED", "CANCELLED", "EXPIRED"]


class WorkOrderMilestoneIn(RequestBody):
    """Part of the work, submitted and paid by itself."""

    title: Title
    amount: PositiveAmount


class WorkOrderIn(RequestBody):
    """Work that an organization offers; its amount and fee are held at once."""

    title: Title
    spec: Text
    acceptance_criteria: Text
    amount: PositiveAmount = Field(
        description="The highest price; with its fee it is held until the order ends."
    )
    milestones: list[WorkOrderMilestoneIn] = Field(
        default=[],
        max_length=MILESTONES_MAX,
        description="Their amounts sum to `amount`. In the contract they are scaled to the price, rounded down; the last has the rest.",
    )
    skills: list[Skill] = Field(default=[], max_length=SKILLS_MAX)
    bids_until: Annotated[AwareDatetime, ISO_ONLY] = Field(
        description="At most 60 days ahead. Bids bind until 14 days later, when the order expires."
    )
    submit_days: Annotated[int, Field(strict=True, ge=1, le=SUBMIT_DAYS_MAX)] = Field(
        description="Days from the award until the work is due."
    )
    review_days: Annotated[int, Field(strict=True, ge=1, le=REVIEW_DAYS_MAX)] = Field(
        description="Days from then until the review is due."
    )
    auto_approve: StrictBool = Field(
        default=False, description="Work not reviewed in time is approved and paid; otherwise it fails."
    )

    def order(self) -> NewWorkOrder:
        """The work that this request offers."""
        return NewWorkOrder(
            title=self.title,
            spec=self.spec,
            acceptance_criteria=self.acceptance_criteria,
            amount=parse_positive(self.amount),
            milestones=tuple(
                commerce.Milestone(index, one.title, parse_positive(one.amount), None)
                for index, one in enumerate(self.milestones)
            ),
            skills=tuple(dict.fromkeys(self.skills)),
            bids_until=self.bids_until,
            submit_days=self.submit_days,
            review_days=self.review_days,
            auto_approve=self.auto_approve,
        )


class WorkOrderOrganizationOut(LazyModel):
    """The organization that offers the work."""

    slug: str
    name: str


class WorkOrderMilestoneOut(LazyModel):
    """Part of the work, with its part of the amount."""

    title: str
    amount: str


class WorkOrderOut(LazyModel):
    """Work that an organization offers to every agent."""

    id: UUID
    organization: WorkOrderOrganizationOut
    treasury_did: str = Field(description="Contractor of the contract.")
    title: str
    spec: str
    acceptance_criteria: str
    amount: str
    milestones: list[WorkOrderMilestoneOut]
    skills: list[str]
    bids_until: datetime
    submit_days: int
    review_days: int
    auto_approve: bool
    status: WorkOrderStatus
    bid_count: int = Field(description="Bids that were not withdrawn.")
    contract_id: int | None
    contract_status: str | None = Field(description="Status of the contract at present.")
    created_at: datetime

    @classmethod
    def of(cls, shown: ShownOrder) -> "WorkOrderOut":
        order = shown.order
        return cls.model_validate(
            {
                "id": order.id,
                "organization": {"slug": shown.slug, "name": shown.name},
                "treasury_did": order.treasury_did,
                "title": order.title,
                "spec": order.spec,
                "acceptance_criteria": order.acceptance_criteria,
                "amount": format_amount(order.amount),
                "milestones": [
                    {"title": one.title, "amount": format_amount(one.amount)} for one in order.milestones
                ],
                "skills": list(order.skills),
                "bids_until": order.bids_until,
                "submit_days": order.submit_days,
                "review_days": order.review_days,
                "auto_approve": order.auto_approve,
                "status": order.state,
                "bid_count": order.bid_count,
                "contract_id": order.contract_id,
                "contract_status": shown.contract_status,
                "created_at": order.created_at,
            }
        )


class WorkOrderPageOut(Page[WorkOrderOut]):
    """A page of the board."""

    total_is_exact: bool = Field(
        description="False if there are more than `total_items`: orders are counted up to 10,000, and up to 1,000 in a search."
    )


class WorkBidIn(RequestBody):
    """Offer to do the work for a price."""

    price: PositiveAmount = Field(description="At most the amount of the order.")
    eta_seconds: Annotated[int, Field(strict=True, ge=1, le=ETA_SECONDS_MAX)]
    pitch: Annotated[str, Field(max_length=PITCH_MAX), AfterValidator(plain)] = ""

    def bid(self) -> NewBid:
        """The bid that this request makes."""
        return NewBid(parse_positive(self.price), self.eta_seconds, self.pitch)


class WorkBidOut(LazyModel):
    """A bid of an agent."""

    bid_id: UUID
    work_order_id: UUID
    provider_did: str
    price: str
    eta_seconds: int
    pitch: str
    status: Literal["live", "withdrawn", "won", "lost"]
    created_at: datetime

    @classmethod
    def of(cls, bid: Bid) -> "WorkBidOut":
        return cls.model_validate(
            {
                "bid_id": bid.id,
                "work_order_id": bid.work_order_id,
                "provider_did": bid.provider_did,
                "price": format_amount(bid.price),
                "eta_seconds": bid.eta_seconds,
                "pitch": bid.pitch,
                "status": bid.status,
                "created_at": bid.created_at,
            }
        )


class WorkBidWithdrawnOut(LazyModel):
    """The bid does not count any more."""

    deleted: Literal[True] = True


class WorkAwardIn(RequestBody):
    """The bid that is to win."""

    bid_id: UUID
