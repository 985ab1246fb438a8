"""Answers about organizations, their members, teams and requests."""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from .record import Record

Visibility = Literal["private", "public"]
Role = Literal["viewer", "member", "admin", "owner"]
Grant = Literal["read", "operate", "manage"]


class OrganizationCounts(Record, frozen=True):
    """Sizes of an organization."""

    members: int
    agents: int
    teams: int


class Organization(Record, frozen=True):
    """An organization; `role` is that of the developer who asks, None for anybody else."""

    id: str
    slug: str
    name: str
    description: str
    visibility: str
    treasury_did: str
    status: str
    created_at: datetime
    role: str | None
    counts: OrganizationCounts


class RequestApproval(Record, frozen=True):
    """Approval of a request."""

    developer_id: int
    at: datetime


class RequestResult(Record, frozen=True):
    """Result of a request that moved units or made a contract."""

    tx_id: int | None = None
    transfer_id: str | None = None
    contract_id: int | None = None


class OrganizationRequest(Record, frozen=True):
    """A request that others of the organization approve before it is carried out."""

    request_id: str
    kind: str
    body: dict[str, Any]
    initiator: int
    status: str
    approvals_needed: int
    approvals: list[RequestApproval]
    expires_at: datetime
    executes_at: datetime | None = None
    reason: str | None = None
    note: str | None = None
    result: RequestResult | None = None


class TreasuryBalances(Record, frozen=True):
    """Units of the treasury."""

    liquid: Decimal
    staked: Decimal
    escrow: Decimal


class OrganizationSummary(Record, frozen=True):
    """An organization at a glance; `waiting_for_me` are pending requests that the developer may approve."""

    counts: OrganizationCounts
    balances: TreasuryBalances
    waiting_for_me: list[OrganizationRequest]


class OrganizationAct(Record, frozen=True):
    """An act in an organization; `digest` is the SHA-256 of its members, in hex."""

    at: datetime
    actor: int
    credential: str
    act: str
    target: str
    digest: str


class OrganizationMember(Record, frozen=True):
    """A member; `name` is None for a closed account."""

    developer_id: int
    name: str | None
    role: str
    teams: list[str]
    joined_at: datetime


class ChangedMember(Record, frozen=True):
    """A member after a change; `role` is None where the membership has ended.

    `secrets_to_rotate` are the DIDs of agents whose present secret the developer has read.
    """

    developer_id: int
    role: str | None
    secrets_to_rotate: list[str]


class SentInvitation(Record, frozen=True):
    """An invitation that was mailed."""

    invitation_id: str
    expires_at: datetime


class OrganizationInvitation(Record, frozen=True):
    """A pending invitation as the admins of the organization read it."""

    invitation_id: str
    email: str
    role: str
    team_ids: list[str]
    invited_by: int
    created_at: datetime
    expires_at: datetime


class InvitingOrganization(Record, frozen=True):
    """Organization of an invitation."""

    slug: str
    name: str


class OwnInvitation(Record, frozen=True):
    """A pending invitation as its receiver reads it; the token is in the mail alone."""

    invitation_id: str
    organization: InvitingOrganization
    role: str
    created_at: datetime
    expires_at: datetime


class Team(Record, frozen=True):
    """A team; `grant` is the right of its members at its agents."""

    id: str
    slug: str
    grant: str
    members: list[int]
    agents: list[str]
    created_at: datetime


class OwnerAppointment(Record, frozen=True):
    """Appointment of an owner by an administrator."""

    id: str
    organization_id: str
    developer_id: int
    reason: str
    status: str
    created_at: datetime
    effective_at: datetime
    ended_at: datetime | None = None


class EnforcementResult(Record, frozen=True):
    """Result of a suspension or reinstatement for the treasury or one agent: its status, its workload identity, its account."""

    agent_did: str
    registry: str
    mtls: str
    teg: str


class EnforcedOrganization(Record, frozen=True):
    """A suspended or reinstated organization, with a result for its treasury and for each agent that followed."""

    organization_id: str
    status: str
    results: list[EnforcementResult]


class Deletion(Record, frozen=True):
    """The object does not exist any more."""

    deleted: bool
