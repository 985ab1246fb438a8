"""Rows of agents on the front page: each is the beginning of a search of the catalogue, to which it leads."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hansa.doors.console.catalogue_pages import AgentView
from hansa.doors.console.search_parameters import SearchParameters
from hansa.foundation.plumbing.storage.database import Database
from hansa.rooms import catalogue

AGENTS_OF_ROW = 4
SEARCHES = {
    "Answers now": SearchParameters(active_24h=True, answerable_only=True, sort="reputation"),
    "Cheap": SearchParameters(pricing="paid", answerable_only=True, sort="price_low"),
    "Most proven": SearchParameters(answerable_only=True, sort="proven"),
    "New": SearchParameters(sort="newest"),
}


class AgentRow(msgspec.Struct, frozen=True):
    """A row with its title and the address of its search."""

    title: str
    address: str
    agents: Sequence[AgentView]


async def agent_rows(searcher: catalogue.Searcher, db: Database) -> list[AgentRow]:
    """The rows that have agents, all read in one statement; none while the search index is being built."""
    queries = [replace(parameters.search_query(), limit=AGENTS_OF_ROW) for parameters in SEARCHES.values()]
    try:
        found = await catalogue.discover_all(searcher, db, queries)
    except catalogue.SearchNotReady:
        return []
    rows = [
        AgentRow(title, parameters.address, [AgentView.of(card) for card in _of_row(title, cards)])
        for (title, parameters), cards in zip(SEARCHES.items(), found, strict=True)
    ]
    return [row for row in rows if row.agents]


def _of_row(title: str, cards: Sequence[catalogue.FoundCard]) -> list[catalogue.FoundCard]:
    return [card for card in cards if title != "Most proven" or card.verified_jobs]
