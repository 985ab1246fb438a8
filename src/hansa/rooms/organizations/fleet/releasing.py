"""Kind `release`: an agent with an empty account goes to the owner who asks. It is a control request."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from uuid import UUID

from hansa.foundation.events import OrganizationAgentMoved
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, catalogue, journal, ledger
from hansa.rooms.organizations import audit
from hansa.rooms.organizations.records import NOTHING, Acting, Organization, Outcome, Request
from hansa.rooms.organizations.requests.kinds import RequestKind, demands_of_control
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.teams import store as teams

RequireReleasing: TypeAlias = Callable[[Tx, UUID], Awaitable[None]]
REQUIRE_RELEASING: Slot[RequireReleasing] = Slot("organizations: agents may leave")
"""Raises Conflict when what the organization has sold keeps the agents of that locked organization in it."""


async def _execute(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: AccountHoldsUnits, CrossingPending, as `agents.move_to_developer`, and the errors of `REQUIRE_RELEASING`."""
    await REQUIRE_RELEASING.of(acting.runtime)(tx, organization.id)
    did, developer_id = request.body["did"], request.body["developer_id"]
    require_unbound = agents.REQUIRE_UNBOUND.of(acting.runtime)
    await agents.move_to_developer(tx, did, organization.id, developer_id, require_unbound)
    await ledger.require_empty(tx, did)
    await teams.forget_agent(tx, did)
    await catalogue.notify_changed(tx)
    await audit.record(tx, organization.id, acting.actor, "agent.release", did)
    moved = OrganizationAgentMoved(
        did, from_=f"organization:{organization.id}", to=f"developer:{developer_id}"
    )
    await journal.append(tx, moved)
    return NOTHING


RELEASE = RequestKind("release", demands_of_control, _execute, role=Role.OWNER, is_unique=True)
