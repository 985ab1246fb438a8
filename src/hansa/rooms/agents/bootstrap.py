"""Give a developer a bootstrap token, for an own agent or for one of an organization.

Check that a developer may create agents: the rooms above that suspend developers and know the members of organizations decide.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeAlias
from uuid import UUID

import msgspec
from fastapi import Depends

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED, Developer
from hansa.foundation.values.errors import DeveloperSuspended
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store

IsSuspended: TypeAlias = Callable[[Tx, int], Awaitable[bool]]
"""Whether the developer of that id is suspended; while it says no, nobody suspends them before the transaction ends."""
OwnerSuspension = Annotated[IsSuspended, Depends(IS_DEVELOPER_SUSPENDED.given)]
ORGANIZATION_SCOPE = "orgs:write"
"""Scope of an API key that also creates agents of organizations."""


class OrganizationAgents(msgspec.Struct, frozen=True):
    """Creation of agents of organizations, as the room of organizations judges and records it."""

    hold: Callable[[Tx, int, str], Awaitable[UUID]]
    """Return the id of the active organization that the developer administers and that has room for one more agent.

    It takes the id or the slug. Nothing of that changes before the transaction ends. Raises: NotFound, OrgRoleRequired, Conflict.
    """
    hold_for_agent: Callable[[Tx, UUID], Awaitable[None]]
    """Require that the organization of an agent is active and has room for one more; nothing of that changes before the transaction ends.

    Raises: Conflict.
    """
    record: Callable[[Tx, int, UUID, str], Awaitable[None]]
    """Record that the developer created the agent of the organization."""


ORGANIZATION_AGENTS: Slot[OrganizationAgents] = Slot("agents: creation of agents of organizations")
AgentsOfOrganizations = Annotated[OrganizationAgents, Depends(ORGANIZATION_AGENTS.given)]


@dataclass(frozen=True)
class IssuedToken:
    """A new bootstrap token and its end by the database's clock."""

    token: str = field(repr=False)
    expires_at: datetime


async def issue_bootstrap_token(
    tx: Tx,
    developer: Developer,
    *,
    agent_type_hint: str | None,
    requested_by: str | None,
    lifetime_seconds: int,
    is_suspended: IsSuspended,
    organization: str | None = None,
    organizations: OrganizationAgents,
) -> IssuedToken:
    """A token that creates one agent for this developer, or for the organization with this id or slug.

    Raises: DeveloperUnverified, DeveloperSuspended, ScopeMissing, and the errors of `OrganizationAgents.hold`.
    """
    rules.require_verified(is_verified=developer.is_verified)
    await require_not_suspended(tx, developer.id, is_suspended)
    organization_id = None
    if organization is not None:
        developer.require(ORGANIZATION_SCOPE)
        organization_id = await organizations.hold(tx, developer.id, organization)
    token = new_hex("bst_")
    expires_at = await store.insert_bootstrap_token(
        tx,
        token_sha256=fingerprint(token),
        developer_id=developer.id,
        organization_id=organization_id,
        agent_type_hint=agent_type_hint,
        requested_by=requested_by,
        lifetime_seconds=lifetime_seconds,
    )
    return IssuedToken(token, expires_at)


async def forget_bootstrap_tokens(tx: Tx, developer_id: int) -> None:
    """Delete the developer's tokens; one that a creation under way has burned is waited for."""
    await store.delete_bootstrap_tokens(tx, developer_id)


async def require_not_suspended(tx: Tx, developer_id: int, is_suspended: IsSuspended) -> None:
    """Raises: DeveloperSuspended."""
    if await is_suspended(tx, developer_id):
        raise DeveloperSuspended
