"""An agent that sends a heartbeat counts as seen alive, as one that answers a call does.

The newer of the two observations stands: a call that fails afterwards makes the agent unreachable again.
"""

from hansa.foundation.plumbing.database import Tx

from . import store


async def note_heartbeat(tx: Tx, did: str) -> None:
    """Mark the card of an own agent as alive now. Repeated within seconds it writes nothing."""
    await store.stamp_heartbeat(tx, did)
