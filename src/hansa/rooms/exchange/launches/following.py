"""Subscriptions follow their agents: those of a suspended or ended agent are cancelled while the launch is open, by a job that a reactor enqueues."""

from hansa.foundation.events import AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.jobs import Job, LeasedKind, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal
from hansa.rooms.exchange import store as listings

from . import store
from .subscribing import cancel_one, is_open

CANCELLING = "exchange: cancel subscriptions"


async def _follow(tx: Tx, event: journal.StoredEvent) -> None:
    did = event.data["did"]
    if await store.live_of_agent(tx, did):
        await enqueue(tx, CANCELLING, did)


async def _cancel(tx: Tx, did: str, ref: str, runtime: Runtime) -> None:
    listing = await listings.lock(tx, ref)
    found = await store.newest_of(tx, ref, did)
    if listing is not None and is_open(listing) and found is not None and found.status == "subscribed":
        await cancel_one(tx, found, listing.price, runtime)


async def _cancel_all(runtime: Runtime, job: Job) -> None:
    for ref in await runtime.database.read(lambda tx: store.live_of_agent(tx, job.key)):
        await runtime.database.transaction(lambda tx, ref=ref: _cancel(tx, job.key, ref, runtime))  # type: ignore[misc]


CANCEL_SUBSCRIPTIONS = LeasedKind(CANCELLING, _cancel_all)
SUBSCRIPTIONS_FOLLOW = journal.Reactor(
    "exchange: subscriptions follow agents", (AgentSuspended, AgentRevoked), _follow
)
