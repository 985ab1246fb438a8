"""Orders end by themselves: at their time, with their listing, and of suspended or revoked agents, by jobs."""

from hansa.foundation.events import AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.jobs import Job, LeasedKind, TransactionalKind, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, journal

from . import store
from .ending import end_of_agent, end_of_listing, expire_due, lock_listing
from .records import EXPIRY

STOPPED = "exchange: orders of stopped agents"
ENDED = "exchange: orders of ended listings"


async def _follow(tx: Tx, event: journal.StoredEvent) -> None:
    # A reactor appends no events: the job does.
    if event.event_type == AgentRevoked.__name__ or not event.data["soft"]:
        await enqueue(tx, STOPPED, event.data["did"], {"did": event.data["did"]})


async def _end_orders(runtime: Runtime, job: Job) -> None:
    did = job.payload["did"]

    async def end(tx: Tx, ref: str) -> None:
        # One that was reinstated meanwhile keeps its orders.
        if (await agents.lock_status(tx, did)) != "active":
            await end_of_agent(tx, did, ref, runtime.settings)

    for ref in await runtime.database.read(lambda tx: store.refs_of_open(tx, did)):
        await runtime.database.transaction(lambda tx, ref=ref: end(tx, ref))  # type: ignore[misc]


async def _end_of_listing(runtime: Runtime, job: Job) -> None:
    while await runtime.database.transaction(lambda tx: end_of_listing(tx, job.key, runtime.settings)):
        pass


async def _expire(tx: Tx, runtime: Runtime, job: Job) -> None:
    listing = await lock_listing(tx, job.payload["ref"])
    while await expire_due(tx, listing, runtime.settings):
        pass


ORDERS_FOLLOW = journal.Reactor(
    "exchange: orders follow their agents", (AgentSuspended, AgentRevoked), _follow
)
ORDERS_OF_STOPPED = LeasedKind(STOPPED, _end_orders)
ORDERS_OF_ENDED = LeasedKind(ENDED, _end_of_listing)
ORDER_EXPIRY = TransactionalKind(EXPIRY, _expire)
