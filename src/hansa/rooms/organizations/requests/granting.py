"""Kind `grant`: an invitation, a role or a place in a team that gives a right to approve. It is a control request: no one person makes an approver.

What is granted stands in `act` of the body; its room is in the slot `GRANTS`.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias
from uuid import UUID

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.approvals import rules
from hansa.rooms.organizations.approvals import store as approvals
from hansa.rooms.organizations.records import NOTHING, Acting, Organization, Outcome, Request
from hansa.rooms.organizations.rules import Role

from .kinds import RequestKind, demands_of_control

Granted: TypeAlias = Callable[[Tx, Acting, Organization, Request], Awaitable[object]]
GRANTS: Slot[Mapping[str, Granted]] = Slot("organizations: rights to approve")
INVITATION, ROLE, TEAM = "invitation", "role", "team"


async def gives_approval(
    tx: Tx,
    organization_id: UUID,
    role: Role | None = None,
    team_ids: Collection[UUID] = (),
    *,
    held: Role | None = None,
) -> bool:
    """Return whether a role, or a place in one of these teams, gives a right to approve under the present tiers that the `held` role does not."""
    return rules.gives_approval(await approvals.tiers_of(tx, organization_id), role, team_ids, held=held)


async def _execute(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: the errors of the grant."""
    await GRANTS.of(acting.runtime)[request.body["act"]](tx, acting, organization, request)
    return NOTHING


GRANT = RequestKind("grant", demands_of_control, _execute, is_unique=True)
