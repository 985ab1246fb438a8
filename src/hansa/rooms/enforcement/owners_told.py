"""What owners' webhooks are told of their agents and of themselves. It follows what happened by a reactor."""

from hansa.foundation.events import (
    AgentOnboarded,
    AgentReinstated,
    AgentRevoked,
    AgentSuspended,
    DeveloperReinstated,
    DeveloperSuspended,
    Event,
    SpendApprovalRequested,
)
from hansa.foundation.plumbing.database import Tx
from hansa.rooms import agents, journal, people
from hansa.rooms.people import WebhookEvent

TOLD: dict[type[Event], WebhookEvent] = {
    AgentOnboarded: WebhookEvent.AGENT_ONBOARDED,
    AgentSuspended: WebhookEvent.AGENT_SUSPENDED,
    AgentReinstated: WebhookEvent.AGENT_REINSTATED,
    AgentRevoked: WebhookEvent.AGENT_REVOKED,
    SpendApprovalRequested: WebhookEvent.APPROVAL_REQUESTED,
    DeveloperSuspended: WebhookEvent.DEVELOPER_SUSPENDED,
    DeveloperReinstated: WebhookEvent.DEVELOPER_REINSTATED,
}

_BY_NAME = {kind.__name__: outcome for kind, outcome in TOLD.items()}


async def _tell_owner(tx: Tx, event: journal.StoredEvent) -> None:
    # Of a developer's suspension each agent's own event tells as well.
    owner = event.data.get("developer_id") or await agents.owner_of(tx, event.data["did"])
    if owner is not None:
        await people.enqueue_webhook(tx, owner, _BY_NAME[event.event_type], event.data)


OWNERS_TOLD = journal.Reactor("standing: owners told by webhook", tuple(TOLD), _tell_owner)
