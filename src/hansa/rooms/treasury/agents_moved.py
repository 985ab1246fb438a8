"""End the budget of an agent that has another owner: one that comes back begins without the rights of before."""

from hansa.foundation.events import OrganizationAgentMoved
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from . import store


async def _end_budgets(tx: Tx, /, *events: StoredEvent) -> None:
    await store.delete_budgets_of_agent(tx, sorted({event.data["did"] for event in events}))


BUDGETS_OF_MOVED_AGENTS = Reactor(
    "treasury: budgets of moved agents", (OrganizationAgentMoved,), _end_budgets, together=_end_budgets
)
