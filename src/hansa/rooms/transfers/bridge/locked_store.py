"""The SQL of own units that are locked while agents of a peer hold them wrapped. Each is changed under the lock of the pair.

`CHECK (locked >= 0)`: no agent of a peer redeems more than is locked for it. Wrapped units cannot be passed on, so that it holds no
others.
"""

from hansa.foundation.plumbing.storage.database import Tx

_ADD = """
INSERT INTO transfers_locked AS row (peer, holder_did, locked) VALUES ($1, $2, $3)
ON CONFLICT (peer, holder_did) DO UPDATE SET locked = row.locked + excluded.locked
"""

_ARE_LOCKED = """
SELECT EXISTS (SELECT FROM transfers_locked WHERE peer = $1 AND holder_did = $2 AND locked >= $3)
"""


async def lock(tx: Tx, peer: str, holder_did: str, amount: int) -> None:
    """Add `amount` to the units locked for this holder."""
    await tx.execute(_ADD, peer, holder_did, amount)


async def unlock(tx: Tx, peer: str, holder_did: str, amount: int) -> None:
    """The holder redeemed as many, which `are_locked` found."""
    statement = "UPDATE transfers_locked SET locked = locked - $3 WHERE peer = $1 AND holder_did = $2"
    done = await tx.execute(statement, peer, holder_did, amount)
    assert done == "UPDATE 1"


async def are_locked(tx: Tx, peer: str, holder_did: str, amount: int) -> bool:
    """Return whether at least `amount` units are locked for this holder."""
    return bool(await tx.fetchval(_ARE_LOCKED, peer, holder_did, amount))
