"""The pages of agents that a process keeps, and the states that each was made from.

The state of each part is read for every request, for all requests of the same moment in one statement.
"""

from collections.abc import Mapping, Sequence

from hansa.doors.console.cached_pages import CachedPages
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.page_states import States, read_states
from hansa.rooms import catalogue, commerce, reputation

CONTRACTS_SHOWN = 20
OTHERS_SHOWN = 10

PARTS = {
    "card": catalogue.CARD_STATE,
    "others": catalogue.others_state(OTHERS_SHOWN),
    "score": reputation.SCORE_STATE,
    "record": reputation.RECORD_STATE,
    "grades": reputation.GRADES_STATE,
    "contracts": commerce.attestations_state(CONTRACTS_SHOWN),
}


class AgentPages:
    """The pages of agents that one process keeps, and the states by which it knows whether they are still right."""

    def __init__(self, database: Database) -> None:
        self.kept = CachedPages()
        self.database = database
        self._states: BatchLoader[str, States] = BatchLoader(self._read)

    async def states_of(self, did: str) -> States | None:
        """Return the states of the data shown of an agent; None where there is no card of that DID. Raises: Unavailable."""
        states = await self._states.find(did)
        return states if states is not None and states["card"] is not None else None

    async def _read(self, dids: Sequence[str]) -> Mapping[str, States]:
        return await self.database.query(lambda tx: read_states(tx, PARTS, dids))


AGENT_PAGES: Slot[AgentPages] = Slot(
    "console: pages of agents", build=lambda runtime: AgentPages(runtime.database)
)
