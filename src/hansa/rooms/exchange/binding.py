"""Points and subscriptions bind their agent, and a listing its organization, until they end."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, organizations

from . import store
from .errors import OrganizationListed
from .launches import AgentHoldsPoints
from .reading import HIDDEN

REVOKED = "revoked"
POINTS = "Sell, transfer or give up its points, or wait for the end of their term."


async def require_unbound(tx: Tx, did: str) -> None:
    """Require that neither points nor a subscription bind the agent, which the caller has locked. Raises: AgentHoldsPoints."""
    if did in await store.binding(tx, [did]):
        raise AgentHoldsPoints


async def blockers_of(tx: Tx, organization: organizations.Organization) -> list[dict[str, Any]]:
    """The live listing that keeps an organization from its end; a draft does not."""
    listing = await store.live_of(tx, organization.id)
    if listing is None or listing.status == "DRAFT":
        return []
    detail = "Withdraw its listing from review, or wait until the listing has ended."
    did = organization.treasury_did
    return [{"kind": "listing", "agent_did": did, "amount": "1", "detail": detail}]


async def require_releasing(tx: Tx, organization_id: UUID) -> None:
    """Require that no agent earns the revenue of a live listing of its organization. Raises: OrganizationListed."""
    listing = await store.live_of(tx, organization_id)
    if listing is not None and listing.status not in HIDDEN:
        raise OrganizationListed(
            "The organization has a live listing; its agents stay until it has ended.",
            context={"ref": listing.ref},
        )


async def _blockers(tx: Tx, agents_of_developer: Mapping[str, str]) -> list[Blocker]:
    """Points of agents that have not ended: those of a revoked one stand."""
    bound = await store.binding(tx, [did for did, status in agents_of_developer.items() if status != REVOKED])
    return [Blocker("points", did, str(points), POINTS) for did, points in bound.items()]


async def _end(tx: Tx, developer_id: int) -> None:
    """Raises: AgentHoldsPoints."""
    owned = await agents.of_developer(tx, developer_id)
    if await store.binding(tx, [agent.did for agent in owned if agent.status != REVOKED]):
        raise AgentHoldsPoints


ACCOUNT_END_OF_POINTS = AccountEnd(_blockers, _end)
