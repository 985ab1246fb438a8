"""Work orders and bids as the pages show them, read from answers of the API."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from fastapi import Request

from hansa.doors.console.api_acts import API
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.in_process import InnerAnswer, InnerCall, call_within

DAY_SECONDS, HOUR_SECONDS = 86_400, 3600


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


async def read(request: Request, path: str, caller: Developer | Agent | None, **query: object) -> InnerAnswer:
    """The answer to a reading of work orders, as everybody, as a member or as an agent."""
    return await call_within(request, InnerCall("GET", f"{API}{path}", query), caller)


def order_in(document: Mapping[str, Any]) -> WorkOrder:
    """Return the work order of an answer."""
    return msgspec.convert(document, WorkOrder)


def orders_in(documents: Sequence[Mapping[str, Any]]) -> list[WorkOrder]:
    """Return the work orders of a list."""
    return [order_in(one) for one in documents]


def bids_in(documents: Sequence[Mapping[str, Any]]) -> list[Bid]:
    """Return the bids of a list."""
    return msgspec.convert(documents, list[Bid])
