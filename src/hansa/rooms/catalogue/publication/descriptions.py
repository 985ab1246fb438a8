"""The agents of this registry as the Agent Network Protocol discovers them: a chain of pages of descriptions."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .store import Described

AGENTS_OF_A_PAGE = 500


class DescribedPage(msgspec.Struct, frozen=True):
    """Some agents, and the number of the card after which the next page begins, if there is one."""

    agents: list[Described]
    next_after: int | None


async def described_page(tx: Tx, after: int) -> DescribedPage:
    """The agents that may be shown and came after the card with the number `after`, the oldest first."""
    found = await store.described_after(tx, after, AGENTS_OF_A_PAGE + 1)
    agents = found[:AGENTS_OF_A_PAGE]
    return DescribedPage(agents, agents[-1].card_id if len(found) > len(agents) else None)
