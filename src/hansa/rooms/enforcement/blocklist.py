"""Blocklist of the registry: it follows the withheld identities, by a reactor."""

from hansa.foundation.events import AgentReinstated, AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import store


async def _follow(tx: Tx, event: StoredEvent) -> None:
    # The present state counts, not the event: late and repeated events then do no harm.
    did = event.data["did"]
    await federation.put_on_blocklist(tx, did, since=await store.withheld_since(tx, did))


BLOCKLIST = Reactor("enforcement: blocklist", (AgentSuspended, AgentReinstated, AgentRevoked), _follow)
