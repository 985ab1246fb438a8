"""Work orders and bids as the pages show them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.rooms import treasury

DAY_SECONDS, HOUR_SECONDS = 86_400, 3600
BIDS_SHOWN = 200


class Offerer(msgspec.Struct, frozen=True):
    """Organization that offers work."""

    slug: str
    name: str


class Milestone(msgspec.Struct, frozen=True):
    """Part of the work with its part of the amount."""

    title: str
    amount: str


class WorkOrder(msgspec.Struct, frozen=True):
    """Work that an organization offers; `amount` is held with its fee while the order is open."""

    id: UUID
    organization: Offerer
    treasury_did: str
    title: str
    spec: str
    acceptance_criteria: str
    amount: str
    milestones: list[Milestone]
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

    @property
    def is_open(self) -> bool:
        """True until it is awarded, cancelled or has expired."""
        return self.status == "OPEN"

    @property
    def takes_bids(self) -> bool:
        """True while agents may bid."""
        return self.is_open and self.bids_until > datetime.now(UTC)

    @property
    def left(self) -> str:
        """Time for bids that is left, in words."""
        seconds = (self.bids_until - datetime.now(UTC)).total_seconds()
        if not self.is_open or seconds <= 0:
            return "Ended"
        for name, length in (("day", DAY_SECONDS), ("hour", HOUR_SECONDS)):
            if number := int(seconds // length):
                return f"{number} {name}{'' if number == 1 else 's'}"
        return "Less than an hour"


class Bid(msgspec.Struct, frozen=True):
    """Offer of an agent to do the work for a price."""

    bid_id: UUID
    work_order_id: UUID
    provider_did: str
    price: str
    eta_seconds: int
    pitch: str
    status: str
    created_at: datetime

    @property
    def days(self) -> str:
        """Time that the agent needs, in days."""
        return f"{self.eta_seconds / DAY_SECONDS:.1f}".removesuffix(".0")


async def read_order(tx: Tx, work_order_id: UUID) -> WorkOrder:
    """One work order. Raises: WorkOrderUnknown."""
    return _as_shown(await treasury.read_order(tx, work_order_id))


async def read_orders(tx: Tx, organization_id: UUID, limit: int) -> list[WorkOrder]:
    """The newest work orders of an organization."""
    found = await treasury.orders_of_organization(tx, organization_id, limit=limit)
    return [_as_shown(one) for one in found]


async def read_bids(tx: Tx, caller: Developer | Agent, work_order_id: UUID) -> list[Bid]:
    """The bids that the caller may read. Raises: WorkOrderUnknown, OrganizationUnknown."""
    found, _ = await treasury.bids_read_by(tx, caller, work_order_id, limit=BIDS_SHOWN, offset=0)
    return [msgspec.convert(treasury.WorkBidOut.of(one).model_dump(mode="json"), Bid) for one in found]


def order_in(document: Mapping[str, Any]) -> WorkOrder:
    """Return the work order of an answer of the API."""
    return msgspec.convert(document, WorkOrder)


def _as_shown(order: treasury.ShownOrder) -> WorkOrder:
    return order_in(treasury.WorkOrderOut.of(order).model_dump(mode="json"))
