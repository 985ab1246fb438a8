"""The keys under which proofs count: every key of this registry."""

from hansa.foundation.plumbing.database import Tx
from hansa.rooms import federation


async def own_keys(tx: Tx) -> dict[str, bytes]:
    """Every key that this registry has or had."""
    return {key.kid: key.public_key for key in await federation.all_keys(tx)}
