"""A developer who follows the live feed: whose agents' channels are open to them."""

from collections.abc import Collection

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.errors import DeveloperSuspended
from hansa.rooms import agents, standing


async def owned_among(tx: Tx, developer_id: int, dids: Collection[str]) -> frozenset[str]:
    """Those of the DIDs that are agents of the developer, suspended and revoked ones too. Raises: DeveloperSuspended."""
    if await standing.is_developer_suspended(tx, developer_id):
        raise DeveloperSuspended("Your account is suspended: it follows none of its agents.")
    return await agents.owned_among(tx, developer_id, dids)
