"""Organizations, their members, teams, invitations and requests, as they are read."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

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


class Request(msgspec.Struct, frozen=True):
    """A request that others must approve before it is carried out."""

    id: UUID
    kind: str
    body: dict[str, Any]
    concerned_id: int | None
    initiator_id: int
    status: str
    created_at: datetime
    expires_at: datetime
    reason: str | None
    approvals: tuple[Approval, ...] = ()


class Done(msgspec.Struct, frozen=True):
    """One act in the organization; `digest` in hex."""

    at: datetime
    actor: int
    credential: str
    act: str
    target: str
    digest: str
