"""Organizations, their members, teams, invitations and requests, as they are read."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor

from .approvals.rules import Demand
from .rules import Role


class Organization(msgspec.Struct, frozen=True):
    """An organization, with the role of the developer who asks; None for anybody else."""

    id: UUID
    slug: str
    name: str
    description: str
    visibility: str
    treasury_did: str
    status: str
    created_at: datetime
    role: Role | None


class Counts(msgspec.Struct, frozen=True):
    """Members, agents and teams of an organization."""

    members: int
    agents: int
    teams: int


class Shown(msgspec.Struct, frozen=True):
    """An organization with its counts."""

    organization: Organization
    counts: Counts


class Member(msgspec.Struct, frozen=True):
    """A member, with the slugs of the teams; `name` is None for a closed account."""

    developer_id: int
    name: str | None
    role: Role
    teams: tuple[str, ...]
    joined_at: datetime


class Changed(msgspec.Struct, frozen=True):
    """Change of a membership: the new role, None where it has ended, and the agents whose secret the developer read."""

    developer_id: int
    role: Role | None
    secrets_to_rotate: tuple[str, ...]


class Team(msgspec.Struct, frozen=True):
    """A team; `held_right` is its right at its agents."""

    id: UUID
    slug: str
    held_right: int
    created_at: datetime
    members: tuple[int, ...] = ()
    agents: tuple[str, ...] = ()


class Invitation(msgspec.Struct, frozen=True):
    """An invitation as the admins of the organization read it."""

    id: UUID
    email: str
    role: Role
    team_ids: tuple[UUID, ...]
    invited_by: int
    created_at: datetime
    expires_at: datetime


class OwnInvitation(msgspec.Struct, frozen=True):
    """A pending invitation as its receiver reads it."""

    id: UUID
    slug: str
    name: str
    role: Role
    created_at: datetime
    expires_at: datetime


class Approval(msgspec.Struct, frozen=True):
    """Approval of a request."""

    developer_id: int
    at: datetime


class Actor(msgspec.Struct, frozen=True):
    """Developer who acts, with the credential: a session, `api-key:<id>`, or the cause of an act without a request of its own."""

    id: int
    session: str


class Acting(msgspec.Struct, frozen=True):
    """Developer who acts, and the process in which."""

    runtime: Runtime
    actor: Actor

    @classmethod
    def by(cls, runtime: Runtime, developer: Developer) -> "Acting":
        """The act of a developer with the credential of a request."""
        return cls(runtime, Actor(developer.id, developer.session))


class Outcome(msgspec.Struct, frozen=True):
    """Result of a request: a ledger transaction, a transfer to another registry or a contract. `is_decided`: the units have arrived."""

    tx_id: int | None = None
    transfer_id: UUID | None = None
    contract_id: int | None = None
    is_decided: bool = True


NOTHING = Outcome()


class NewRequest(msgspec.Struct, frozen=True):
    """Request that a member makes; `amount` in minor units, where it moves units."""

    body: dict[str, Any]
    amount: Minor | None = None
    note: str | None = None
    concerned_id: int | None = None


class Request(msgspec.Struct, frozen=True):
    """A request that others must approve before it is carried out; `demands` are those of the moment at which it was made."""

    id: UUID
    kind: str
    body: dict[str, Any]
    concerned_id: int | None
    initiator_id: int
    status: str
    created_at: datetime
    expires_at: datetime
    reason: str | None
    amount: Minor | None = None
    note: str | None = None
    demands: tuple[Demand, ...] = ()
    approvals_needed: int = 0
    executes_at: datetime | None = None
    tx_id: int | None = None
    transfer_id: UUID | None = None
    contract_id: int | None = None
    approvals: tuple[Approval, ...] = ()


class PaidRequest(msgspec.Struct, frozen=True):
    """Request that moved units within this registry, with its transaction in the ledger."""

    request_id: UUID
    tx_id: int
    amount: Minor | None


class Appointment(msgspec.Struct, frozen=True):
    """Appointment of an owner by an administrator."""

    id: UUID
    organization_id: UUID
    developer_id: int
    reason: str
    administrator_id: int
    status: str
    created_at: datetime
    effective_at: datetime
    ended_at: datetime | None


class Done(msgspec.Struct, frozen=True):
    """One act in the organization; `digest` in hex."""

    at: datetime
    actor: int
    credential: str
    act: str
    target: str
    digest: str
