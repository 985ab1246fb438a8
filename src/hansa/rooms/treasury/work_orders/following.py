"""Work orders follow their organizations, and bids their agents: a reactor of suspensions and ends."""

from hansa.foundation.events import AgentReinstated, AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store


async def _follow(tx: Tx, event: journal.StoredEvent) -> None:
    did = event.data["did"]
    if event.event_type == AgentRevoked.__name__:
        await store.withdraw_all_of(tx, did)
    else:
        await store.hide(tx, did, is_hidden=event.event_type == AgentSuspended.__name__)


WORK_ORDERS_FOLLOW = journal.Reactor(
    "treasury: work orders follow agents", (AgentSuspended, AgentReinstated, AgentRevoked), _follow
)
