"""Ends of grants, each with its event: revoked, a change of the password, the end of the agent or the account, time over."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.events import AgentRevoked, ConnectionEnded
from hansa.foundation.plumbing.jobs import Job, TransactionalKind, enqueue
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store

AGENT_ENDED = "people: end connections of an agent"


async def end_grant(tx: Tx, grant_id: UUID, because: str) -> None:
    """End a grant for this reason, unless it has ended."""
    await _record(tx, await store.end(tx, grant_id, because))


async def end_grants_of(tx: Tx, developer_id: int, because: str) -> None:
    """End every grant of a person."""
    await _record(tx, await store.end_of_developer(tx, developer_id, because))


async def end_past_grants(tx: Tx) -> None:
    """End grants whose time is over."""
    await _record(tx, await store.end_past(tx, "expired"))


async def _record(tx: Tx, ended: Sequence[store.Ended]) -> None:
    if ended:
        await journal.append(
            tx,
            *(
                ConnectionEnded(
                    developer_id=one.developer_id,
                    connection_id=str(one.id),
                    agent_did=one.agent_did,
                    client_host=one.client_host,
                    client_name=one.client_name,
                    reason=one.ended_because,
                )
                for one in ended
            ),
        )


async def _follow(tx: Tx, event: StoredEvent) -> None:
    # A reactor appends no events: the job does.
    await enqueue(tx, AGENT_ENDED, event.data["did"])


async def _end_of_agent(tx: Tx, _: Runtime, job: Job) -> None:
    await _record(tx, await store.end_of_agent(tx, job.key, "agent_ended"))


CONNECTIONS_FOLLOW = Reactor("people: connections of ended agents", (AgentRevoked,), _follow)
CONNECTIONS_OF_AGENTS = TransactionalKind(AGENT_ENDED, _end_of_agent)
"""The jobs that end the connections of agents that have ended; no call passes such an agent meanwhile."""
