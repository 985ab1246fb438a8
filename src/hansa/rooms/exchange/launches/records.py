"""Subscriptions of launches, as they are written and read."""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import agents


class NewSubscription(msgspec.Struct, frozen=True):
    """Wish of an agent to buy points at the price of the launch; `approval_id`, capability and scope come with the request."""

    qty: int
    approval_id: UUID | None = None
    capability_token: str | None = None
    request_scope: bytes | None = None


class Subscription(msgspec.Struct, frozen=True):
    """A subscription; `settled_at`: its hold has ended. It names the budgets of the agent that counted it."""

    id: UUID
    ref: str
    seq: int
    agent_did: str
    qty: int
    allocated: int
    hold_id: int
    status: str
    is_counted: bool
    capability_id: UUID | None
    grant_id: UUID | None
    created_at: datetime
    settled_at: datetime | None

    @property
    def budget(self) -> agents.HeldBudget:
        """The budgets that counted it."""
        return agents.HeldBudget(self.is_counted, self.capability_id, self.grant_id)

    def held_at(self, price: Minor) -> Minor:
        """The units that its hold has, at the price of the launch."""
        return ZERO if self.settled_at is not None else Minor(self.qty * price)


class Earlier(msgspec.Struct, frozen=True):
    """Subscriptions of a launch in any status of an agent, and the points that all agents of its owner have subscribed."""

    of_agent: int
    points_of_owner: int
