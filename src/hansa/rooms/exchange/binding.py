"""Points, subscriptions and orders bind their agent, and a listing its organization, until they end."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import agents, organizations

from . import store
from .errors import OrganizationListed
from .launches import AgentHoldsPoints
from .reading import HIDDEN
from .revenue import levied_of
from .trading import count_orders, require_no_orders

REVOKED = "revoked"
ORDERS = "Cancel its orders."
POINTS = "Sell, transfer or give up its points, or wait for the end of their term."


async def require_unbound(tx: Tx, did: str) -> None:
    """Require that no points, subscription or order bind the agent, which the caller has locked. Raises: AgentHasOrders, AgentHoldsPoints."""
    await require_no_orders(tx, [did])
    if did in await store.binding(tx, [did]):
        raise AgentHoldsPoints


async def blockers_of(tx: Tx, organization: organizations.Organization) -> list[dict[str, Any]]:
    """The live listing, or the revenue that is still levied, that keeps an organization from its end; a draft does not."""
    listing = await store.live_of(tx, organization.id)
    if listing is None or listing.status == "DRAFT":
        if await levied_of(tx, organization.id) is None:
            return []
        detail = (
            "Wait until the revenue of its listing has been levied for the last time, and pay its arrears."
        )
    else:
        detail = "Withdraw its listing from review, or wait until the listing has ended."
    did = organization.treasury_did
    return [{"kind": "listing", "agent_did": did, "amount": "1", "detail": detail}]


async def require_releasing(tx: Tx, organization_id: UUID) -> None:
    """Require that no agent earns the revenue of a listing of its organization that is live or still levied. Raises: OrganizationListed."""
    listing = await store.live_of(tx, organization_id)
    ref = listing.ref if listing is not None and listing.status not in HIDDEN else None
    ref = ref or await levied_of(tx, organization_id)
    if ref is not None:
        raise OrganizationListed(
            "The organization has a listing whose revenue is levied; its agents stay until it has ended.",
            context={"ref": ref},
        )


async def _blockers(tx: Tx, agents_of_developer: Mapping[str, str]) -> list[Blocker]:
    """Points and orders of agents that have not ended: points of a revoked one stand, its orders end."""
    dids = [did for did, status in agents_of_developer.items() if status != REVOKED]
    bound, orders = await read_together(
        tx, lambda tx: store.binding(tx, dids), lambda tx: count_orders(tx, dids)
    )
    return [Blocker("points", did, str(points), POINTS) for did, points in bound.items()] + [
        Blocker("orders", did, str(count), ORDERS) for did, count in orders.items()
    ]


async def _end(tx: Tx, developer_id: int) -> None:
    """Raises: AgentHasOrders, AgentHoldsPoints."""
    owned = await agents.of_developer(tx, developer_id)
    dids = [agent.did for agent in owned if agent.status != REVOKED]
    await require_no_orders(tx, dids)
    if await store.binding(tx, dids):
        raise AgentHoldsPoints


ACCOUNT_END_OF_POINTS = AccountEnd(_blockers, _end)
