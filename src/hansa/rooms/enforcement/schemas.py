"""Shapes of requests and answers about suspension."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec.structs import asdict
from pydantic import AfterValidator, Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody

from . import rules
from .developers import OwnedAgents
from .rules import DeveloperSuspension, Suspension

AGENTS_MAX = 500
REASON_MAX = 2000
BIGINT_MAX = 2**63 - 1


def _stated(reason: str) -> str:
    if not reason.strip():
        raise ValueError("must contain visible text")
    return reason.strip()


Reason = Annotated[str, Field(min_length=1, max_length=REASON_MAX), AfterValidator(_stated)]
Dids = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=512)]],
    Field(min_length=1, max_length=AGENTS_MAX, description="Duplicates count once."),
    AfterValidator(lambda dids: list(dict.fromkeys(dids))),
]


class SuspendAgentsIn(RequestBody):
    """The agents to suspend, and the reason."""

    agent_dids: Dids
    reason: Reason = Field(description="Stored at this registry and shown only to administrators.")
    soft_suspend: StrictBool = Field(
        default=False, description="Do not change workload identity and ledger account."
    )


class ReinstateAgentsIn(RequestBody):
    """Which agents to reinstate."""

    agent_dids: Dids
    reason: Annotated[str, Field(max_length=REASON_MAX)] | None = None
    soft_reinstate: StrictBool = Field(
        default=False, description="Do not change workload identity and ledger account."
    )


class RevokeAgentsIn(LazyModel):
    """The suspended agents to revoke permanently, and the reason."""

    agent_dids: Dids
    reason: Reason


class SuspendDeveloperIn(LazyModel):
    """Why a developer is suspended."""

    reason: Reason = Field(description="Stored at this registry and shown only to administrators.")


class ReinstateDeveloperIn(LazyModel):
    """Why a developer is reinstated."""

    reason: Annotated[str, Field(max_length=REASON_MAX)] | None = None


class StoppedOut(LazyModel):
    """The result for one agent."""

    agent_did: str
    registry: rules.Stop
    mtls: rules.IdentityRevocation
    teg: rules.AccountSuspension


class RestoredOut(LazyModel):
    """The result of the reinstatement for one agent."""

    agent_did: str
    registry: rules.Return
    mtls: rules.IdentityRestoration
    teg: rules.AccountReinstatement


class EndedOut(LazyModel):
    """The result of the revocation for one agent."""

    agent_did: str
    registry: rules.End
    mtls: rules.IdentityRevocation
    teg: rules.AccountSuspension


class StoppedAgentsOut(LazyModel):
    """One row for each agent, in the order of the request."""

    results: list[StoppedOut]

    @classmethod
    def of(cls, rows: Sequence[rules.Stopped]) -> "StoppedAgentsOut":
        return cls(results=[StoppedOut(**asdict(row)) for row in rows])


class RestoredAgentsOut(LazyModel):
    """One row for each agent, in the order of the request."""

    results: list[RestoredOut]

    @classmethod
    def of(cls, rows: Sequence[rules.Restored]) -> "RestoredAgentsOut":
        return cls(results=[RestoredOut(**asdict(row)) for row in rows])


class EndedAgentsOut(LazyModel):
    """One row for each agent, in the order of the request."""

    results: list[EndedOut]

    @classmethod
    def of(cls, rows: Sequence[rules.Ended]) -> "EndedAgentsOut":
        return cls(results=[EndedOut(**asdict(row)) for row in rows])


class StoppedDeveloperOut(StoppedAgentsOut):
    """A suspended developer, with one row for each agent."""

    developer_id: int
    status: str = Field(examples=["suspended"])

    @classmethod
    def under(cls, developer_id: int, rows: Sequence[rules.Stopped]) -> "StoppedDeveloperOut":
        return cls(
            developer_id=developer_id, status="suspended", results=[StoppedOut(**asdict(row)) for row in rows]
        )


class RestoredDeveloperOut(RestoredAgentsOut):
    """A reinstated developer, with one row for each agent."""

    developer_id: int
    status: str = Field(examples=["active"])

    @classmethod
    def under(cls, developer_id: int, rows: Sequence[rules.Restored]) -> "RestoredDeveloperOut":
        return cls(
            developer_id=developer_id, status="active", results=[RestoredOut(**asdict(row)) for row in rows]
        )


class SuspendOrganizationIn(LazyModel):
    """Why an organization is suspended or reinstated."""

    reason: Reason = Field(description="Stored at this registry and shown only to administrators.")


class StoppedOrganizationOut(StoppedAgentsOut):
    """A suspended organization, with one row for its treasury and each agent."""

    organization_id: UUID
    status: str = Field(examples=["suspended"])

    @classmethod
    def under(cls, organization_id: UUID, rows: Sequence[rules.Stopped]) -> "StoppedOrganizationOut":
        results = [StoppedOut(**asdict(row)) for row in rows]
        return cls(organization_id=organization_id, status="suspended", results=results)


class RestoredOrganizationOut(RestoredAgentsOut):
    """A reinstated organization, with one row for each account and agent that returned with it."""

    organization_id: UUID
    status: str = Field(examples=["active"])

    @classmethod
    def under(cls, organization_id: UUID, rows: Sequence[rules.Restored]) -> "RestoredOrganizationOut":
        results = [RestoredOut(**asdict(row)) for row in rows]
        return cls(organization_id=organization_id, status="active", results=results)


class DeveloperSuspensionOut(LazyModel):
    """The suspension of a developer."""

    reason: str
    suspended_by: int = Field(description="The administrator's id.")
    suspended_at: datetime

    @classmethod
    def of(cls, suspension: DeveloperSuspension) -> "DeveloperSuspensionOut":
        return cls(**asdict(suspension))


class SuspensionOut(LazyModel):
    """An open suspension of an agent."""

    basis: rules.Basis = Field(
        description="Whether the suspension names the agent, its developer or its organization, or an ancestor of the child is suspended."
    )
    soft: bool
    reason: str
    suspended_by: int = Field(description="The administrator's id.")
    suspended_at: datetime

    @classmethod
    def of(cls, suspension: Suspension) -> "SuspensionOut":
        return cls(**asdict(suspension))


class OwnedAgentOut(LazyModel):
    """An agent of a developer."""

    agent_did: str
    client_id: str
    name: str
    status: str = Field(description="`active`, `suspended` or `revoked`.")
    roles: list[str]
    created_at: datetime
    last_active_at: datetime | None
    suspensions: list[SuspensionOut]


class OwnedAgentsOut(Page[OwnedAgentOut]):
    """The agents of a developer, the oldest first."""

    developer_id: int
    developer_name: str
    developer_status: str = Field(description="`active` or `suspended`.")
    developer_suspension: DeveloperSuspensionOut | None

    @classmethod
    def of(cls, owned: OwnedAgents, *, limit: int, offset: int) -> "OwnedAgentsOut":
        suspension = owned.developer_suspension
        return cls(
            developer_id=owned.developer_id,
            developer_name=owned.developer_name,
            developer_status="suspended" if suspension else "active",
            developer_suspension=DeveloperSuspensionOut.of(suspension) if suspension else None,
            items=[
                OwnedAgentOut(
                    agent_did=agent.did,
                    client_id=agent.client_id,
                    name=agent.name,
                    status=agent.status,
                    roles=list(agent.roles),
                    created_at=agent.created_at,
                    last_active_at=agent.last_active_at,
                    suspensions=[SuspensionOut.of(one) for one in suspensions],
                )
                for agent, suspensions in owned.agents
            ],
            pagination=Pagination.of(total=owned.total, limit=limit, offset=offset),
        )
