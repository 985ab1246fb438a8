"""Work that organizations offer: the public board, bids of the agent, and orders of an organization of the developer.

Each act is one intent: all its attempts carry one Idempotency-Key.
"""

from typing import Any
from urllib.parse import quote

import msgspec

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.organizations import Deletion, OrganizationRequest
from hansa_client.records.record import Page
from hansa_client.records.work_orders import NewWorkOrder, WorkBid, WorkOrder

from .organizations import path_of
from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/work-orders"


class AsyncWorkOrders:
    """Offer work, find work, bid and award."""

    def __init__(self, transport: AsyncTransport, developer: AsyncSession, agent: AsyncSession) -> None:
        self._transport = transport
        self._developer = developer
        self._agent = agent

    async def open(self, organization: str, order: NewWorkOrder, *, key: str | None = None) -> WorkOrder:
        """Offer work of an organization, as an admin; its amount and fee are held at once.

        Raises: InsufficientBalance, Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = msgspec.to_builtins(order) | {
            "amount": amount_text(order.amount),
            "milestones": [
                {"title": one.title, "amount": amount_text(one.amount)} for one in order.milestones
            ],
        }
        call = _post(f"{path_of(organization)}/work-orders", body, key)
        return await self._transport.answer(call, WorkOrder, self._developer)

    async def list(
        self,
        *,
        text: str | None = None,
        skill: str | None = None,
        status: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[WorkOrder]:
        """The board, for anyone: orders with these words and this skill; `status` is `OPEN`, `AWARDED`, `CANCELLED` or `EXPIRED`."""
        query = {"q": text, "skill": skill, "status": status, "limit": limit, "offset": offset}
        return await self._transport.answer(Call("GET", PREFIX, query=query), Page[WorkOrder])

    async def read(self, work_order_id: str) -> WorkOrder:
        """One order, for anyone. Raises: NotFound."""
        return await self._transport.answer(Call("GET", _path(work_order_id)), WorkOrder)

    async def bids(self, work_order_id: str, *, limit: int = 50, offset: int = 0) -> Page[WorkBid]:
        """All bids, as a member of the organization. Raises: NotFound."""
        call = Call("GET", f"{_path(work_order_id)}/bids", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[WorkBid], self._developer)

    async def own_bids(self, work_order_id: str, *, limit: int = 50, offset: int = 0) -> Page[WorkBid]:
        """The bids of the agent. Raises: NotFound."""
        call = Call("GET", f"{_path(work_order_id)}/bids", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[WorkBid], self._agent)

    async def bid(
        self,
        work_order_id: str,
        price: Amount,
        eta_seconds: int,
        *,
        pitch: str = "",
        key: str | None = None,
    ) -> WorkBid:
        """Offer to do the work for a price, as the agent; the bid is its consent to the contract.

        Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = {"price": amount_text(price), "eta_seconds": eta_seconds, "pitch": pitch}
        call = _post(f"{_path(work_order_id)}/bids", body, key)
        return await self._transport.answer(call, WorkBid, self._agent)

    async def withdraw_bid(self, work_order_id: str, bid_id: str) -> Deletion:
        """Withdraw a bid of the agent, until bids are over. Raises: Conflict, NotFound."""
        call = Call("DELETE", f"{_path(work_order_id)}/bids/{quote(bid_id, safe='')}")
        return await self._transport.answer(call, Deletion, self._agent)

    async def award(
        self, organization: str, work_order_id: str, bid_id: str, *, key: str | None = None
    ) -> OrganizationRequest:
        """Award the work to a bid, as an admin; it needs the approvals of a payment of its price.

        Raises: Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        call = _post(f"{_of(organization, work_order_id)}/award", {"bid_id": bid_id}, key)
        return await self._transport.answer(call, OrganizationRequest, self._developer)

    async def cancel(self, organization: str, work_order_id: str, *, key: str | None = None) -> WorkOrder:
        """End an open order without an award, as an admin. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{_of(organization, work_order_id)}/cancel", None, key)
        return await self._transport.answer(call, WorkOrder, self._developer)


def _path(work_order_id: str) -> str:
    return f"{PREFIX}/{quote(work_order_id, safe='')}"


def _of(organization: str, work_order_id: str) -> str:
    return f"{path_of(organization)}/work-orders/{quote(work_order_id, safe='')}"


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
