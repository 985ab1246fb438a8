"""Callers by their credential: a developer, an agent, or a person who sets a password."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.values.errors import DeveloperSuspended
from hansa.foundation.values.scopes import EVERY_SCOPE, allows

from .errors import AreaMissing, AreasWithheld, ScopeMissing


class Developer(msgspec.Struct, frozen=True):
    """A person. `areas` are those administered now, none while `are_areas_withheld`: the person is suspended.

    `is_admin`: the operator made this person an administrator.
    `session` is a login, or `api-key:<id>`. `scopes` narrow the rights of a credential; a developer token is never narrow.
    `has_second_factor`: two-factor login is on for the account. `second_factor_at`: moment of the code that the login gave, or the login that made the
    API key; None without a code, and once the app of that code is turned off.
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


class Agent(msgspec.Struct, frozen=True):
    """One agent, by agent token; active at the moment it was asked."""

    did: str
    developer_id: int
    roles: tuple[str, ...]
    permissions: frozenset[str]
    is_governed: bool
    """Its owner bounds its payments by a policy."""
    version: int | None = None
    """Version that the transaction compares; None where the agent was read for this request."""


class AgentToJudge(msgspec.Struct, frozen=True):
    """One agent, by agent token; its permission is not judged yet."""

    did: str
    permitted: Callable[[], Agent]
    """The agent, if it holds the permission of the route. Raises: PermissionMissing."""


class PasswordSetter(msgspec.Struct, frozen=True):
    """Somebody who may set a new password without the old one; `grant` is that right, good once."""

    developer_id: int
    grant: UUID
