"""Facts of work orders. Bids are private."""

from typing import ClassVar

from hansa.foundation.events.base import Event


class _WorkOrderEvent(Event, frozen=True):
    work_order_id: str
    treasury_did: str

    @property
    def aggregate_id(self) -> str:
        return self.treasury_did


class WorkOrderOpened(_WorkOrderEvent, frozen=True):
    """An organization offers work; the amount and its fee are held in its treasury."""

    title: str
    amount: str
    bids_until: str


class WorkOrderBid(_WorkOrderEvent, frozen=True):
    """An agent bid for work, or withdrew its bid: `status` is `live` or `withdrawn`."""

    is_private: ClassVar[bool] = True

    bid_id: str
    provider_did: str
    amount: str
    status: str


class WorkOrderBidLost(Event, frozen=True):
    """A live bid lost: the work order was `awarded` to another one, `cancelled`, or `expired`."""

    is_private: ClassVar[bool] = True

    work_order_id: str
    bid_id: str
    provider_did: str
    reason: str

    @property
    def aggregate_id(self) -> str:
        return self.provider_did


class WorkOrderAwarded(_WorkOrderEvent, frozen=True):
    """A bid has won: its contract is accepted, and funded from what the order held."""

    contract_id: int
    provider_did: str
    amount: str


class WorkOrderClosed(_WorkOrderEvent, frozen=True):
    """A work order ended without an award; `reason` is `cancelled` or `expired`."""

    reason: str
