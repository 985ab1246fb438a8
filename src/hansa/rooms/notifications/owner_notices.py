"""Owner notices: webhooks of owners about their agents and their account. A reactor follows the journal."""

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
from hansa.foundation.plumbing.reactors import Reactor, StoredEvent
from hansa.rooms import agents

from .webhooks import WebhookEvent, enqueue_webhook

# Of a developer's suspension each agent's own event notifies as well.
NOTICES: dict[type[Event], WebhookEvent] = {
    AgentOnboarded: WebhookEvent.AGENT_ONBOARDED,
    AgentSuspended: WebhookEvent.AGENT_SUSPENDED,
    AgentReinstated: WebhookEvent.AGENT_REINSTATED,
    AgentRevoked: WebhookEvent.AGENT_REVOKED,
    SpendApprovalRequested: WebhookEvent.APPROVAL_REQUESTED,
    DeveloperSuspended: WebhookEvent.DEVELOPER_SUSPENDED,
    DeveloperReinstated: WebhookEvent.DEVELOPER_REINSTATED,
}
# The members of an event that name those who are notified: a developer, or agents whose owners are.
DEVELOPER, PARTIES = "developer_id", ("did", "caller", "payee")

_BY_NAME = {kind.__name__: webhook for kind, webhook in NOTICES.items()}


async def _notify_owners(tx: Tx, event: StoredEvent) -> None:
    for owner in await _owners(tx, event):
        await enqueue_webhook(tx, owner, _BY_NAME[event.event_type], event.data)


async def _owners(tx: Tx, event: StoredEvent) -> list[int]:
    """The developers to notify, each once, by id: their webhooks are locked in that order."""
    if (developer := event.data.get(DEVELOPER)) is not None:
        return [developer]
    dids = [event.data[name] for name in PARTIES if name in event.data]
    owners = [await agents.owner_of(tx, did) for did in dids]
    return sorted({owner for owner in owners if owner is not None})


OWNER_NOTICES = Reactor("notifications: owner notices", tuple(NOTICES), _notify_owners)
