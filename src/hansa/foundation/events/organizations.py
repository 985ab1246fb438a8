"""Facts of organizations. Those about members and requests are private."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent, Event


class OrganizationCreated(Event, frozen=True):
    """An organization exists, with its treasury."""

    organization_id: str
    slug: str
    treasury_did: str

    @property
    def aggregate_id(self) -> str:
        return self.treasury_did


class _MemberEvent(Event, frozen=True):
    is_private: ClassVar[bool] = True

    organization_id: str
    treasury_did: str
    developer_id: int | None
    role: str | None
    by: int

    @property
    def aggregate_id(self) -> str:
        return self.treasury_did


class OrganizationMemberInvited(_MemberEvent, frozen=True):
    """An address was invited; `developer_id` is null."""


class OrganizationMemberJoined(_MemberEvent, frozen=True):
    """A developer is a member with this role; `by` invited the developer."""


class OrganizationMemberRemoved(_MemberEvent, frozen=True):
    """A membership has ended, by the member or by another; `role` is null."""


class OrganizationMemberRoleChanged(_MemberEvent, frozen=True):
    """A member has another role."""


class OrganizationAgentMoved(AgentEvent, frozen=True, rename={"from_": "from"}):
    """An agent has another owner: `developer:<id>` or `organization:<id>`."""

    from_: str
    to: str


class _RequestEvent(Event, frozen=True):
    is_private: ClassVar[bool] = True

    organization_id: str
    treasury_did: str
    request_id: str
    kind: str
    amount: str | None
    tx_id: int | None

    @property
    def aggregate_id(self) -> str:
        return self.treasury_did


class TreasuryRequestCreated(_RequestEvent, frozen=True):
    """A member made a request, which others may have to approve; `amount` is null where it moves no units."""


class TreasuryRequestApproved(_RequestEvent, frozen=True):
    """A member approved a request."""


class TreasuryRequestRejected(_RequestEvent, frozen=True):
    """A member rejected a request, which ended it."""


class TreasuryRequestExecuted(_RequestEvent, frozen=True):
    """A request was carried out; `tx_id` is the transaction that moved units."""
