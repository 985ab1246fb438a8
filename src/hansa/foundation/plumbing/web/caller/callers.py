"""Callers by their credential: a developer, an agent, or a person who sets a password."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.connections import GrantBounds
from hansa.foundation.values.errors import DeveloperSuspended
from hansa.foundation.values.rights import Owner
from hansa.foundation.values.scopes import EVERY_SCOPE, allows

from .errors import AreaMissing, AreasWithheld, ScopeMissing


class Developer(msgspec.Struct, frozen=True):
    """A person. `areas` are those administered now, none while `are_areas_withheld`: the person is suspended.

    `is_admin`: the operator made this person an administrator.
    `session` is a login, or `api-key:<id>`. `scopes` narrow the rights of a credential; a developer token is never narrow.
    `has_second_factor`: an authenticator app is on for the account. `second_factor_at`: moment of the code or of the approval on a phone at the
    login, or at the login that made the API key; None without one, and once the app or the phones are gone.
    """

    id: int
    email: str
    session: str
    is_verified: bool
    areas: frozenset[str]
    is_admin: bool
    scopes: frozenset[str] = frozenset({EVERY_SCOPE})
    has_second_factor: bool = False
    second_factor_at: datetime | None = None
    are_areas_withheld: bool = False
    is_suspended: bool = False

    @property
    def sender(self) -> str:
        """Name of the caller in limits and Idempotency-Keys."""
        return f"developer:{self.id}"

    @property
    def areas_in_reach(self) -> frozenset[str]:
        """The areas that this credential opens."""
        return frozenset(area for area in self.areas if allows(self.scopes, f"admin:{area}"))

    def require(self, scope: str) -> None:
        """Raises: ScopeMissing."""
        if not allows(self.scopes, scope):
            raise ScopeMissing(context={"scope": scope})

    def require_not_suspended(self) -> None:
        """Raises: DeveloperSuspended."""
        if self.is_suspended:
            raise DeveloperSuspended

    def require_area(self, area: str, detail: str | None = None) -> None:
        """The person administers the area now. Raises: AreasWithheld, AreaMissing with this detail."""
        if self.are_areas_withheld:
            raise AreasWithheld
        if area not in self.areas:
            raise AreaMissing(detail, context={"area": area})


class ReadBounds(Protocol):
    """Reader of a grant's row, which stays locked until the transaction ends with `locked`. Raises: Unauthorized, for a grant that has ended."""

    async def __call__(self, tx: Tx, grant_id: UUID, /, *, locked: bool) -> GrantBounds: ...


class Grant(msgspec.Struct, frozen=True):
    """Grant under which a connected client acts as an agent; `client` is the name that its owner knows."""

    id: UUID
    client: str
    read_bounds: ReadBounds


class Agent(msgspec.Struct, frozen=True):
    """One agent, by agent token or under a grant; active at the moment it was asked."""

    did: str
    developer_id: int
    roles: tuple[str, ...]
    permissions: frozenset[str]
    is_governed: bool
    """Its owner bounds its payments, by a policy or by a grant."""
    version: int | None = None
    """Version that the transaction compares; None where the agent was read for this request."""
    organization_id: UUID | None = None
    """Organization that owns the agent; None where the developer does."""
    grant: Grant | None = None
    """Grant of the client that acts as the agent."""

    def __post_init__(self) -> None:
        assert self.grant is None or (self.is_governed and self.version is None), "a grant governs"

    @property
    def sender(self) -> str:
        """Name of the caller in limits and Idempotency-Keys."""
        return self.did

    @property
    def owner(self) -> Owner:
        """The owner of the agent."""
        return Owner.of(self.developer_id, self.organization_id)

    @property
    def grant_id(self) -> UUID | None:
        """The id of the grant, or None where no connected client acts."""
        return self.grant.id if self.grant else None


class AgentSession(msgspec.Struct, frozen=True):
    """An active agent that proved its secret, and when, by the database's clock; its tokens carry the session."""

    did: str
    session: str
    at: datetime


class AgentToJudge(msgspec.Struct, frozen=True):
    """One agent, by agent token; its permission is not judged yet."""

    did: str
    permitted: Callable[[], Agent]
    """The agent, if it holds the permission of the route. Raises: PermissionMissing."""


class PasswordSetter(msgspec.Struct, frozen=True):
    """Somebody who may set a new password without the old one; `grant` is that right, good once."""

    developer_id: int
    grant: UUID
