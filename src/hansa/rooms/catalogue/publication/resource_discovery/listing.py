"""Entries listed page by page, and read by their identifier."""

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.card_conditions import EVERY_CARD
from hansa.rooms.catalogue.cursor import microseconds

from . import store
from .entries import AGENT_TYPE, entry_of
from .errors import EntryUnknown
from .expression import ListFilter, Order
from .identifiers import Identifier
from .manifest import API, catalogue_of, own_entries
from .publishers import origins_of
from .records import ListedAgent
from .schemas import Entry, ListOut, Manifest
from .tokens import place_in, token_of

ENTRIES_OF_A_CATALOGUE = 100


class EntryListRequest(msgspec.Struct, frozen=True):
    """Request of entries: the filter, the order, and the page."""

    filter: ListFilter
    order: Order
    limit: int
    token: str | None


async def list_entries(tx: Tx, criteria: EntryListRequest, settings: Settings) -> ListOut:
    """One page of agents, own and mirrored. Raises: ArgumentInvalid for a token of another order."""
    order = criteria.order
    place = place_in(criteria.token, order, _members(order)) if criteria.token is not None else None
    if criteria.filter.types and AGENT_TYPE not in criteria.filter.types:
        return ListOut(items=[])
    conditions = store.conditions_of(criteria.filter)
    if criteria.filter.publishers:
        origins = await origins_of(tx, criteria.filter.publishers, settings)
        if not origins:
            return ListOut(items=[])
        conditions = store.of_origins(conditions, origins)
    page = await store.agents_after(tx, conditions, order, place, criteria.limit)
    onward = token_of(order, *_place(page.agents[-1], order)) if page.more else None
    return ListOut(items=_entries(page.agents, settings), page_token=onward)


async def catalogue_after(tx: Tx, after: int, settings: Settings) -> Manifest:
    """One catalogue of the chain: the agents of this registry itself, the oldest first."""
    own = EVERY_CARD.having("source_registry IS NULL")
    page = await store.agents_after(tx, own, "createdAt ASC", (after,), ENTRIES_OF_A_CATALOGUE)
    next_after = page.agents[-1].card_id if page.more else None
    return catalogue_of(settings, _entries(page.agents, settings), next_after)


async def entry_called(tx: Tx, identifier: Identifier, settings: Settings) -> Entry:
    """The entry with exactly that identifier. Raises: EntryUnknown."""
    for entry in own_entries(settings):
        if entry.identifier == str(identifier):
            return entry
    agent = await store.agent_called(tx, identifier.publisher, identifier.name)
    if agent is None:
        raise EntryUnknown
    return entry_of(agent, settings.base_url + API)


def _entries(agents: list[ListedAgent], settings: Settings) -> list[Entry]:
    return [entry_of(agent, settings.base_url + API) for agent in agents if agent.identifier.is_well_formed]


def _members(order: Order) -> int:
    return 1 if order.startswith("createdAt") else 2


def _place(agent: ListedAgent, order: Order) -> tuple[int, ...]:
    return (agent.card_id,) if _members(order) == 1 else (microseconds(agent.updated_at), agent.card_id)
