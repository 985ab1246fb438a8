"""The pages of the catalogue: the listed agents, and each agent by itself.

- The statements of the registry stand apart from the text of an owner, in other elements.
- Every state of the catalogue page is an address; nothing needs a script but checking a signature in the browser.
- The page of an agent under its DID is kept while nothing that it shows changes (`cached_agent_pages`), and answered as a direct route.

The cards of the catalogue page: the registry's statements on each, and apart from them the owner's text.

Number of agents behind each filter of the catalogue page.

A value of a group is counted without the choices in its own group: with "Paid" chosen, "Free" still shows how many are free.

Evidence of settled payments on an agent of this registry, as its page shows it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from msgspec.structs import replace

from hansa.doors.console.agent_page import AgentPage, path_of
from hansa.doors.console.badges import EarnedView, earned_of, marks_of
from hansa.doors.console.cached_agent_pages import AGENT_PAGES, CONTRACTS_SHOWN, OTHERS_SHOWN, AgentPages
from hansa.doors.console.prices import Price, own_amount, price_of
from hansa.doors.console.rendering import page, part, with_ages_of_now
from hansa.doors.console.search_parameters import ONLY, PAGE, SearchParameters, chosen, offered, orders
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.storage.page_states import States
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.money import format_amount
from hansa.rooms import catalogue, commerce, reputation

FoundAnswers = Annotated[catalogue.Answers, Depends(catalogue.SEARCH_ANSWERS.given)]

VERSIONS_SHOWN = 10
direct_router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=DirectRoute,
    dependencies=[Depends(within_read_limit)],
)
router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)
TAGS_SHOWN = 8
PARTS = {"name": "name", "tags": "tags", "skills": "skills", "description": "description", "did": "DID"}

_COMPONENTS = {
    "paid_work": "Payments received",
    "payments_made": "Payments made",
    "disputes_won": "Disputes won as defendant",
    "disputes_lost": "Disputes lost (lowers the score)",
}


@direct_router.get("/catalogue")
async def show_catalogue(
    _: Public, request: Request, searcher: catalogue.Search, answers: FoundAnswers
) -> Response:
    """The agents that may be shown, searched and narrowed as the address says."""
    parameters = SearchParameters.at(request.query_params)
    query = parameters.search_query()
    try:
        cards, hits, counts = await asyncio.gather(
            answers.answer(query, _rendered), searcher.hits(query), count_filters(searcher, parameters)
        )
    except catalogue.SearchNotReady as error:
        answer = page(request, "not-ready.html", status=error.status, address=parameters.address)
        answer.headers["Retry-After"] = "1"
        return await answer.completed(request)
    last = parameters.offset + PAGE
    shown, text = with_ages_of_now(cards)[0].split(b"\n", 1)
    answer = page(
        request,
        "catalogue.html",
        parameters=parameters,
        total=hits.total,
        shown=int(shown),
        agents=Markup(text.decode()),  # noqa: S704
        groups=offered(parameters, counts.facets, counts.only),
        chosen=chosen(parameters),
        orders=orders(parameters),
        earlier=parameters.but(offset=max(0, parameters.offset - PAGE)) if parameters.offset else None,
        later=parameters.but(offset=last) if last < hits.total else None,
    )
    return await answer.completed(request)


@direct_router.get("/agents/{card_key}")
async def show_agent(
    _: Public,
    request: Request,
    settings: Config,
    pages: Annotated[AgentPages, Depends(AGENT_PAGES.given)],
    card_key: Annotated[str, Path()],
) -> Response:
    """One agent: by its DID, or by the UUID or number of its card."""

    async def find(tx: Tx) -> catalogue.Card:
        return await catalogue.card_of(tx, card_key)

    read_from = await pages.states_of(card_key) if card_key.startswith("did:") else None
    if read_from is not None and (known := pages.kept.find(card_key, read_from)) is not None:
        return known.answer(request)
    # What changes between two statements changes the states too, and the next visitor has a page of the new ones.
    reading = pages.database.read if read_from is None else pages.database.query
    try:
        shown = await reading(lambda tx: _read_agent(tx, find, settings, read_from))
    except catalogue.CardUnknown:
        return _unknown(request, card_key)
    content = shown.content(settings)
    if read_from is None or not shown.is_lasting:
        return await page(request, "agent.html", **content).completed(request)
    fresh = await pages.kept.render(request, read_from, "agent.html", **content)
    pages.kept.keep(card_key, fresh)
    return fresh.answer(request)


@router.get("/agents/{organization}/{name}")
async def show_agent_by_name(
    _: Public, request: Request, db: Db, settings: Config, organization: str, name: str
) -> HTMLResponse:
    """The same page by the humanReadableId of the card."""
    key = f"{organization}/{name}"
    try:
        shown = await db.read(lambda tx: _read_agent(tx, lambda tx: catalogue.card_called(tx, key), settings))
    except catalogue.CardUnknown:
        return _unknown(request, key)
    return page(request, "agent.html", **shown.content(settings))


def _unknown(request: Request, key: str) -> HTMLResponse:
    return page(request, "agent-unknown.html", status=404, key=key)


class ReputationPanel(msgspec.Struct, frozen=True):
    """Score, record and history; amounts are decimal strings in units."""

    found: reputation.Reputation
    record: reputation.TrackRecord
    history: list[reputation.GradeChange]

    @property
    def volume(self) -> str:
        """All payments received that count."""
        return format_amount(self.record.volume)

    @property
    def components(self) -> list[tuple[str, str]]:
        """The parts of the score that are not zero, by name."""
        return [
            (_COMPONENTS[name], format_amount(amount))
            for name, amount in self.found.score.components.items()
            if amount
        ]


class _ShownAgent(msgspec.Struct, frozen=True):
    """A card with the data beside it; only an agent of this registry has reputation, contracts and versions here.

    `is_exported`: this registry exports the card signed. `is_lasting`: nothing of the database is shown but the states that `cached_agent_pages` covers.
    """

    card: catalogue.Card
    is_exported: bool = False
    reputation: ReputationPanel | None = None
    achievements: Sequence[EarnedView] = ()
    contracts: Sequence[commerce.Contract] = ()
    versions: Sequence[catalogue.CardVersion] = ()
    others: Sequence[catalogue.CardName] = ()
    own_amount: str | None = None
    """What the price in another currency costs now in units of this registry."""
    is_lasting: bool = True

    def content(self, settings: Settings) -> dict[str, Any]:
        """Return the variables of the template."""
        return {
            "agent": AgentPage.of(self.card, settings, is_exported=self.is_exported),
            "own_amount": self.own_amount,
            "reputation": self.reputation,
            "achievements": self.achievements,
            "contracts": self.contracts,
            "versions": self.versions,
            "others": [(path_of(other.did, other.card_id), other.name) for other in self.others],
        }


async def _read_agent(
    tx: Tx,
    find: Callable[[Tx], Awaitable[catalogue.Card]],
    settings: Settings,
    states: States | None = None,
) -> _ShownAgent:
    """Read an agent for its page, without the parts that have nothing to show by `states`. Raises: CardUnknown."""
    card = await find(tx)
    if card.did is None:
        return _ShownAgent(card)
    did = card.did
    if card.source_registry is not None:
        return await _read_mirrored(tx, card, did, settings)

    return _ShownAgent(card, *await _read_parts(tx, card, did, states))


async def _read_parts(
    tx: Tx, card: catalogue.Card, did: str, states: States | None
) -> tuple[
    bool,
    ReputationPanel | None,
    Sequence[EarnedView],
    Sequence[commerce.Contract],
    Sequence[catalogue.CardVersion],
    Sequence[catalogue.CardName],
]:
    def has(part: str) -> bool:
        return states is None or states[part] is not None

    async def is_exported(tx: Tx) -> bool:
        return card.status != "revoked" or await catalogue.is_exported(tx, did)

    async def panel(tx: Tx) -> ReputationPanel | None:
        if not has("score"):
            return None
        return await panel_of(tx, did, has_record=has("record"), has_grades=has("grades"))

    async def contracts(tx: Tx) -> Sequence[commerce.Contract]:
        return await commerce.public_contracts_of(tx, did, CONTRACTS_SHOWN) if has("contracts") else ()

    async def versions(tx: Tx) -> Sequence[catalogue.CardVersion]:
        if card.version == 1 or card.is_withdrawn:
            return ()
        return (await catalogue.history_of(tx, did, None))[:VERSIONS_SHOWN]

    async def others(tx: Tx) -> Sequence[catalogue.CardName]:
        if card.is_withdrawn or not has("others"):
            return ()
        return await catalogue.other_agents_of_owner(tx, card, OTHERS_SHOWN)

    return await read_together(
        tx, is_exported, panel, partial(_read_earned, did=did, states=states), contracts, versions, others
    )


async def _read_earned(tx: Tx, did: str, states: States | None) -> Sequence[EarnedView]:
    """Read the achievements of an agent; without a state its owner hides them, with an empty one there are none."""
    return await earned_of(tx, did) if states is None or states["achievements"] else ()


async def _read_mirrored(tx: Tx, card: catalogue.Card, did: str, settings: Settings) -> _ShownAgent:
    price = price_of(card.card_data or {}, card.settlement_currency)
    if price.is_free or price.unit == settings.settlement_currency:
        return _ShownAgent(card)
    # The rate of its currency moves with every swap.
    return _ShownAgent(card, own_amount=await own_amount(tx, did, price, settings), is_lasting=False)


class AgentView(msgspec.Struct, frozen=True):
    """One card of the list."""

    card: catalogue.FoundCard
    path: str
    price: Price
    tags: list[str]
    marks: list[str]
    matched_in: list[str]
    has_namesake: bool = False
    """True where another card has the same name."""

    @classmethod
    def of(cls, card: catalogue.FoundCard, *, has_namesake: bool = False) -> "AgentView":
        """Return the entry of the list for a card that was found."""
        return cls(
            card=card,
            path=path_of(card.did, card.card_id),
            price=price_of({"pricing": card.pricing}, card.settlement_currency),
            tags=card.tags[:TAGS_SHOWN],
            marks=marks_of(card, is_verified=card.verified),
            matched_in=[PARTS[part] for part in card.why.fields],
            has_namesake=has_namesake,
        )


async def _rendered(
    found: catalogue.Discovery, _: catalogue.SearchQuery, searcher: catalogue.Searcher
) -> bytes:
    """The number of cards of the list, and behind a line end their markup. Names are shared as long as the index is the same."""
    shared = await searcher.shared_names([card.name for card in found.results])
    agents = [AgentView.of(card, has_namesake=card.name in shared) for card in found.results]
    return f"{len(agents)}\n{part('agent-cards-of-list.html', agents=agents, heading='h2')}".encode()


class FilterCounts(msgspec.Struct, frozen=True):
    """Counts of the values of each group, and of each filter of "Show only" when it is on."""

    facets: catalogue.Facets
    only: Mapping[str, int]


async def count_filters(searcher: catalogue.Searcher, parameters: SearchParameters) -> FilterCounts:
    """Ask the index; it remembers answers. Raises: SearchNotReady."""
    pricing, origins, tags, *toggled = await asyncio.gather(
        _hits(searcher, replace(parameters, pricing="")),
        _hits(searcher, replace(parameters, origins=())),
        _hits(searcher, replace(parameters, tag="")),
        *(_hits(searcher, parameters.with_only(only)) for only in ONLY),
    )
    return FilterCounts(
        catalogue.Facets(origins.facets.origins, pricing.facets.pricing, tags.facets.tags),
        dict(zip(ONLY, (hits.total for hits in toggled), strict=True)),
    )


async def _hits(searcher: catalogue.Searcher, parameters: SearchParameters) -> catalogue.Hits:
    return await searcher.hits(replace(parameters.search_query(), limit=1, offset=0, sort="newest"))


async def panel_of(
    tx: Tx, did: str, *, has_record: bool = True, has_grades: bool = True
) -> ReputationPanel | None:
    """The panel of an agent; None where this registry has no agent of that DID.

    Without `has_record` the track record is known to be empty, without `has_grades` the history of the grade.
    """

    async def record(tx: Tx) -> reputation.TrackRecord:
        return await reputation.track_record_of(tx, did) if has_record else reputation.TrackRecord()

    async def grades(tx: Tx) -> list[reputation.GradeChange]:
        return await reputation.grade_history_of(tx, did) if has_grades else []

    try:
        return ReputationPanel(
            *await read_together(tx, lambda tx: reputation.reputation_of(tx, did), record, grades)
        )
    except reputation.AgentUnknown:
        return None
