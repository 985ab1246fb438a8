"""Background work beside the runs themselves: runs of ended connections and agents are cancelled, old inputs and outputs are deleted."""

from uuid import UUID

from hansa.foundation.events import AgentRevoked, ConnectionEnded
from hansa.foundation.plumbing.jobs import sweep_of
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from . import run_store as store
from .advancing import wake

SWEEP_SECONDS = 3600.0


async def _follow(tx: Tx, event: StoredEvent) -> None:
    if event.event_type == "ConnectionEnded":
        runs = await store.ask_cancel_of_grant(tx, UUID(event.data["connection_id"]))
    else:
        runs = await store.ask_cancel_of_agent(tx, event.data["did"])
    # A reactor appends no events: the job of the run does.
    for run_id in runs:
        await wake(tx, run_id)


RUNS_FOLLOW = Reactor(
    "pipelines: runs of ended connections and agents", (ConnectionEnded, AgentRevoked), _follow
)
FORGET_OUTPUTS = sweep_of(
    "pipelines: inputs and outputs of long ago", SWEEP_SECONDS, store.HAS_OLD, store.erase_old
)
