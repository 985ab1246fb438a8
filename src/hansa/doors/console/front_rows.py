"""Rows of agents on the front page: each is the beginning of a search of the catalogue, to which it leads.

A row is rendered again only when the index or one of its cards has changed (`catalogue.Answers`); the versions of the cards of
all rows are read in one statement.
"""

import asyncio

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from hansa.doors.console.catalogue_pages import AgentView
from hansa.doors.console.rendering import part, with_ages_of_now
from hansa.doors.console.search_parameters import SearchParameters
from hansa.rooms import catalogue

AGENTS_OF_ROW = 4
SEARCHES = {
    "Answers now": SearchParameters(active_24h=True, answerable_only=True, sort="reputation"),
    "Cheap": SearchParameters(pricing="paid", answerable_only=True, sort="price_low"),
    "Most proven": SearchParameters(answerable_only=True, sort="proven"),
    "New": SearchParameters(sort="newest"),
}
QUERIES = [
    (title, parameters.address, replace(parameters.search_query(), limit=AGENTS_OF_ROW))
    for title, parameters in SEARCHES.items()
]


class AgentRow(msgspec.Struct, frozen=True):
    """A row with its title, the address of its search, and its cards."""

    title: str
    address: str
    cards: Markup


async def agent_rows(answers: catalogue.Answers) -> list[AgentRow]:
    """The rows that have agents; none while the search index is being built."""
    try:
        rendered = await asyncio.gather(*(answers.answer(query, _rendered) for _, _, query in QUERIES))
    except catalogue.SearchNotReady:
        return []
    return [
        AgentRow(title, address, Markup(with_ages_of_now(cards)[0].decode()))  # noqa: S704
        for (title, address, _), cards in zip(QUERIES, rendered, strict=True)
        if cards
    ]


async def _rendered(found: catalogue.Discovery, query: catalogue.SearchQuery, _: catalogue.Searcher) -> bytes:
    """The cards of a row. An agent without a verified job is not proven."""
    cards = [card for card in found.results if query.sort != "proven" or card.verified_jobs]
    return part(
        "agent-cards-of-list.html", agents=[AgentView.of(card) for card in cards], heading="h3"
    ).encode()
