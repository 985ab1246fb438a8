"""Whom the ledgers refuse: agents whose accounts are withheld. It follows what happened by a reactor."""

from hansa.foundation.events import AgentReinstated, AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.database import Tx
from hansa.rooms import journal

from . import store


async def is_blocklisted(tx: Tx, did: str) -> bool:
    """Whether transfers to and from that agent are to be refused across frames."""
    return await store.is_blocked(tx, did)


async def _follow(tx: Tx, event: journal.StoredEvent) -> None:
    # Not what the event says counts but what stands now: late and repeated events then do no harm.
    await store.follow_on_the_blocklist(tx, event.data["did"])


BLOCKLIST = journal.Reactor("standing: blocklist", (AgentSuspended, AgentReinstated, AgentRevoked), _follow)
